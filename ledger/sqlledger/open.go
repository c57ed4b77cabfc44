package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"formledger/ledger"
	"formledger/ledger/sqlfile"
)

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
	lock   *sqlfile.Lock
	unlock sync.Once
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
	if err := sqlfile.Prepare(file); err != nil {
		return nil, err
	}
	lock, err := sqlfile.Share(file)
	if err != nil {
		return nil, inUse(file, err)
	}
	d, err := open(ctx, file, o)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	d.lock = lock
	return d, nil
}

func inUse(file string, err error) error {
	if errors.Is(err, sqlfile.ErrInUse) {
		return fmt.Errorf("the ledger %s is being restored right now; please start again when that is done", file)
	}
	return err
}

func open(ctx context.Context, file string, o Options) (*DB, error) {
	if err := refuseForeign(ctx, file); err != nil {
		return nil, fmt.Errorf("opening the ledger %s: %w", file, err)
	}
	w := newWriter(sql.OpenDB(sqlfile.NewConnector(file, sqlfile.Writer)), o)
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
	reader := sql.OpenDB(sqlfile.NewConnector(file, sqlfile.Reader))
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

// refuseForeign looks at a file before WAL mode, which is written into it, would
// change a database that is not ours.
func refuseForeign(ctx context.Context, file string) error {
	db := sql.OpenDB(sqlfile.NewConnector(file, []sqlfile.Pragma{sqlfile.Busy, sqlfile.ReadOnly}))
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
