package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/desk"
)

func isNoMatch(err error) bool {
	return errors.Is(err, desk.ErrNotFound) || errors.Is(err, ledger.ErrReference)
}

// atDesk opens the ledger beside whoever else works on it.
func atDesk(ctx context.Context, p places, s streams, work func(*desk.Desk) error) error {
	cfg, err := load(p, "", s.environ)
	if err != nil {
		return err
	}
	file := cfg.ledgerFile()
	if !exists(file) {
		return fmt.Errorf("there is no ledger at %s; please name its folder with --data, or its configuration with --config", file)
	}
	db, err := sqlledger.Open(ctx, file, sqlledger.Options{})
	if err != nil {
		return err
	}
	far, err := cfg.inquirer()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(work(&desk.Desk{Ledger: db, Relay: far, Now: time.Now}), db.Close())
}

func newList(s streams, p *places) *cobra.Command {
	all, limit := false, 0
	c := &cobra.Command{
		Use:   "list",
		Short: "List the references that need somebody",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				rows, err := d.Queue(c.Context(), all, limit)
				if err != nil {
					return err
				}
				return printQueue(s.out, rows, all)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list every submission, also those that need nobody")
	c.Flags().IntVar(&limit, "limit", 0, "list at most this `number`, oldest first (0: all)")
	return c
}

func printQueue(w io.Writer, rows []ledger.Submission, all bool) error {
	if len(rows) == 0 && !all {
		fmt.Fprintln(w, "Nothing needs you. (formledger list --all lists every submission.)")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REFERENCE\tFORM\tSTATUS\tNEEDS\tSUBMITTED\tCAUSE")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Reference, r.Form, r.Status, dash(string(r.Needs)), clock(r.CreatedAt), dash(r.LastError))
	}
	return t.Flush()
}

func newShow(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "show REFERENCE",
		Short: "Show what is known of a reference, and what is not",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				cases, err := d.Find(c.Context(), args[0])
				if err != nil {
					return err
				}
				for _, k := range cases {
					printCase(s.out, k)
				}
				return nil
			})
		},
	}
}

func printCase(w io.Writer, k desk.Case) {
	r := k.Row
	fmt.Fprintf(w, "%s  (form %s)\n%s\n\n", r.Reference, r.Form, desk.Sentence(r))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"id", r.ID.String()}, {"status", string(r.Status)}, {"needs", string(r.Needs)}, {"policy", string(r.Policy)},
		{"submitted", clock(r.CreatedAt)}, {"last change", clock(r.UpdatedAt)}, {"lease until", clock(r.LeaseUntil)},
		{"version", desk.Version(r)}, {"claims", fmt.Sprint(r.Claims)}, {"failures", fmt.Sprint(r.Attempts)}, {"cause", r.LastError},
		{"accepted by", r.AcceptedBy}, {"receipt", r.Receipt}, {"closed", clock(r.ClosedAt)},
	} {
		if line[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", line[0], line[1])
		}
	}
	t.Flush()
	for _, e := range k.Events {
		fmt.Fprintf(w, "  %s\n", eventLine(e))
	}
	fmt.Fprintln(w)
}

func eventLine(e ledger.Event) string {
	line := fmt.Sprintf("%s  %s by %s", clock(e.At), e.Kind, e.Actor)
	if e.Cause != "" {
		line += " (" + e.Cause + ")"
	}
	if e.Times > 1 {
		line += fmt.Sprintf(", %d times, last %s", e.Times, clock(e.LastAt))
	}
	return line + quoted(e.Note)
}

// quoted sets a note behind its event, and a conversation beneath it. Control
// characters of a mail server stay out of the operator's terminal.
func quoted(note string) string {
	lines := strings.Split(strings.TrimSpace(note), "\n")
	for i, l := range lines {
		lines[i] = strings.Trim(strconv.Quote(strings.TrimRight(l, "\r")), `"`)
	}
	switch {
	case note == "":
		return ""
	case len(lines) == 1:
		return ": " + lines[0]
	}
	return ":\n      " + strings.Join(lines, "\n      ")
}

func newResolve(s streams, p *places) *cobra.Command {
	var received, notReceived, closed bool
	var note, by, seen string
	c := &cobra.Command{
		Use:   "resolve REFERENCE (--received | --not-received | --close) [--note TEXT]",
		Short: "Record what you found out about a reference",
		Long: `Record what you found out about a reference. The visitor's receipt page shows it.

  --received      the message is there: it is accepted, for good
  --not-received  it is not there: the visitor may send it again, once
  --close         nothing more is done about it; it leaves the list as it is`,
		Args: usage(func(c *cobra.Command, args []string) error {
			return errors.Join(cobra.ExactArgs(1)(c, args), c.ValidateFlagGroups()) // cobra's own check is no usage error
		}),
		RunE: func(c *cobra.Command, args []string) error {
			kind := ledger.Close
			if received {
				kind = ledger.Received
			} else if notReceived {
				kind = ledger.NotReceived
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				done, err := d.Resolve(c.Context(), args[0], desk.Ruling{Kind: kind, By: by, Note: note, Seen: seen})
				if err != nil {
					return unresolved(done.Case, err)
				}
				printCase(s.out, done.Case)
				if done.Said != "" {
					fmt.Fprintln(s.out, done.Said)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&received, "received", false, "the message arrived")
	c.Flags().BoolVar(&notReceived, "not-received", false, "the message did not arrive")
	c.Flags().BoolVar(&closed, "close", false, "close the case as it is")
	c.Flags().StringVar(&note, "note", "", "how you know, for the record (needed but for --received)")
	c.Flags().StringVar(&seen, "seen", "", "the `version` that show printed: decide only if nothing has changed since")
	c.Flags().StringVar(&by, "by", operatorName(), "your `name`, for the record")
	c.MarkFlagsMutuallyExclusive("received", "not-received", "close")
	c.MarkFlagsOneRequired("received", "not-received", "close")
	return c
}

// unresolved says what an operator can do when a decision was not taken.
func unresolved(k desk.Case, err error) error {
	switch {
	case errors.Is(err, ledger.ErrClaimed):
		return fmt.Errorf("%s is being sent right now; once its lease ends (%s) it is accepted or can be decided", k.Row.Reference, clock(k.Row.LeaseUntil))
	case errors.Is(err, ledger.ErrFinal):
		return fmt.Errorf("%s was accepted by %s, and that is final", k.Row.Reference, k.Row.AcceptedBy)
	case errors.Is(err, ledger.ErrStale):
		return fmt.Errorf("%s changed while you decided; look at it again with formledger show %[1]s", k.Row.Reference)
	}
	return err
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
