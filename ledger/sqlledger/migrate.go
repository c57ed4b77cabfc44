package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"formledger"
)

// schemaVersion is the version of schema.sql. A database of a newer one is
// refused: an older program would not keep its promises.
const schemaVersion = 3

// upgrades lead from one version to the next, the first one from version 1. They
// are never edited: databases of all versions are about.
var upgrades = []string{
	// to 2: policies queue and retry
	`CREATE TABLE outbox (
    submission   TEXT   NOT NULL PRIMARY KEY,
    seal_key     TEXT   NOT NULL,
    sealed       TEXT   NOT NULL,
    next_attempt BIGINT NOT NULL
);
CREATE INDEX outbox_next ON outbox (next_attempt);`,
	// to 3: old cases can be forgotten
	`DROP TRIGGER events_keep_rows;
CREATE TRIGGER events_keep_rows BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM submissions WHERE id = OLD.submission AND created_at = 0 AND updated_at = 0)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
DROP TRIGGER events_count_up;
CREATE TRIGGER events_count_up BEFORE UPDATE OF times, last_at ON events
WHEN OLD.kind <> 'conflict' AND OLD.kind <> 'forgotten' OR NEW.times <= OLD.times OR NEW.last_at < OLD.last_at
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;`,
}

// migrate makes the schema in an empty database, brings an older one up to date,
// and refuses a newer one. It runs in an immediate transaction, so that of two
// starting processes one waits, and one that dies leaves all as it was.
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
	if version == 0 {
		err = createSchema(ctx, tx)
	} else {
		err = upgrade(ctx, tx, version)
	}
	if err != nil {
		return fmt.Errorf("making the schema of version %d: %w", schemaVersion, err)
	}
	return tx.Commit()
}

func upgrade(ctx context.Context, tx *sql.Tx, from int) error {
	for _, step := range upgrades[from-1:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE meta SET value = ? WHERE name = 'schema_version'`, strconv.Itoa(schemaVersion))
	return err
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
	version, err := strconv.Atoi(text)
	if err == nil && version < 1 {
		err = fmt.Errorf("%d is no version of a schema", version)
	}
	return version, err
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
