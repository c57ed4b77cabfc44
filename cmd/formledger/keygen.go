package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"formledger/relay/signed"
)

// The two files that keygen relay writes. They hold the same.
const (
	keysOfForm  = "relay-keys.form"
	keysOfRelay = "relay-keys.relay"
)

func newKeygen(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "keygen",
		Short: "Make keys",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	dir := "."
	relay := &cobra.Command{
		Use:   "relay",
		Short: "Make the keys between a form server and its relay",
		Long: `Make a fresh pair of keys between a form server and its relay, as two files with
the same lines: ` + keysOfForm + ` for the form server, ` + keysOfRelay + ` for the relay.
Carry the second to the relay's machine by a way that nobody else can read.

To rotate: add the new lines to the relay's file; put the new file in the place
of the old one at the form server; then remove the old lines at the relay. After
each step, a SIGHUP lets the program read its keys again, without a pause.`,
		Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			text, err := signed.NewKeyFile(rand.Reader, time.Now())
			if err != nil {
				return err
			}
			form, station := filepath.Join(dir, keysOfForm), filepath.Join(dir, keysOfRelay)
			if err := errors.Join(isNew(form), isNew(station)); err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			if err := errors.Join(writeOnce(form, text), writeOnce(station, text)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s is for the form server: name it as keys in its [relay].\n%s is for the relay: name it as keys of its [[caller]].\n", form, station)
			return err
		},
	}
	relay.Flags().StringVar(&dir, "out", ".", "`folder` of the two files")
	c.AddCommand(relay)
	return c
}

// isNew refuses to write over keys.
func isNew(file string) error {
	if exists(file) {
		return fmt.Errorf("%s is there already; please move it away, or name another folder with --out", file)
	}
	return nil
}
