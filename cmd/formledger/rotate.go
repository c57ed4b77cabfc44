package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
)

func newKeys(s streams, p *places) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "List or rotate the keys of the ledger",
		Long: `The payload keys tell whether an enquiry is the same as one before. The outbox keys
seal the words that wait under the policies queue and retry. The keys between a
form server and its relay are made by formledger keygen.`,
		Args: usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newKeysList(s, p), newRotate(s, p))
	return c
}

func newKeysList(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			kept, err := cfg.kept(c.Context())
			if err != nil {
				return err
			}
			return errors.Join(listKeys(s.out, cfg.payloadStore(), nil), listKeys(s.out, cfg.outboxStore(), byKey(kept)))
		},
	}
}

// kept counts the kept words, if there is a ledger, and changes nothing.
func (c config) kept(ctx context.Context) ([]ledger.Kept, error) {
	if !exists(c.ledgerFile()) {
		return nil, nil
	}
	return sqlledger.ExamineKept(ctx, c.ledgerFile())
}

// listKeys prints a ring; unless sealed is nil, with how many messages each key has
// sealed. A key that is not there and has sealed some is printed too.
func listKeys(w io.Writer, k keyStore, sealed map[string]int64) error {
	if k.missing() && len(sealed) == 0 {
		_, err := fmt.Fprintf(w, "%s: none yet\n", k.what)
		return err
	}
	f := keyFile{}
	if !k.missing() {
		text, err := k.read()
		if err == nil {
			f, err = parseKeyFile(text)
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%s in %s\n", k.what, k.place())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range f.lines {
		if id, state, ok := f.key(i); ok {
			printKey(t, id, string(state), sealed != nil, sealed[id])
			delete(sealed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sealed)) {
		printKey(t, id, "missing", true, sealed[id])
	}
	return t.Flush()
}

func printKey(w io.Writer, id, state string, counted bool, rows int64) {
	line := "  " + id + "\t" + state
	switch {
	case counted && rows > 0:
		line += "\t" + messages(rows)
	case counted && state == string(verifies):
		line += "\tno message: it can go, once every server was started again since it was rotated"
	case counted:
		line += "\tno message"
	}
	fmt.Fprintln(w, line)
}

const rotateHelp = `Make a fresh key and put it in use. The one before stays in the file and goes on
verifying or opening what was made under it. The file is changed as a whole, also
while a server runs: it reads the keys at its next start.

Where several servers share a ledger, every one has to know a key before any of
them uses it. There, rotate with --prepare first, which adds the key without using
it; carry the file to every machine, and start the servers again; then rotate
without --prepare, and do the same once more.

Old payload keys stay for as long as repeats of old enquiries are to be
recognised. formledger keys list tells when an old outbox key can go.`

func newRotate(s streams, p *places) *cobra.Command {
	var payload, outbox, prepare bool
	c := &cobra.Command{
		Use:   "rotate (--payload | --outbox) [--prepare]",
		Short: "Put a fresh key in use",
		Long:  rotateHelp,
		Args:  groupedUsage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			k := cfg.payloadStore()
			if outbox {
				k = cfg.outboxStore()
			}
			return rotateKeys(s.out, k, prepare)
		},
	}
	c.Flags().BoolVar(&payload, "payload", false, "the keys that compare enquiries")
	c.Flags().BoolVar(&outbox, "outbox", false, "the keys that seal words")
	c.Flags().BoolVar(&prepare, "prepare", false, "only add the key; the next rotation puts it in use")
	c.MarkFlagsMutuallyExclusive("payload", "outbox")
	c.MarkFlagsOneRequired("payload", "outbox")
	return c
}

func rotateKeys(w io.Writer, k keyStore, prepare bool) error {
	if k.text != "" {
		return fmt.Errorf("%s are in the environment, so they have to be changed there: what sets %s", k.what, k.variable)
	}
	if k.missing() {
		return fmt.Errorf("%s are not made yet: the first start that needs them makes %s", k.what, k.file)
	}
	change := (*keyFile).rotate
	if prepare {
		change = (*keyFile).prepare
	}
	done, err := rewrite(k, change)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%s will be in use, and %s goes on for what was made under it.", done.used, done.was)
	if prepare {
		said = fmt.Sprintf("%s is prepared, and %s stays in use. Carry the file to every machine.", done.next, done.used)
	}
	_, err = fmt.Fprintf(w, "%s\nA running server reads %s at its next start. Keep a copy of it, apart from the ledger.\n", said, k.file)
	return err
}
