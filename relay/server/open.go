package server

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"formledger/ledger/sqlfile"
)

//go:embed calls.sql
var schema string

// schemaVersion is the version of calls.sql. A database of a newer one is
// refused: an older program would not keep its promises.
const schemaVersion = 1

// OpenCalls opens the memory of a relay in a database file, and creates it with
// a fresh epoch if it is not there. It refuses a network filesystem, a newer
// schema, another program's file, and a connection that does not take the
// pragmas on which durability rests.
func OpenCalls(ctx context.Context, file string) (*Calls, error) {
	if err := sqlfile.Prepare(file); err != nil {
		return nil, err
	}
	if err := refuseForeign(ctx, file); err != nil {
		return nil, fmt.Errorf("opening the relay's calls %s: %w", file, err)
	}
	db := sql.OpenDB(sqlfile.NewConnector(file, sqlfile.Writer))
	db.SetMaxOpenConns(1) // SQLite has one writer; a second would wait inside of SQLite instead of here
	epoch, err := migrate(ctx, db)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("opening the relay's calls %s: %w", file, err)
	}
	return newCalls(db, epoch), nil
}

// ExamineCalls says whether OpenCalls would take a file that is there, and which
// epoch it holds. It leaves everything as it is: it makes no schema, does not
// change the journal's mode, and recovers nothing that a process which died has
// left behind. made is false, and epoch empty, for a file that holds no calls yet.
func ExamineCalls(ctx context.Context, file string) (made bool, epoch string, err error) {
	if err := sqlfile.RefuseNetwork(file); err != nil {
		return false, "", err
	}
	db := sql.OpenDB(sqlfile.NewExaminer(file))
	defer db.Close()
	version, err := readVersion(ctx, db)
	if err == nil && version > 0 {
		epoch, err = readEpoch(ctx, db)
	}
	if err != nil {
		return false, "", fmt.Errorf("reading the relay's calls %s: %w", file, err)
	}
	return version > 0, epoch, nil
}

// refuseForeign looks at a file before WAL mode, which is written into it, would
// change a database that is not ours.
func refuseForeign(ctx context.Context, file string) error {
	db := sql.OpenDB(sqlfile.NewConnector(file, []sqlfile.Pragma{sqlfile.Busy, sqlfile.ReadOnly}))
	defer db.Close()
	_, err := readVersion(ctx, db)
	return err
}

// migrate makes the schema in an empty database, and returns the epoch. It runs
// in an immediate transaction, so that of two starting processes one waits.
func migrate(ctx context.Context, db *sql.DB) (epoch string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	version, err := readVersion(ctx, tx)
	if err != nil {
		return "", err
	}
	if version == schemaVersion {
		return readEpoch(ctx, tx)
	}
	if epoch, err = create(ctx, tx); err != nil {
		return "", fmt.Errorf("creating the schema: %w", err)
	}
	return epoch, tx.Commit()
}

func create(ctx context.Context, tx *sql.Tx) (string, error) {
	epoch, err := uuid.NewRandom()
	if err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return "", err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('calls_version', ?), ('epoch', ?)`,
		strconv.Itoa(schemaVersion), epoch.String())
	return epoch.String(), err
}

// queryer is a database, a connection, or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readVersion is 0 for an empty database. A file that holds other tables but
// not ours belongs to somebody else, be it a form server's ledger.
func readVersion(ctx context.Context, db queryer) (int, error) {
	var tables, ours int
	row := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name IN ('calls', 'meta')), 0) FROM sqlite_schema WHERE type = 'table'`)
	if err := row.Scan(&tables, &ours); err != nil {
		return 0, err
	}
	if tables == 0 {
		return 0, nil
	}
	if ours != 2 {
		return 0, errors.New("the file holds another program's tables; please name a file of its own")
	}
	text, err := readMeta(ctx, db, "calls_version")
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(text)
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("its schema is version %d, and this formledger knows versions up to %d: please run the newer formledger", version, schemaVersion)
	}
	return version, err
}

func readEpoch(ctx context.Context, db queryer) (string, error) { return readMeta(ctx, db, "epoch") }

func readMeta(ctx context.Context, db queryer, name string) (value string, err error) {
	err = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, name).Scan(&value)
	if err != nil {
		return "", fmt.Errorf("reading its %s: %w", name, err)
	}
	return value, nil
}
