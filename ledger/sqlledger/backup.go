package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"formledger/ledger/sqlfile"
)

// Copied says what a copy of a ledger holds.
type Copied struct {
	Version     int // of the schema
	Rows        int64
	Events      int64
	Kept        int64    // messages whose words are kept
	PayloadKeys []string // the IDs of the keys under which its rows were hashed
	SealKeys    []string // likewise, of those that sealed its words
	LastChange  time.Time
	Bytes       int64
}

// ErrDamaged says that a file is not a whole ledger.
var ErrDamaged = errors.New("the file is not a whole ledger")

// Backup copies the ledger in a file, also while servers write to it, into one
// that must not be there yet. The copy appears under its name only once it is
// whole, has been read through, and is on the disk; it is for its owner alone. No
// key is in it.
//
// It is made by VACUUM INTO, which reads one snapshot. SQLite's other way, the
// backup API, begins again whenever another process has written, which under load
// need never end; and it would copy free pages too, with what was wiped from them.
// Source: https://www.sqlite.org/lang_vacuum.html and https://www.sqlite.org/backup.html
func Backup(ctx context.Context, file, target string) (Copied, error) {
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return Copied{}, errors.Join(fmt.Errorf("%s: %w", target, fs.ErrExist), err)
	}
	lock, err := sqlfile.Share(file)
	if err != nil {
		return Copied{}, inUse(file, err)
	}
	defer lock.Release()
	partial, err := newPartial(target)
	if err != nil {
		return Copied{}, err
	}
	defer os.Remove(partial)
	done, err := copyLedger(ctx, file, partial)
	if err != nil {
		return Copied{}, err
	}
	if err := syncFile(partial); err != nil {
		return Copied{}, fmt.Errorf("writing the copy: %w", err)
	}
	return done, publish(partial, target)
}

// newPartial makes an empty file beside the target: VACUUM INTO takes it as it
// is, and would make one that everybody may read.
func newPartial(target string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".partial-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("writing the copy: %w", err)
	}
	return f.Name(), f.Close()
}

// copyLedger copies a ledger and reads the copy through. Rows are never removed
// from a ledger, so the copy cannot hold fewer than there were before, nor more
// than there are afterwards.
func copyLedger(ctx context.Context, from, to string) (Copied, error) {
	db := sql.OpenDB(sqlfile.NewCopier(from))
	defer db.Close()
	before, err := countRows(ctx, db)
	if err != nil {
		return Copied{}, err
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return Copied{}, damaged(fmt.Errorf("copying the ledger: %w", err))
	}
	done, err := inspect(ctx, to)
	if err != nil {
		return Copied{}, fmt.Errorf("reading the copy through: %w", err)
	}
	after, err := countRows(ctx, db)
	if err == nil && (done.Rows < before || done.Rows > after) {
		err = fmt.Errorf("the copy holds %d rows, and the ledger held %d before and holds %d now", done.Rows, before, after)
	}
	return done, err
}

// countRows refuses what is no ledger of a version that is known here.
func countRows(ctx context.Context, db *sql.DB) (int64, error) {
	version, err := readVersion(ctx, db)
	switch {
	case err != nil:
		return 0, damaged(err)
	case version > schemaVersion:
		return 0, newerSchema(version)
	case version == 0:
		return 0, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	var n int64
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM submissions`).Scan(&n)
	return n, damaged(err)
}

// damaged marks the errors of a file that SQLite cannot make sense of.
func damaged(err error) error {
	if sqlfile.Broken(err) || err != nil && strings.Contains(err.Error(), "no such table") {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// inspect reads a whole ledger, that nobody else works on.
func inspect(ctx context.Context, file string) (Copied, error) {
	db := sql.OpenDB(sqlfile.NewExaminer(file))
	defer db.Close()
	faults, err := texts(ctx, db, `PRAGMA integrity_check(10)`)
	if err != nil {
		return Copied{}, damaged(err)
	}
	if len(faults) != 1 || faults[0] != "ok" {
		return Copied{}, fmt.Errorf("%w: %s", ErrDamaged, strings.Join(faults, "; "))
	}
	var c Copied
	if c.Rows, err = countRows(ctx, db); err != nil {
		return Copied{}, err
	}
	if err := c.read(ctx, db); err != nil {
		return Copied{}, damaged(err)
	}
	info, err := os.Stat(file)
	if err == nil {
		c.Bytes = info.Size()
	}
	return c, err
}

func (c *Copied) read(ctx context.Context, db *sql.DB) (err error) {
	if c.Version, err = readVersion(ctx, db); err != nil {
		return err
	}
	var last int64
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(updated_at), 0) FROM submissions`).Scan(&last); err != nil {
		return err
	}
	c.LastChange = sinceZero(last)
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM events`).Scan(&c.Events); err != nil {
		return err
	}
	// v1.<key id>.<hex>
	if c.PayloadKeys, err = texts(ctx, db, `SELECT DISTINCT substr(payload_hash, 4, instr(substr(payload_hash, 4), '.') - 1) FROM submissions ORDER BY 1`); err != nil {
		return err
	}
	if c.Version < firstWithOutbox {
		return nil
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM outbox`).Scan(&c.Kept); err != nil {
		return err
	}
	c.SealKeys, err = texts(ctx, db, `SELECT DISTINCT seal_key FROM outbox ORDER BY 1`)
	return err
}

func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return collect(rows, scanText)
}

func syncFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// publish gives a whole file its name, and never another file's. A second name
// fails if it is taken; where a filesystem knows no second names (a memory stick's)
// the name is looked at first.
func publish(partial, target string) error {
	err := os.Link(partial, target)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, taken := os.Lstat(target); errors.Is(taken, fs.ErrNotExist) {
			err = os.Rename(partial, target)
		}
	}
	if err != nil {
		return fmt.Errorf("naming the copy: %w", err)
	}
	return sqlfile.SyncFolder(filepath.Dir(target))
}
