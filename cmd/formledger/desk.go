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
	return withConfig(ctx, p, s, func(_ config, d *desk.Desk) error { return work(d) })
}

func withConfig(ctx context.Context, p places, s streams, work func(config, *desk.Desk) error) error {
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
	err = work(cfg, &desk.Desk{Ledger: db, Relay: far, Now: time.Now, Mailbox: cfg.mailbox(), MessageID: cfg.messageID})
	return errors.Join(err, db.Tidy(ctx), db.Close())
}

func newShow(s streams, p *places) *cobra.Command {
	words, by, asJSON := false, "", false
	c := &cobra.Command{
		Use:               "show REFERENCE",
		Short:             "Show what is known of a reference, and what is not",
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: openReferences(s, p, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return withConfig(c.Context(), *p, s, func(cfg config, d *desk.Desk) error {
				cases, err := d.Find(c.Context(), args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return showJSON(c.Context(), s.out, cfg, d, cases, words, by)
				}
				for _, k := range cases {
					printCase(s.out, k)
				}
				if !words {
					return nil
				}
				return showWords(c.Context(), s.out, cfg, d, args[0], by)
			})
		},
	}
	c.Flags().BoolVar(&words, "words", false, "also show the message's words, if they are kept; that goes on record")
	c.Flags().StringVar(&by, "by", operatorName(), "your `name`, for the record")
	jsonFlag(c, &asJSON)
	return c
}

func showJSON(ctx context.Context, w io.Writer, cfg config, d *desk.Desk, cases []desk.Case, words bool, by string) error {
	known := inJSON(cases, knownJSON)
	for i := range known {
		if !words {
			break
		}
		l, err := openWords(ctx, cfg, d, known[i].ID, by)
		if err != nil {
			return err
		}
		known[i].Words = &wordsJSON{Subject: l.Subject, To: l.To, ReplyTo: l.ReplyTo, Text: l.Text}
	}
	return printJSON(w, known)
}

func printCase(w io.Writer, k desk.Case) {
	r := k.Row
	fmt.Fprintf(w, "%s  (form %s)\n%s\n%s\n\n", r.Reference, r.Form, desk.Sentence(r), desk.PolicySentence(r))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"id", r.ID.String()}, {"status", string(r.Status)}, {"needs", string(r.Needs)}, {"policy", string(r.Policy)},
		{"submitted", clock(r.CreatedAt)}, {"last change", clock(r.UpdatedAt)}, {"lease until", clock(r.LeaseUntil)},
		{"version", desk.Version(r)}, {"claims", ofCap(r.Claims, r.ClaimCap)}, {"failures", ofCap(r.Attempts, r.AttemptCap)}, {"cause", r.LastError},
		{"next attempt", nextAttempt(k)}, {"words", keptWords(k)},
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
	if k.Kept && r.Needs == ledger.NeedsNobody {
		_ = printRelayState(w, k.Relay)
	}
	fmt.Fprintln(w)
}

// ofCap is a count, and where it ends.
func ofCap(n, limit int64) string {
	if limit == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}

// nextAttempt is when the courier tries, if it does.
func nextAttempt(k desk.Case) string {
	if !k.Kept || !k.Row.Waiting() {
		return ""
	}
	return clock(k.Next)
}

func keptWords(k desk.Case) string {
	switch {
	case k.Kept:
		return "kept, sealed, until it is accepted or you close it (--words shows them)"
	case k.Row.Policy.KeepsWords():
		return "wiped"
	}
	return ""
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
