package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const evidenceHelp = `Gather what is known about references: what the record says, what the relay says
if it is asked now, and what lies in the mailbox, if the configuration has a table
[mailbox]. Each line tells what it proves:

  accepted   the mail system took this very message
  not_sent   it was not sent, and no late copy can go out
  presence   the mail lies in the mailbox: it arrived
  nothing    it is no proof, but may tell where to look

Nothing is decided by itself: what a line suggests is the decision that would fit. A
mail that is found in the mailbox goes on record. Raw words of mail servers may
be among what is printed: they are for you, and not for visitors.`

func newEvidence(s streams, p *places) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:               "evidence REFERENCE…",
		Short:             "Gather what is known about references, and what it proves",
		Long:              evidenceHelp,
		Args:              usage(cobra.MinimumNArgs(1)),
		ValidArgsFunction: openReferences(s, p, anyNumber),
		RunE: func(c *cobra.Command, args []string) error {
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				all, err := gather(c.Context(), d, args)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(s.out, inJSON(all, gatheredJSON))
				}
				for _, g := range all {
					printEvidence(s.out, g)
				}
				return nil
			})
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// gathered is the evidence of one case.
type gathered struct {
	of       desk.Case
	evidence []desk.Evidence
}

// gather finds all cases before it asks about the first.
func gather(ctx context.Context, d *desk.Desk, texts []string) ([]gathered, error) {
	var all []gathered
	for _, text := range texts {
		cases, err := d.Find(ctx, text)
		if err != nil {
			return nil, &desk.UnknownReferenceError{Text: text, Err: err}
		}
		for _, k := range cases {
			all = append(all, gathered{of: k})
		}
	}
	for i := range all {
		var err error
		if all[i].evidence, err = d.Evidence(ctx, all[i].of); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func printEvidence(w io.Writer, g gathered) {
	fmt.Fprintf(w, "%s  (form %s)\n%s\n\n", g.of.Row.Reference, g.of.Row.Form, desk.Sentence(g.of.Row))
	for _, e := range g.evidence {
		fmt.Fprintf(w, "  %-8s  %s  proves %s%s\n", e.Source, clock(e.At), e.Proves, suggested(e.Suggests))
		for line := range strings.Lines(e.Says) {
			fmt.Fprintf(w, "      %s\n", inLine(line))
		}
	}
	fmt.Fprintln(w)
}

func suggested(k ledger.DecisionKind) string {
	if k == "" {
		return ""
	}
	return ", suggests " + string(k)
}

type evidenceOfJSON struct {
	Reference string         `json:"reference"`
	ID        string         `json:"id"`
	Says      string         `json:"says"`
	Version   string         `json:"version"`
	Evidence  []evidenceJSON `json:"evidence"`
}

type evidenceJSON struct {
	Source   desk.Source         `json:"source"`
	At       time.Time           `json:"at"`
	Says     string              `json:"says"`
	Proves   desk.Proof          `json:"proves"`
	Suggests ledger.DecisionKind `json:"suggests"`
}

func gatheredJSON(g gathered) evidenceOfJSON {
	row := g.of.Row
	return evidenceOfJSON{string(row.Reference), row.ID.String(), desk.Sentence(row), desk.Version(row),
		inJSON(g.evidence, func(e desk.Evidence) evidenceJSON {
			e.At = e.At.UTC().Truncate(time.Millisecond)
			return evidenceJSON(e)
		})}
}
