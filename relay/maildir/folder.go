package maildir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleAfter is the age at which the format has leftovers in tmp removed
// (https://cr.yp.to/proto/maildir.html). No delivery takes nearly so long.
const staleAfter = 36 * time.Hour

// folder is the Maildir as it is made ready at start.
type folder struct {
	dir string
	fs  filesystem
}

func (f folder) prepare(now time.Time) error {
	for _, sub := range []string{"tmp", "new", "cur"} {
		if err := makeDir(filepath.Join(f.dir, sub), f.fs.syncDir); err != nil {
			return fmt.Errorf("making it: %w", err)
		}
	}
	if err := f.clean(now); err != nil {
		return fmt.Errorf("cleaning tmp: %w", err)
	}
	return f.probe()
}

// makeDir makes a folder and its parents. It syncs each parent: a power cut
// must not take a folder away from under the mail that was synced inside it.
func makeDir(path string, syncDir func(string) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDir(parent, syncDir); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// clean removes our own leftovers from tmp; other deliverers look after theirs.
func (f folder) clean(now time.Time) error {
	entries, err := os.ReadDir(filepath.Join(f.dir, "tmp"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), suffix) || now.Sub(info.ModTime()) <= staleAfter {
			continue
		}
		if err := f.fs.remove(filepath.Join(f.dir, "tmp", e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// probe takes an empty file through the folders, so that a folder without
// permission, a full disk or three folders on two disks are found at start and
// not by a visitor. Mail programs skip names that begin with a dot (maildir(5)).
func (f folder) probe() error {
	made, err := os.CreateTemp(filepath.Join(f.dir, "tmp"), ".probe-*"+suffix)
	if err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	path := made.Name()
	defer func() { f.fs.remove(path) }()
	if err := errors.Join(made.Sync(), made.Close()); err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	for _, sub := range []string{"new", "cur"} {
		next := filepath.Join(f.dir, sub, filepath.Base(path))
		if err := f.fs.rename(path, next); err != nil {
			return fmt.Errorf("a file cannot be moved into %s: %w", sub, err)
		}
		path = next
		if err := f.fs.syncDir(filepath.Join(f.dir, sub)); err != nil {
			return fmt.Errorf("%s cannot be synced: %w", sub, err)
		}
	}
	return nil
}
