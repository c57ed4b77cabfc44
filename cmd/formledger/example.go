package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exampleConfig is a commented configuration that works as it stands.
//
//go:embed example.toml
var exampleConfig string

// exampleRelay is one of a relay.
//
//go:embed example-relay.toml
var exampleRelay string

// demoConfig is what runs without a configuration.
//
//go:embed demo.toml
var demoConfig string

func newConfig(s streams, p *places) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show or check a configuration",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newExample(s), newCheck(s, p))
	return c
}

func newExample(s streams) *cobra.Command {
	return &cobra.Command{
		Use:       "example [form|relay]",
		Short:     "Print a commented configuration to start from",
		ValidArgs: []string{"form", "relay"},
		Args:      usage(cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)),
		RunE: func(_ *cobra.Command, args []string) error {
			text := exampleConfig
			if len(args) == 1 && args[0] == "relay" {
				text = exampleRelay
			}
			_, err := fmt.Fprint(s.out, text)
			return err
		},
	}
}

func newCheck(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without starting anything",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			said, err := checked(*p, s.environ)
			if err == nil {
				_, err = fmt.Fprintln(s.out, said)
			}
			return err
		},
	}
}

// checked reads a configuration, and the secrets that it needs.
func checked(p places, environ []string) (string, error) {
	if p.ofRelay(environ) {
		s, err := loadStation(p, "", environ)
		if err == nil && s.SMTP != nil {
			_, err = s.smtpSender()
		}
		if err == nil {
			_, err = s.callers()
		}
		return "The relay's configuration is fine; its callers: " + strings.Join(s.callerNames(), ", "), err
	}
	c, err := load(p, "", environ)
	if err == nil && c.SMTP != nil {
		_, err = c.smtpSender()
	}
	if err == nil && c.Relay != nil {
		_, err = c.Relay.sender()
	}
	if err == nil {
		_, err = c.channels()
	}
	if err == nil && c.Mailbox != nil {
		_, err = c.Mailbox.reach()
	}
	if err == nil {
		_, err = c.hooks()
	}
	return "The configuration is fine; its forms: " + formNames(c), err
}

func formNames(c config) string {
	names := ""
	for i, f := range c.forms {
		if i > 0 {
			names += ", "
		}
		names += f.Def().Name
	}
	return names
}
