package main

import (
	_ "embed"
	"fmt"

	"github.com/spf13/cobra"
)

// exampleConfig is a commented configuration that works as it stands.
//
//go:embed example.toml
var exampleConfig string

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
	c.AddCommand(&cobra.Command{
		Use:   "example",
		Short: "Print a commented configuration to start from",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(s.out, exampleConfig)
			return err
		},
	}, &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without starting anything",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			c, err := load(*p, "", s.environ)
			if err == nil && c.SMTP != nil {
				_, err = c.smtpSender()
			}
			if err == nil {
				fmt.Fprintf(s.out, "The configuration is fine; its forms: %s\n", formNames(c))
			}
			return err
		},
	})
	return c
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
