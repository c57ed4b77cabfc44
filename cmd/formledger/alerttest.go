package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"formledger/relay/desk"
)

func newAlert(s streams, p *places) *cobra.Command {
	c := &cobra.Command{
		Use:   "alert",
		Short: "Try the ways on which you are told",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAlertTest(s, p))
	return c
}

func newAlertTest(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "Send a test message through each channel of [alert], and tell how it went",
		Long: `Send a test message through each channel of [alert], and tell how it went. It
exits with 1 if one of them failed. Nothing is recorded in the ledger. That a
service took the message does not mean that it reached you: look.`,
		Args: usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			return testAlerts(c.Context(), s.out, cfg)
		},
	}
}

func testAlerts(ctx context.Context, w io.Writer, cfg config) error {
	channels, err := cfg.channels()
	if err != nil {
		return err
	}
	if len(channels) == 0 {
		return errors.New("nobody is told: [alert] names neither a url nor a service; formledger config example shows them")
	}
	now := time.Now()
	failed := 0
	for _, told := range desk.RaiseOn(ctx, channels, desk.Alert{Kind: desk.TestAlert, At: now, ID: fmt.Sprintf("alert_test_%d", now.UnixMilli())}) {
		said := "took the message"
		if told.Err != nil {
			said, failed = "failed: "+told.Err.Why+" ("+told.Err.Code+")", failed+1
		}
		fmt.Fprintf(w, "%-10s  %s\n", told.Channel, said)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d channels failed", failed, len(channels))
	}
	return nil
}
