package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const (
	anyNumber      = 1 << 20 // of arguments
	mostCompletion = 1000
)

// openReferences lets the shell complete what needs somebody, for so many
// arguments. A ledger that cannot be read completes nothing.
func openReferences(s streams, p *places, arguments int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var offered []cobra.Completion
		if len(args) >= arguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		err := atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
			rows, err := d.List(c.Context(), ledger.Filter{NeedsSomebody: true, Limit: mostCompletion})
			for _, r := range rows {
				ref := string(r.Reference)
				if strings.HasPrefix(ref, strings.ToUpper(typed)) && !slices.Contains(args, ref) {
					offered = append(offered, cobra.CompletionWithDesc(ref, fmt.Sprintf("%s, %s, submitted %s", r.Form, r.Needs, clock(r.CreatedAt))))
				}
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}
