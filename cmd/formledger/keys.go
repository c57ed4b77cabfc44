package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"formledger/ledger"
)

// readPrivate reads a secret's file, which only its owner may read.
func readPrivate(file, what string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s in %s can be read by others (mode %04o); please run: chmod 600 %[2]s", what, file, info.Mode().Perm())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return string(text), nil
}

// firstKeys opens the keys of the payload hash, and makes them at the first
// start, apart from the database.
func (c config) firstKeys() (*ledger.KeyRing, error) {
	if c.keyText == "" {
		if err := makeKeys(c.PayloadKeys, c.ledgerFile()); err != nil {
			return nil, err
		}
	}
	return c.openKeys()
}

// openKeys reads the keys of the payload hash.
func (c config) openKeys() (*ledger.KeyRing, error) {
	return ringOf(c.payloadStore())
}

// ringOf reads a ring, wherever it is kept.
func ringOf(k keyStore) (*ledger.KeyRing, error) {
	text, err := k.read()
	if err != nil {
		return nil, err
	}
	ring, err := ledger.ParseKeyRing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.place(), err)
	}
	return ring, nil
}

// keyStore is where a ring of keys is kept: in a file, or in the environment.
type keyStore struct {
	what     string // the payload keys
	variable string // of the environment
	text     string // what the variable holds; empty: the file counts
	file     string
}

func (c config) payloadStore() keyStore {
	return keyStore{"the payload keys", envPrefix + "PAYLOAD_KEYS", c.keyText, c.PayloadKeys}
}

func (k keyStore) read() (string, error) {
	if k.text != "" {
		return k.text, nil
	}
	return readPrivate(k.file, k.what)
}

func (k keyStore) place() string {
	if k.text != "" {
		return k.variable
	}
	return k.file
}

// missing reports whether there are no keys yet. A file that cannot be looked at
// is not missing.
func (k keyStore) missing() bool {
	_, err := os.Stat(k.file)
	return k.text == "" && errors.Is(err, fs.ErrNotExist)
}

// makeKeys makes a key file at the first start. Beside a ledger that is there
// already it refuses: new keys would make every old row unreadable.
func makeKeys(file, ledgerFile string) error {
	// looked at first: whoever starts beside us makes the keys before the ledger
	hasLedger := exists(ledgerFile)
	if exists(file) {
		return nil
	}
	if hasLedger {
		return fmt.Errorf("the ledger %s is there, but its keys %s are not; please put the keys back, or no repeat of an old enquiry can be recognised", ledgerFile, file)
	}
	text, err := ledger.NewKeyFile(rand.Reader)
	if err != nil {
		return err
	}
	return writeFirst(file, text)
}

// writeFirst writes a key file, and makes its folder.
func writeFirst(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("making the folder of the keys: %w", err)
	}
	return writeOnce(file, text)
}

// writeOnce writes a file that is whole and on the disk under its name, or not
// there; of two processes that start together, one wins and both read the same.
func writeOnce(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".keys-*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the keys: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing the keys: %w", err)
	}
	if err := os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("writing the keys: %w", err)
	}
	return syncFolder(filepath.Dir(file))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
