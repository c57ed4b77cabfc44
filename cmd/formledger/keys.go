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

func keysFrom(file string) (*ledger.KeyRing, error) {
	text, err := readPrivate(file, "the payload keys")
	if err != nil {
		return nil, err
	}
	ring, err := ledger.ParseKeyRing(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return ring, nil
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
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("making the folder of the payload keys: %w", err)
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
