package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

// selection is what flags choose of the submissions.
type selection struct {
	form, needs, status string
	waiting             bool
	limit               int
}

func (f *selection) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.form, "form", "", "only those of the form with this `name`")
	c.Flags().StringVar(&f.needs, "needs", "", "only those with this `need`: "+strings.Join(needs, ", ")+", or any")
	c.Flags().StringVar(&f.status, "status", "", "only those with this `status`: "+strings.Join(statuses, ", "))
	c.Flags().BoolVar(&f.waiting, "waiting", false, "only those that wait to be sent by themselves")
	c.Flags().IntVar(&f.limit, "limit", 0, "at most this `number`, oldest first (0: all)")
	c.MarkFlagsMutuallyExclusive("needs", "waiting")
	fixed(c, "needs", append(needs[:len(needs):len(needs)], "any"))
	fixed(c, "status", statuses)
}

// fixed lets the shell complete the values of a flag.
func fixed(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags alone
}

var (
	needs    = []string{string(ledger.NeedsUncertain), string(ledger.NeedsStopped), string(ledger.NeedsDisputed), string(ledger.NeedsUnsent)}
	statuses = []string{string(ledger.Processing), string(ledger.Accepted), string(ledger.Uncertain)}
)

func (f *selection) filter() (ledger.Filter, error) {
	chosen := ledger.Filter{NeedsSomebody: f.needs == "any", Waiting: f.waiting, Status: ledger.Status(f.status), Form: f.form, Limit: f.limit}
	if f.needs != "any" {
		chosen.Needs = ledger.Need(f.needs)
	}
	switch {
	case chosen.Needs != "" && !slices.Contains(needs, f.needs):
		return chosen, usageError{fmt.Errorf("--needs %q is none of: %s, any", f.needs, strings.Join(needs, ", "))}
	case f.status != "" && !slices.Contains(statuses, f.status):
		return chosen, usageError{fmt.Errorf("--status %q is none of: %s", f.status, strings.Join(statuses, ", "))}
	}
	return chosen, nil
}

func newList(s streams, p *places) *cobra.Command {
	f, asJSON := selection{}, false
	c := &cobra.Command{
		Use:   "list",
		Short: "List submissions, all or some",
		Args:  groupedUsage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			chosen, err := f.filter()
			if err != nil {
				return err
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error { return list(c.Context(), s.out, d, chosen, asJSON) })
		},
	}
	f.flags(c)
	jsonFlag(c, &asJSON)
	return c
}

func list(ctx context.Context, w io.Writer, d *desk.Desk, f ledger.Filter, asJSON bool) error {
	rows, err := d.List(ctx, f)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, inJSON(rows, rowJSON))
	}
	state, err := d.Ledger.RelayState(ctx)
	return errors.Join(err, printRows(w, rows, f), printRelayState(w, state))
}

func printRows(w io.Writer, rows []ledger.Submission, f ledger.Filter) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, noneLike(f))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REFERENCE\tFORM\tSTATUS\tNEEDS\tSUBMITTED\tCAUSE")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Reference, r.Form, r.Status, dash(string(r.Needs)), clock(r.CreatedAt), dash(r.LastError))
	}
	return t.Flush()
}

func noneLike(f ledger.Filter) string {
	switch {
	case f.Waiting:
		return "Nothing waits to be sent."
	case f.NeedsSomebody:
		return "Nothing needs you."
	}
	return "There is no such submission."
}

// printRelayState says that nothing goes out at the moment, if that is so.
func printRelayState(w io.Writer, state ledger.RelayState) error {
	if state.FailingSince.IsZero() {
		return nil
	}
	_, err := fmt.Fprintf(w, "The relay is failing since %s, next try %s: %s\n", clock(state.FailingSince), clock(state.NextTry), state.Cause)
	return err
}
