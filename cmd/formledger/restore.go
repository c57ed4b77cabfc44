package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/desk"
)

const restoreHelp = `Put a backup in the place of the ledger. Stop every server first; the present
ledger, if there is one, is kept beside it under another name.

A backup does not know what was sent after it was made. So that nothing is sent
twice, whatever was still to be sent in it becomes uncertain, and stands in your
list: look into the mailbox, and record what you find with formledger resolve.

From then on, an enquiry that the ledger has never seen might be a repeat of one
that was sent in the meantime. It is taken for new only if its ID tells that it was
made more than an hour after the restore. Everything else, orders of a webhook too,
is answered with "uncertain", is not sent, and stands in your list.

Once nobody will try again what they sent before (a page that was left open tries
for as long as it is open; a shop's webhooks mostly for three days), end this:

  formledger restore --done --note "the gap is reconciled"`

func newRestore(s streams, p *places) *cobra.Command {
	done, r := false, ledger.Restoration{}
	c := &cobra.Command{
		Use:   "restore (FILE | --done) --note TEXT",
		Short: "Put a backup in the place of the ledger",
		Long:  restoreHelp,
		Args: usage(func(c *cobra.Command, args []string) error {
			if done {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(1)(c, args)
		}),
		RunE: func(c *cobra.Command, args []string) error {
			if r.Note == "" {
				return usageError{errors.New("this goes on record, so please say why with --note")}
			}
			r.At = time.Now()
			if done {
				return atDesk(c.Context(), *p, s, func(d *desk.Desk) error { return endRestore(c.Context(), s.out, d.Ledger, r) })
			}
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			// so that an interrupt leaves no part of a copy behind
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return restore(ctx, s.out, cfg, args[0], r)
		},
	}
	c.Flags().BoolVar(&done, "done", false, "end it: enquiries that were never seen are new ones again")
	c.Flags().StringVar(&r.Note, "note", "", "why, for the record")
	c.Flags().StringVar(&r.By, "by", operatorName(), "your `name`, for the record")
	return c
}

func restore(ctx context.Context, w io.Writer, cfg config, backup string, r ledger.Restoration) (err error) {
	staged, err := sqlledger.Stage(ctx, backup, cfg.ledgerFile())
	if err != nil {
		return unrestored(err, cfg)
	}
	defer func() { err = errors.Join(err, staged.Drop()) }()
	if err := cfg.refuseWithoutKeys(staged.Holds); err != nil {
		return fmt.Errorf("the backup needs keys that are not here, so nothing is changed. Put them back from their copy first: %w", err)
	}
	disputed, aside, err := staged.Put(ctx, r)
	if err != nil {
		return unrestored(err, cfg)
	}
	return sayRestored(w, staged.Holds, disputed, aside, cfg)
}

func unrestored(err error, cfg config) error {
	switch {
	case errors.Is(err, sqlledger.ErrInUse):
		return fmt.Errorf("%s is in use: stop every formledger on it first, and whatever else has it open. Nothing is changed (%w)", cfg.ledgerFile(), err)
	case errors.Is(err, sqlledger.ErrDamaged):
		return fmt.Errorf("nothing is changed, because the backup is damaged; please take another one: %w", err)
	}
	return err
}

func sayRestored(w io.Writer, c sqlledger.Copied, disputed int, aside string, cfg config) error {
	fmt.Fprintf(w, "The backup is the ledger %s now. In it are %s.\n", cfg.ledgerFile(), holds(c))
	if aside != "" {
		fmt.Fprintf(w, "The ledger that was there is kept as %s. Its keys are still needed for it.\n", aside)
	}
	if disputed > 0 {
		fmt.Fprintf(w, "%s still to be sent in it, and may have been sent since. They are uncertain now; formledger queue shows them.\n", wereCases(disputed))
	}
	_, err := fmt.Fprintln(w, `Until you end it with formledger restore --done --note TEXT, what the ledger has never
seen is called uncertain too, unless its ID was made more than an hour after now; for
the next hour that is everybody. formledger restore --help says when to end it.`)
	return err
}

func wereCases(n int) string {
	if n == 1 {
		return "1 enquiry was"
	}
	return fmt.Sprintf("%d enquiries were", n)
}

func endRestore(ctx context.Context, w io.Writer, l ledger.Ledger, r ledger.Restoration) error {
	err := l.EndRestored(ctx, r)
	if errors.Is(err, ledger.ErrNotRestored) {
		return errors.New("no restore is pending, so there is nothing to end")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "From now on, an enquiry that the ledger has never seen is a new one, and is sent. What was called uncertain meanwhile stays in your queue: formledger queue.")
	return err
}

// pendingRestore is what an operator has to know as long as a restore is pending.
func pendingRestore(since time.Time) string {
	return fmt.Sprintf("a backup was restored at %s: until formledger restore --done, enquiries that may have been sent before are called uncertain, and are not sent", clock(since))
}

// remindOfRestore says at a start that a restore is pending. A start that is
// stopped right away is no failure.
func (h *house) remindOfRestore(ctx context.Context, w io.Writer) error {
	since, err := h.db.Restored(context.WithoutCancel(ctx))
	if err != nil || since.IsZero() {
		return err
	}
	h.log.Warn("a restore is pending", "restored_at", clock(since))
	return printRestored(w, since)
}

func printRestored(w io.Writer, since time.Time) error {
	if since.IsZero() {
		return nil
	}
	_, err := fmt.Fprintf(w, "Please note: %s.\n\n", pendingRestore(since))
	return err
}

// examineRestore tells that a restore is pending. A ledger that cannot be read has
// its own line.
func examineRestore(ctx context.Context, cfg config) []finding {
	if !exists(cfg.ledgerFile()) {
		return nil
	}
	since, err := sqlledger.ExamineRestored(ctx, cfg.ledgerFile())
	if err != nil || since.IsZero() {
		return nil
	}
	return []finding{warn("restore", pendingRestore(since), "look at formledger queue, and end it when nobody tries again what was sent before: formledger restore --help")}
}
