package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"formledger/ledger/sqlledger"
)

const backupHelp = `Copy the ledger into a file, also while a server writes to it. The copy is one
moment's: everything that was answered before the command began is in it. It is
read through before it gets its name, belongs to you alone, and never writes over
another file.

The keys are not in it. Without them it cannot be used, and whoever holds both can
read what waits in it: so keep the keys as well, but apart from it. The command
prints which ones.

A backup is for a disk that has failed. formledger restore puts it back, and sees
to it that nothing which was sent since is sent again.`

func newBackup(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the ledger into a file, also while a server runs",
		Long:  backupHelp,
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			if !exists(cfg.ledgerFile()) {
				return fmt.Errorf("there is no ledger at %s; please name its folder with --data, or its configuration with --config", cfg.ledgerFile())
			}
			// so that an interrupt leaves no part of a copy behind
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return backUp(ctx, s.out, cfg, args[0])
		},
	}
}

func backUp(ctx context.Context, w io.Writer, cfg config, target string) error {
	done, err := sqlledger.Backup(ctx, cfg.ledgerFile(), target)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and no backup is written over; please name another file", target)
	case err != nil:
		return err
	}
	fmt.Fprintf(w, "%s is a whole copy: %s.\n", target, holds(done))
	if len(done.PayloadKeys)+len(done.SealKeys) == 0 {
		_, err := fmt.Fprintln(w, "It holds no key, and needs none yet.")
		return err
	}
	fmt.Fprintln(w, "It holds no key, and is of no use without these. Keep a copy of them as well, apart from it:")
	for _, k := range cfg.keysOf(done) {
		if len(k.ids) > 0 {
			fmt.Fprintf(w, "  %s %s in %s\n", k.store.what, strings.Join(k.ids, ", "), k.store.place())
		}
	}
	if err := cfg.refuseWithoutKeys(done); err != nil {
		fmt.Fprintf(w, "Careful: %v.\n", err)
	}
	return nil
}

// holds says what is in a copy.
func holds(c sqlledger.Copied) string {
	text := fmt.Sprintf("enquiries: %d, entries of their records: %d, messages whose words are kept: %d; %s", c.Rows, c.Events, c.Kept, size(c.Bytes))
	if !c.LastChange.IsZero() {
		text += "; the last change in it is of " + clock(c.LastChange)
	}
	return text
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// neededKeys are keys without which a copy cannot be used.
type neededKeys struct {
	store keyStore
	ids   []string
	held  func(id string) bool
}

// keysOf are the keys that a copy needs. Where they cannot be read, none is held.
func (c config) keysOf(copied sqlledger.Copied) []neededKeys {
	nobody := func(string) bool { return false }
	payload := neededKeys{c.payloadStore(), copied.PayloadKeys, nobody}
	if ring, err := c.openKeys(); err == nil {
		payload.held = ring.Holds
	}
	outbox := neededKeys{c.outboxStore(), copied.SealKeys, nobody}
	if seals, err := c.openSeals(); err == nil && seals != nil {
		outbox.held = seals.Holds
	}
	return []neededKeys{payload, outbox}
}

// refuseWithoutKeys is an error if a copy needs keys that are not here.
func (c config) refuseWithoutKeys(copied sqlledger.Copied) error {
	var faults []error
	for _, k := range c.keysOf(copied) {
		var missing []string
		for _, id := range k.ids {
			if !k.held(id) {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			faults = append(faults, fmt.Errorf("of %s, %s cannot be read in %s", k.store.what, strings.Join(missing, ", "), k.store.place()))
		}
	}
	return errors.Join(faults...)
}
