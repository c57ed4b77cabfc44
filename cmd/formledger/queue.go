package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const usualRows = 20 // of one group

func newQueue(s streams, p *places) *cobra.Command {
	limit, asJSON := 0, false
	c := &cobra.Command{
		Use:   "queue",
		Short: "Show what needs you, by its cause",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON && !c.Flags().Changed("limit") {
				limit = 0
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error { return showQueue(c.Context(), s.out, d, limit, asJSON) })
		},
	}
	c.Flags().IntVar(&limit, "limit", usualRows, "show at most this `number` of each cause, oldest first (0: all, as with --json)")
	jsonFlag(c, &asJSON)
	return c
}

func showQueue(ctx context.Context, w io.Writer, d *desk.Desk, limit int, asJSON bool) error {
	q, err := d.Queue(ctx)
	if err != nil {
		return err
	}
	restored, err := d.Ledger.Restored(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		text := waitingJSON(q, limit)
		text.Restored = restored
		return printJSON(w, text)
	}
	printQueue(w, q, limit, d.Now())
	return errors.Join(printRestored(w, restored), printRelayState(w, q.Relay))
}

func printQueue(w io.Writer, q desk.Queue, limit int, now time.Time) {
	if q.Total == 0 {
		fmt.Fprintln(w, "Nothing needs you. (formledger list shows every submission.)")
		return
	}
	fmt.Fprintf(w, "%d in need of you, the oldest for %s.\n", q.Total, age(now.Sub(q.Oldest)))
	for _, g := range q.Groups {
		fmt.Fprintf(w, "\n%s, %s: %d (%s), the oldest for %s\n%s\n", g.Needs, dash(g.Cause), len(g.Rows), formCounts(g.Forms), age(now.Sub(g.Oldest)), g.Says)
		printGroup(w, first(g.Rows, limit))
		if more := len(g.Rows) - len(first(g.Rows, limit)); more > 0 {
			fmt.Fprintf(w, "  and %d more: formledger queue --limit 0 shows all, and so does formledger list --needs %s\n", more, g.Needs)
		}
	}
}

func printGroup(w io.Writer, rows []ledger.Submission) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", r.Reference, r.Form, clock(r.CreatedAt), dash(r.LastError))
	}
	t.Flush()
}

func first[T any](all []T, limit int) []T {
	if limit > 0 && len(all) > limit {
		return all[:limit]
	}
	return all
}

func formCounts(forms []desk.FormCount) string {
	counts := make([]string, len(forms))
	for i, f := range forms {
		counts[i] = fmt.Sprintf("%s %d", f.Form, f.Rows)
	}
	return strings.Join(counts, ", ")
}

// age is a time as people speak of it.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return "a minute"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// queueJSON is the queue; its groups stand in the order of their oldest rows.
type queueJSON struct {
	Total        int         `json:"total"`
	Oldest       time.Time   `json:"oldest_at,omitzero"`
	FailingSince time.Time   `json:"relay_failing_since,omitzero"`
	RelayCause   string      `json:"relay_cause,omitempty"`
	Restored     time.Time   `json:"restored_at,omitzero"` // as long as the restore is pending
	Groups       []groupJSON `json:"groups"`
}

type groupJSON struct {
	Needs  string           `json:"needs"`
	Cause  string           `json:"cause"`
	Says   string           `json:"says"`
	Count  int              `json:"count"`
	Oldest time.Time        `json:"oldest_at"`
	Forms  []formJSON       `json:"forms"`
	Rows   []submissionJSON `json:"submissions"`
}

type formJSON struct {
	Form  string `json:"form"`
	Count int    `json:"count"`
}

func waitingJSON(q desk.Queue, limit int) queueJSON {
	return queueJSON{
		Total: q.Total, Oldest: q.Oldest, FailingSince: q.Relay.FailingSince, RelayCause: q.Relay.Cause,
		Groups: inJSON(q.Groups, func(g desk.Group) groupJSON {
			return groupJSON{Needs: string(g.Needs), Cause: g.Cause, Says: g.Says, Count: len(g.Rows), Oldest: g.Oldest,
				Forms: inJSON(g.Forms, func(f desk.FormCount) formJSON { return formJSON{f.Form, f.Rows} }),
				Rows:  inJSON(first(g.Rows, limit), rowJSON)}
		}),
	}
}
