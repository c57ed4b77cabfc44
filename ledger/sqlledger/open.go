package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-sqlite3"

	"formledger"
	"formledger/ledger"
)

// schemaVersion is the version of schema.sql. A database of a newer one is
// refused: an older program would not keep its promises.
const schemaVersion = 1

// busyTimeout is how long a statement waits for another process's transaction.
const busyTimeout = 5 * time.Second

// busyPause is between two tries of what does not wait by itself.
const busyPause = 5 * time.Millisecond

// Options of a ledger. The zero value is right for production.
type Options struct {
	// MaxBatch is how many callers' writes one transaction takes at most;
	// 0 means 256, 1 means a commit for every write (to measure against).
	MaxBatch int
	Log      *slog.Logger // nil: silent
}

// DB is a ledger in an SQLite database.
type DB struct {
	reader *sql.DB
	slots  chan struct{} // one for each connection of reader
	writer *writer
	row    *sql.Stmt
}

var _ ledger.Ledger = (*DB)(nil)

// Open opens the ledger in a database file, and creates it if it is not there.
// It refuses a network filesystem, a newer schema, and a connection that does
// not take the pragmas on which durability rests.
func Open(ctx context.Context, file string, o Options) (*DB, error) {
	if o.MaxBatch == 0 {
		o.MaxBatch = 256
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := prepareFile(file); err != nil {
		return nil, err
	}
	if err := refuseForeign(ctx, file); err != nil {
		return nil, fmt.Errorf("opening the ledger %s: %w", file, err)
	}
	w := newWriter(sql.OpenDB(newConnector(file, writerPragmas)), o)
	if err := w.start(ctx); err != nil {
		w.db.Close()
		return nil, fmt.Errorf("opening the ledger %s: %w", file, err)
	}
	d, err := openReader(ctx, file, w)
	if err != nil {
		w.close()
		return nil, fmt.Errorf("opening the ledger %s for reading: %w", file, err)
	}
	return d, nil
}

func openReader(ctx context.Context, file string, w *writer) (*DB, error) {
	reader := sql.OpenDB(newConnector(file, readerPragmas))
	readers := 2 * runtime.GOMAXPROCS(0)
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	row, err := reader.PrepareContext(ctx, sqlite(statements[readRow]))
	if err != nil {
		reader.Close()
		return nil, err
	}
	return &DB{reader: reader, slots: make(chan struct{}, readers), writer: w, row: row}, nil
}

// prepareFile makes the file for its owner alone, before SQLite makes it for
// everybody.
func prepareFile(file string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the ledger's folder: %w", err)
	}
	if err := refuseNetwork(file); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the ledger's file: %w", err)
	}
	return f.Close()
}

// refuseForeign looks at a file before WAL mode, which is written into it, would
// change a database that is not ours.
func refuseForeign(ctx context.Context, file string) error {
	db := sql.OpenDB(newConnector(file, []pragma{busyPragma, readOnlyPragma}))
	defer db.Close()
	version, err := readVersion(ctx, db)
	if err == nil && version > schemaVersion {
		err = newerSchema(version)
	}
	return err
}

func newerSchema(version int) error {
	return fmt.Errorf("its schema is version %d, and this formledger knows versions up to %d: please run the newer formledger", version, schemaVersion)
}

// pragma is one setting and the value that must be read back.
type pragma struct{ set, read, want string }

// The driver ignores misspelt settings in its data source name, and a pragma
// run through a pool reaches one connection only; so every new connection is
// set here, and asked what it took.
var (
	busyPragma     = pragma{fmt.Sprintf("busy_timeout=%d", busyTimeout.Milliseconds()), "busy_timeout", fmt.Sprint(busyTimeout.Milliseconds())}
	readOnlyPragma = pragma{"query_only=ON", "query_only", "1"}
	// NORMAL, the driver's default in WAL, loses acknowledged commits when the
	// power fails: https://www.sqlite.org/pragma.html#pragma_synchronous
	fullPragma    = pragma{"synchronous=FULL", "synchronous", "2"}
	writerPragmas = []pragma{
		busyPragma,
		{"journal_mode=WAL", "journal_mode", "wal"},
		fullPragma,
		{"wal_autocheckpoint=4000", "wal_autocheckpoint", "4000"},
		// without it INSERT OR REPLACE would get around the events' trigger
		{"recursive_triggers=ON", "recursive_triggers", "1"},
	}
	readerPragmas = []pragma{
		busyPragma,
		readOnlyPragma,
		{"journal_mode", "journal_mode", "wal"},
		{"mmap_size=268435456", "mmap_size", "268435456"},
	}
)

// connector opens connections with their pragmas set and read back.
type connector struct {
	driver *sqlite3.SQLiteDriver
	source string
}

func newConnector(file string, pragmas []pragma) *connector {
	hook := func(c *sqlite3.SQLiteConn) error { return setPragmas(c, pragmas) }
	return &connector{&sqlite3.SQLiteDriver{ConnectHook: hook}, "file:" + escapePath(file) + "?_txlock=immediate"}
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.source) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

func setPragmas(c *sqlite3.SQLiteConn, pragmas []pragma) error {
	for _, p := range pragmas {
		if err := setPragma(c, p.set); err != nil {
			return fmt.Errorf("setting %s: %w", p.set, err)
		}
		got, err := readPragma(c, p.read)
		if err != nil {
			return fmt.Errorf("reading back %s: %w", p.read, err)
		}
		if got != p.want {
			return fmt.Errorf("the database took %s as %q instead of %q; formledger cannot keep its promises on it", p.read, got, p.want)
		}
	}
	return nil
}

// setPragma repeats what finds the database locked. The change to WAL wants the
// file for itself, and where two connections want it at once SQLite tells one of
// them so without waiting for busy_timeout, as waiting could be a deadlock.
// Source: https://www.sqlite.org/c3ref/busy_handler.html
func setPragma(c *sqlite3.SQLiteConn, set string) error {
	for end := time.Now().Add(busyTimeout); ; time.Sleep(busyPause) {
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

// migrate makes the schema in an empty database and refuses a newer one. It
// runs in an immediate transaction, so that of two starting processes one waits.
func migrate(ctx context.Context, conn *sql.Conn) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := readVersion(ctx, tx)
	switch {
	case err != nil:
		return err
	case version > schemaVersion:
		return newerSchema(version)
	case version == schemaVersion:
		return nil
	}
	if err := createSchema(ctx, tx); err != nil {
		return fmt.Errorf("creating the schema: %w", err)
	}
	return tx.Commit()
}

// queryer is a database or a transaction on it.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readVersion is 0 for an empty database. A file that holds other tables but
// not ours belongs to somebody else.
func readVersion(ctx context.Context, db queryer) (int, error) {
	var tables, ours int
	row := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name = 'meta'), 0) FROM sqlite_schema WHERE type = 'table'`)
	if err := row.Scan(&tables, &ours); err != nil {
		return 0, err
	}
	if tables == 0 {
		return 0, nil
	}
	if ours == 0 {
		return 0, errors.New("the file holds another program's tables; please name a file of its own")
	}
	var text string
	if err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'schema_version'`).Scan(&text); err != nil {
		return 0, fmt.Errorf("reading the schema's version: %w", err)
	}
	return strconv.Atoi(text)
}

func createSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, formledger.Schema+sqliteTriggers); err != nil {
		return err
	}
	epoch, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('schema_version', ?), ('epoch', ?)`,
		strconv.Itoa(schemaVersion), epoch.String())
	return err
}
