package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"formledger/ledger"
	"formledger/ledger/sqlfile"
)

// ErrInUse says that a server or another program has the ledger open.
var ErrInUse = sqlfile.ErrInUse

// Staged is a copy on its way into the place of a ledger, which nobody can open
// until Drop.
type Staged struct {
	Holds  Copied // what the copy holds
	file   string // the ledger's
	folder string // the copy's own, on the same disk
	lock   *sqlfile.Lock
}

// Stage takes in a copy that Backup has made, and reads it through. It fails with
// ErrInUse while a server or another program has the ledger open, with
// ErrDamaged, and for a newer schema. Nothing is changed yet. Whatever comes of
// it, Drop has to follow.
func Stage(ctx context.Context, backup, file string) (*Staged, error) {
	if err := isOther(backup, file); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("making the ledger's folder: %w", err)
	}
	if err := sqlfile.RefuseNetwork(file); err != nil {
		return nil, err
	}
	lock, err := sqlfile.Exclude(file)
	if err != nil {
		return nil, err
	}
	s := &Staged{file: file, lock: lock}
	if err := s.take(ctx, backup); err != nil {
		return nil, errors.Join(err, s.Drop())
	}
	return s, nil
}

// isOther refuses a ledger as its own backup.
func isOther(backup, file string) error {
	from, err := os.Stat(backup)
	if err != nil {
		return err
	}
	if to, err := os.Stat(file); err == nil && os.SameFile(from, to) {
		return fmt.Errorf("%s is the present ledger itself", backup)
	}
	return nil
}

func (s *Staged) take(ctx context.Context, backup string) (err error) {
	if err := s.alone(); err != nil {
		return err
	}
	// VACUUM reads over some damage; so the original is read through as well
	if _, err := inspect(ctx, backup); err != nil {
		return fmt.Errorf("%s: %w", backup, err)
	}
	if err := s.sweepDead(); err != nil {
		return err
	}
	if s.folder, err = os.MkdirTemp(filepath.Dir(s.file), stagePrefix+"*"); err != nil {
		return fmt.Errorf("copying the backup: %w", err)
	}
	if err := os.WriteFile(s.staged(), nil, 0o600); err != nil { // VACUUM INTO would make it everybody's
		return fmt.Errorf("copying the backup: %w", err)
	}
	s.Holds, err = copyLedger(ctx, backup, s.staged())
	return err
}

const stagePrefix = ".restore-"

// sweepDead removes what restores have left that were killed: whoever has the
// lock is alone.
func (s *Staged) sweepDead() error {
	dir := filepath.Dir(s.file)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), stagePrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func (s *Staged) staged() string { return filepath.Join(s.folder, "ledger.db") }

// alone leaves the present ledger in one file. A damaged one has nobody's
// transactions to lose, and is kept as it is.
func (s *Staged) alone() error {
	if _, err := os.Stat(s.file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := sqlfile.Alone(s.file); err != nil && !sqlfile.Broken(err) {
		return err
	}
	return nil
}

// Put marks the copy as restored, and puts it into the ledger's place. It reports
// how many of its rows are in doubt, and under which name the ledger that was
// there is kept: empty if there was none.
func (s *Staged) Put(ctx context.Context, r ledger.Restoration) (disputed int, aside string, err error) {
	if disputed, err = s.mark(ctx, r); err != nil {
		return 0, "", err
	}
	if err := s.alone(); err != nil {
		return 0, "", err
	}
	file := s.file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	aside, owner := asideName(file, r.At), file
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		aside, owner = "", filepath.Dir(file)
	}
	if err := sqlfile.SameOwner(s.staged(), owner); err != nil {
		return 0, "", err
	}
	return disputed, aside, sqlfile.Put(s.staged(), file, aside)
}

// mark brings the copy up to this program's schema and puts its open rows into
// doubt, while nobody but us can see it.
func (s *Staged) mark(ctx context.Context, r ledger.Restoration) (int, error) {
	d, err := Open(ctx, s.staged(), Options{})
	if err != nil {
		return 0, err
	}
	disputed, err := d.MarkRestored(ctx, r)
	if err := errors.Join(err, d.Close()); err != nil {
		return 0, err
	}
	return disputed, syncFile(s.staged())
}

// asideName is formledger.before-restore-20260304T050607Z.db for formledger.db.
func asideName(file string, at time.Time) string {
	end := filepath.Ext(file)
	return strings.TrimSuffix(file, end) + ".before-restore-" + at.UTC().Format("20060102T150405Z") + end
}

// Drop removes what is left of the copy, and lets others open the ledger again.
func (s *Staged) Drop() error {
	var err error
	if s.folder != "" {
		err = os.RemoveAll(s.folder)
	}
	return errors.Join(err, s.lock.Release())
}
