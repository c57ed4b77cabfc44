package main

import (
	"github.com/spf13/cobra"

	"formledger/relay/desk"
)

func newNote(s streams, p *places) *cobra.Command {
	by, asJSON := "", false
	c := &cobra.Command{
		Use:               "note REFERENCE TEXT",
		Short:             "Put a note on the record of a reference, and decide nothing",
		Args:              usage(cobra.ExactArgs(2)),
		ValidArgsFunction: openReferences(s, p, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				k, err := d.Note(c.Context(), args[0], by, args[1])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(s.out, knownJSON(k))
				}
				printCase(s.out, k)
				return nil
			})
		},
	}
	c.Flags().StringVar(&by, "by", operatorName(), "your `name`, for the record")
	jsonFlag(c, &asJSON)
	return c
}
