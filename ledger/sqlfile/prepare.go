package sqlfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Prepare makes the file for its owner alone, before SQLite makes it for
// everybody.
func Prepare(file string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the database's folder: %w", err)
	}
	if err := RefuseNetwork(file); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the database's file: %w", err)
	}
	return f.Close()
}
