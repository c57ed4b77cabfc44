package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const resolveHelp = `Record what you found out about references. The visitor's receipt page shows it.

  --received      the message is there: it is accepted, for good
  --not-received  it is not there: under policy hold the visitor may send it
                  again, once; under queue and retry the courier sends it again
  --send-again    what it was stopped for is put right: one more attempt is made.
                  Of a single reference, what is known is printed first
  --close         nothing more is done about it; it leaves the queue as it is. Words
                  that were kept are wiped, so that needs --wipe-words as well

Before --not-received and --send-again the mailbox is searched, if the configuration
has a table [mailbox], and the relay is asked. If the mail is found there, or was
before, nothing is decided, unless you say --despite.

With - instead of references they are read from the standard input, one on each
line; empty lines, and those that begin with #, are passed over. Several are
settled with one note, each with an entry of its own in the record, and the table
tells what became of each.`

func newResolve(s streams, p *places) *cobra.Command {
	chosen, r, asJSON := map[ledger.DecisionKind]*bool{}, desk.Ruling{}, false
	c := &cobra.Command{
		Use:               "resolve (REFERENCE… | -) (--received | --not-received | --send-again | --close) [--note TEXT]",
		Short:             "Record what you found out about references",
		Long:              resolveHelp,
		Args:              groupedUsage(cobra.MinimumNArgs(1)),
		ValidArgsFunction: openReferences(s, p, anyNumber),
		RunE: func(c *cobra.Command, args []string) error {
			for kind, set := range chosen {
				if *set {
					r.Kind = kind
				}
			}
			texts, err := references(args, s.in)
			if err == nil && len(texts) > 1 && r.Seen != "" {
				err = usageError{errors.New("--seen goes with a single reference: each has a version of its own")}
			}
			if err != nil {
				return err
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error { return resolve(c.Context(), s, d, texts, r, asJSON) })
		},
	}
	resolveFlags(c, chosen, &r)
	jsonFlag(c, &asJSON)
	return c
}

func resolveFlags(c *cobra.Command, chosen map[ledger.DecisionKind]*bool, r *desk.Ruling) {
	flags := []string{"received", "not-received", "send-again", "close"}
	chosen[ledger.Received] = c.Flags().Bool(flags[0], false, "the message arrived")
	chosen[ledger.NotReceived] = c.Flags().Bool(flags[1], false, "the message did not arrive")
	chosen[ledger.SendAgain] = c.Flags().Bool(flags[2], false, "make one more attempt at a message that has stopped")
	chosen[ledger.Close] = c.Flags().Bool(flags[3], false, "close the case as it is")
	c.Flags().BoolVar(&r.WipeWords, "wipe-words", false, "with --close: wipe the words that are kept, for good")
	c.Flags().BoolVar(&r.Despite, "despite", false, "decide even though there is evidence that the message arrived")
	c.Flags().StringVar(&r.Note, "note", "", "how you know, for the record (needed but for --received)")
	c.Flags().StringVar(&r.Seen, "seen", "", "the `version` that show printed: decide only if nothing has changed since")
	c.Flags().StringVar(&r.By, "by", operatorName(), "your `name`, for the record")
	c.MarkFlagsMutuallyExclusive(flags...)
	c.MarkFlagsOneRequired(flags...)
}

// groupedUsage also checks which flags go together: cobra's own check of that is
// no usage error.
func groupedUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return usage(func(c *cobra.Command, args []string) error {
		return errors.Join(check(c, args), c.ValidateFlagGroups())
	})
}

// resolve settles one reference with all that is known of it, or several with a
// line for each.
func resolve(ctx context.Context, s streams, d *desk.Desk, texts []string, r desk.Ruling, asJSON bool) error {
	if len(texts) != 1 || asJSON {
		return decideAll(ctx, s, d, texts, r, asJSON)
	}
	return decide(ctx, s.out, d, texts[0], r)
}

// decide records a decision, and prints the case as it is then.
func decide(ctx context.Context, w io.Writer, d *desk.Desk, text string, r desk.Ruling) error {
	if r.Kind == ledger.SendAgain {
		if err := showFirst(ctx, w, d, text, &r); err != nil {
			return err
		}
	}
	done, err := d.Resolve(ctx, text, r)
	if err != nil {
		return unresolved(done.Case, err)
	}
	printCase(w, done.Case)
	if done.Said != "" {
		fmt.Fprintln(w, done.Said)
	}
	return nil
}

// showFirst prints what is known before one more attempt is allowed, which then
// is allowed only as long as that holds.
func showFirst(ctx context.Context, w io.Writer, d *desk.Desk, text string, r *desk.Ruling) error {
	cases, err := d.Find(ctx, text)
	if err != nil {
		return err
	}
	for _, k := range cases {
		printCase(w, k)
	}
	if r.Seen == "" && len(cases) == 1 {
		r.Seen = desk.Version(cases[0].Row)
	}
	return nil
}

// unresolved says what an operator can do when a decision was not taken.
func unresolved(k desk.Case, err error) error {
	ref := k.Row.Reference
	var decided *desk.DecidedError
	var arrived *desk.ArrivedError
	switch {
	case errors.As(err, &decided):
		return fmt.Errorf("%s is decided already: %w. Nothing was changed; formledger show %[1]s tells how it stands", ref, err)
	case errors.As(err, &arrived):
		return fmt.Errorf("%s: %w Nothing was decided; if you know better, say so with --despite", ref, err)
	case errors.Is(err, ledger.ErrClaimed) && k.Row.Policy == ledger.Retry:
		return fmt.Errorf("%s is being sent right now; once its lease ends (%s) it is accepted, or tried again, or can be decided", ref, clock(k.Row.LeaseUntil))
	case errors.Is(err, ledger.ErrClaimed):
		return fmt.Errorf("%s is being sent right now; once its lease ends (%s) it is accepted or can be decided", ref, clock(k.Row.LeaseUntil))
	case errors.Is(err, ledger.ErrFinal):
		return fmt.Errorf("%s was accepted by %s, and that is final", ref, k.Row.AcceptedBy)
	case errors.Is(err, ledger.ErrStale):
		return fmt.Errorf("%s changed while you decided; look at it again with formledger show %[1]s", ref)
	case errors.Is(err, ledger.ErrNotStopped) && k.Row.Waiting():
		return fmt.Errorf("%s has not stopped: the courier sends it without you", ref)
	case errors.Is(err, ledger.ErrNotStopped):
		return fmt.Errorf("%s may have been sent already; look into the mailbox, and if it is not there, formledger resolve %[1]s --not-received has it sent again", ref)
	case errors.Is(err, desk.ErrWipesWords):
		return fmt.Errorf("closing %s wipes its words for good, and they were not delivered from here; formledger show %[1]s --words prints them. If that is meant, say so with --close --wipe-words", ref)
	case errors.Is(err, ledger.ErrNoWords):
		return fmt.Errorf("the words of %s are not kept here, so nothing can be sent from here; only the visitor can send it again", ref)
	}
	return err
}
