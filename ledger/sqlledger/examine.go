package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"formledger/ledger"
	"formledger/ledger/sqlfile"
)

// Examine says whether Open would take the ledger in a file that is there, and
// leaves everything as it is: it makes no schema, does not change the journal's
// mode, and recovers nothing that a process which died has left behind.
// made is false for a file that holds no ledger yet.
func Examine(ctx context.Context, file string) (made bool, err error) {
	if err := sqlfile.RefuseNetwork(file); err != nil {
		return false, err
	}
	db := sql.OpenDB(sqlfile.NewExaminer(file))
	defer db.Close()
	version, err := readVersion(ctx, db)
	if err == nil && version > schemaVersion {
		err = newerSchema(version)
	}
	if err == nil && version > 0 {
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM submissions WHERE needs IS NOT NULL`).Scan(new(int))
	}
	if err != nil {
		return false, fmt.Errorf("reading the ledger %s: %w", file, err)
	}
	return version > 0, nil
}

// ExamineKept counts the messages whose words are kept, and leaves everything as
// it is, as Examine does.
func ExamineKept(ctx context.Context, file string) ([]ledger.Kept, error) {
	db := sql.OpenDB(sqlfile.NewExaminer(file))
	defer db.Close()
	if version, err := readVersion(ctx, db); err != nil || version < firstWithOutbox {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, kept)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger %s: %w", file, err)
	}
	return collect(rows, scanKept)
}

// ExamineRestored is when the ledger was restored, or zero if no restore is
// pending; it leaves everything as it is, as Examine does.
func ExamineRestored(ctx context.Context, file string) (time.Time, error) {
	db := sql.OpenDB(sqlfile.NewExaminer(file))
	defer db.Close()
	if version, err := readVersion(ctx, db); err != nil || version == 0 {
		return time.Time{}, err
	}
	found, err := texts(ctx, db, statements[readRestored])
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the ledger %s: %w", file, err)
	}
	return restoredAt(found)
}

// firstWithOutbox is the version of the schema that came with the outbox.
const firstWithOutbox = 2
