package sqlfile

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"
)

// BusyTimeout is how long a statement waits for another process's transaction.
const BusyTimeout = 5 * time.Second

// busyPause is between two tries of what does not wait by itself.
const busyPause = 5 * time.Millisecond

// Pragma is one setting and the value that must be read back.
type Pragma struct{ Set, Read, Want string }

// The driver ignores misspelt settings in its data source name, and a pragma
// run through a pool reaches one connection only; so every new connection is
// set here, and asked what it took.
var (
	// Busy waits for other processes, as long as BusyTimeout.
	Busy = Pragma{fmt.Sprintf("busy_timeout=%d", BusyTimeout.Milliseconds()), "busy_timeout", fmt.Sprint(BusyTimeout.Milliseconds())}
	// Hurried waits for other processes a moment only, where somebody waits for it.
	Hurried = Pragma{"busy_timeout=100", "busy_timeout", "100"}
	// ReadOnly refuses every statement that would write.
	ReadOnly = Pragma{"query_only=ON", "query_only", "1"}
	// Full syncs at every commit. NORMAL, the driver's default in WAL, loses
	// acknowledged commits when the power fails:
	// https://www.sqlite.org/pragma.html#pragma_synchronous
	Full = Pragma{"synchronous=FULL", "synchronous", "2"}
	// Writer is for connections whose commits must be durable.
	Writer = []Pragma{
		Busy,
		{"journal_mode=WAL", "journal_mode", "wal"},
		Full,
		{"wal_autocheckpoint=4000", "wal_autocheckpoint", "4000"},
		// without it INSERT OR REPLACE would get around triggers, as that of the ledger's events
		{"recursive_triggers=ON", "recursive_triggers", "1"},
		// what is deleted is overwritten: sealed words that were wiped are gone from the file
		{"secure_delete=ON", "secure_delete", "1"},
	}
	// Reader is for connections beside a writer's, which has made the log.
	Reader = []Pragma{
		Busy,
		ReadOnly,
		{"journal_mode", "journal_mode", "wal"},
		{"mmap_size=268435456", "mmap_size", "268435456"},
	}
)

func setPragmas(c *sqlite3.SQLiteConn, pragmas []Pragma) error {
	for _, p := range pragmas {
		if err := setPragma(c, p.Set); err != nil {
			return fmt.Errorf("setting %s: %w", p.Set, err)
		}
		got, err := readPragma(c, p.Read)
		if err != nil {
			return fmt.Errorf("reading back %s: %w", p.Read, err)
		}
		if got != p.Want {
			return fmt.Errorf("the database took %s as %q instead of %q; formledger cannot keep its promises on it", p.Read, got, p.Want)
		}
	}
	return nil
}

// setPragma repeats what finds the database locked. The change to WAL wants the
// file for itself, and where two connections want it at once SQLite tells one of
// them so without waiting for busy_timeout, as waiting could be a deadlock.
// Source: https://www.sqlite.org/c3ref/busy_handler.html
func setPragma(c *sqlite3.SQLiteConn, set string) error {
	for end := time.Now().Add(BusyTimeout); ; time.Sleep(busyPause) {
		_, err := c.Exec("PRAGMA "+set, nil)
		var e sqlite3.Error
		busy := errors.As(err, &e) && e.Code == sqlite3.ErrBusy
		if !busy || time.Now().After(end) {
			return err
		}
	}
}

func readPragma(c *sqlite3.SQLiteConn, name string) (string, error) {
	rows, err := c.Query("PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	value := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(value); err != nil {
		return "", err
	}
	return fmt.Sprint(value[0]), nil
}
