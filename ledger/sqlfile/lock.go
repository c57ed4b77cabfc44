package sqlfile

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

// ErrInUse says that others have the database open, or are putting another one in
// its place.
var ErrInUse = errors.New("the database is in use")

// Lock is held by whoever has a database open, together with others (Share), or
// alone, to put another one in its place (Exclude). It lies on the database's
// folder, because the file itself changes, and because closing a file that SQLite
// has open would drop SQLite's own locks on it
// (https://www.sqlite.org/howtocorrupt.html section 2.2). The system drops it
// with the process. Where it has no such locks, nobody is kept off.
type Lock struct{ folder *os.File }

// Share keeps off whoever would exchange the database. It fails with ErrInUse
// while somebody does.
func Share(file string) (*Lock, error) { return lock(file, shared) }

// Exclude keeps off everybody who would open the database. It fails with ErrInUse
// if somebody has it open.
func Exclude(file string) (*Lock, error) { return lock(file, exclusive) }

func lock(file string, how int) (*Lock, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil { // it is not made yet
		real = file
	}
	folder, err := os.Open(filepath.Dir(real))
	if err != nil {
		return nil, fmt.Errorf("opening the database's folder: %w", err)
	}
	if err := flock(folder, how); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &Lock{folder}, nil
}

// Release gives the lock back; nil is none.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	return l.folder.Close()
}

// Alone sees to it that no other program has a database open either, such as an
// older formledger or a shell of SQLite's, and moves its log into it, so that the
// file alone is the database. Leaving WAL mode needs the file for oneself: it
// fails with ErrInUse if somebody else is there.
// Source: https://www.sqlite.org/wal.html#persistence_of_wal_mode
func Alone(file string) error {
	db := sql.OpenDB(NewConnector(file, []Pragma{Hurried, Full, {"journal_mode=DELETE", "journal_mode", "delete"}}).withMode("rw"))
	defer db.Close()
	err := db.Ping()
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrBusy {
		return fmt.Errorf("%w: another program has %s open", ErrInUse, file)
	}
	return err
}

// Put moves a database into the place of another one, which is kept under the
// name aside; empty: there is none. There is a whole database in that place at any
// time: nobody can find it empty, and take old enquiries for new ones.
func Put(fresh, file, aside string) error {
	if aside != "" {
		if err := keep(file, aside); err != nil {
			return fmt.Errorf("keeping the present database: %w", err)
		}
	}
	if err := os.Rename(fresh, file); err != nil {
		return fmt.Errorf("putting the database in its place: %w", err)
	}
	return SyncFolder(filepath.Dir(file))
}

// keep gives a database a second name. Only a damaged one, which does not open any
// more, has a log beside it, which must not be taken for the next one's.
func keep(file, aside string) error {
	if err := os.Link(file, aside); err != nil {
		return err
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Rename(file+end, aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
