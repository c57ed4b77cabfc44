package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"formledger/relay/desk"
)

func newReconcile(s streams, p *places) *cobra.Command {
	dry, asJSON := false, false
	c := &cobra.Command{
		Use:   "reconcile [REFERENCE…]",
		Short: "Ask the relay about uncertain references, and settle what it proves",
		Long: `Ask the relay what became of every uncertain reference, or of those that are
named. What it vouches for is accepted; what it has never seen it seals, so that
no late copy can go out, and the visitor may send again. What it cannot prove
stays uncertain, and the table says why.

With --dry-run nothing is sealed and nothing is changed. It exits with 1 if the
relay gave no answer that counts about one of them.`,
		RunE: func(c *cobra.Command, args []string) error {
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error { return reconcileAll(c.Context(), s, d, args, dry, asJSON) })
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only ask; seal nothing and change nothing")
	jsonFlag(c, &asJSON)
	c.ValidArgsFunction = openReferences(s, p, anyNumber)
	return c
}

// reconcileAll asks about one reference after the other, and prints what came of
// it, also if the ledger fails on the way.
func reconcileAll(ctx context.Context, s streams, d *desk.Desk, texts []string, dry, asJSON bool) error {
	if d.Relay == nil {
		return desk.ErrNoRelay
	}
	rows, err := d.Uncertain(ctx, texts)
	if err != nil {
		return err
	}
	bar := newBar(s.err, len(rows))
	var all []desk.Reconciled
	for _, row := range rows {
		done, err := d.Reconcile(ctx, row, dry)
		if err != nil {
			bar.end()
			return errors.Join(printReconciled(s.out, all, dry, asJSON), err)
		}
		all = append(all, done)
		bar.step()
	}
	bar.end()
	return errors.Join(printReconciled(s.out, all, dry, asJSON), askedInVain(all))
}

// reconciledJSON is one entry of the command's JSON.
type reconciledJSON struct {
	Reference string `json:"reference"`
	ID        string `json:"id"`
	Form      string `json:"form"`
	Change    string `json:"change"` // accepted, not_sent, unchanged
	Cause     string `json:"cause,omitempty"`
	Why       string `json:"why"`
	DryRun    bool   `json:"dry_run"`
}

func printReconciled(w io.Writer, all []desk.Reconciled, dry, asJSON bool) error {
	if asJSON {
		entries := make([]reconciledJSON, 0, len(all))
		for _, r := range all {
			entries = append(entries, reconciledJSON{string(r.Row.Reference), r.Row.ID.String(), r.Row.Form, string(r.Change), r.Cause.String(), r.Why, dry})
		}
		return printJSON(w, entries)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is uncertain.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REFERENCE\tFORM\tNOW\tWHY")
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Row.Reference, r.Row.Form, standing(r, dry), r.Why)
	}
	return t.Flush()
}

func standing(r desk.Reconciled, dry bool) string {
	switch {
	case r.Change == desk.Unchanged:
		return string(r.Row.Status)
	case dry:
		return "would be " + string(r.Change)
	}
	return string(r.Change)
}

// askedInVain is an error if the relay could not be asked about some.
func askedInVain(all []desk.Reconciled) error {
	n := 0
	for _, r := range all {
		if r.Unanswered() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("the relay gave no answer that counts about %d of %d; formledger doctor tells what is wrong", n, len(all))
}

// reconciler does by itself, at an interval, what reconcile does by hand.
type reconciler struct {
	desk  *desk.Desk
	every time.Duration
	log   *slog.Logger
}

func (r *reconciler) run(ctx context.Context) {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		if err := r.once(ctx); err != nil && ctx.Err() == nil {
			r.log.Error("reconciling failed", "error", err.Error())
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// once asks about every row whose call cannot be under way any more, and stops
// at the first that the relay does not answer for: it would not for the others.
func (r *reconciler) once(ctx context.Context) error {
	rows, err := r.desk.Uncertain(ctx, nil)
	if err != nil {
		return err
	}
	for _, row := range desk.Expired(rows, r.desk.Now()) {
		done, err := r.desk.Reconcile(ctx, row, false)
		if err != nil || ctx.Err() != nil {
			return err
		}
		r.log.Info("reconciled", "reference", row.Reference, "form", row.Form, "change", string(done.Change), "cause", done.Cause.String())
		if done.Unanswered() {
			return nil
		}
	}
	return nil
}
