package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"
)

// finding is one line of the doctor's.
type finding struct {
	Subject string `json:"subject"`
	State   string `json:"state"` // ok, warn, fail
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy,omitempty"`
}

func ok(subject, detail string) finding { return finding{subject, "ok", detail, ""} }

func warn(subject, detail, remedy string) finding { return finding{subject, "warn", detail, remedy} }

func fail(subject, detail, remedy string) finding { return finding{subject, "fail", detail, remedy} }

func newDoctor(s streams, p *places) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the configuration and everything that it needs",
		Long: `Examine the configuration, the keys, the ledger, the clock, the mail server and
the sender's domain, the disk, the alerts, the mailbox, and each form. Every line is ok, warn or fail, and
says what to do. Nothing is sent and nothing is changed. It exits with 1 if
something fails.`,
		Args: usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			findings := examine(c.Context(), *p, s.environ, &net.Resolver{})
			if err := printFindings(s.out, findings, asJSON); err != nil {
				return err
			}
			return verdictOf(findings)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// examine goes through everything. Without a configuration there is nothing
// else to look at.
func examine(ctx context.Context, p places, environ []string, dns txtLooker) []finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if p.ofRelay(environ) {
		return examineStation(ctx, p, environ, dns)
	}
	cfg, err := load(p, "", environ)
	if err != nil {
		return []finding{misconfigured(err)}
	}
	all := []finding{ok("configuration", fmt.Sprintf("%s; forms: %s", firstOf(p.config, "the built-in demo"), formNames(cfg)))}
	all = append(all, examineKeys(cfg), examineLedger(ctx, cfg))
	all = append(all, examineRestore(ctx, cfg)...)
	all = append(all, examineOutbox(ctx, cfg)...)
	all = append(all, examineDisk(cfg.Data), examineClock(time.Now()))
	if cfg.Relay != nil {
		all = append(all, examineRelay(ctx, cfg)...)
	} else {
		all = append(all, examineMail(ctx, &cfg.station))
		all = append(all, examineDomains(ctx, dns, &cfg.station, cfg.senders())...)
	}
	all = append(all, examineAlert(cfg)...)
	all = append(all, examineMailbox(ctx, cfg)...)
	for _, f := range cfg.forms {
		all = append(all, examineForm(f.Def())...)
		all = append(all, examinePolicy(f.Def(), cfg.Patience)...)
	}
	return all
}

func misconfigured(err error) finding {
	return fail("configuration", err.Error(), "correct it; formledger config example shows how it is written")
}

func printFindings(w io.Writer, findings []finding, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(findings, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, string(text))
		return err
	}
	for _, f := range findings {
		fmt.Fprintf(w, "%-5s %s: %s\n", f.State, f.Subject, f.Detail)
		if f.Remedy != "" {
			fmt.Fprintf(w, "      → %s\n", f.Remedy)
		}
	}
	return nil
}

func verdictOf(findings []finding) error {
	failed := 0
	for _, f := range findings {
		if f.State == "fail" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	if failed == 1 {
		return errors.New("1 thing fails; what to do stands beneath it")
	}
	return fmt.Errorf("%d things fail; what to do stands beneath each", failed)
}
