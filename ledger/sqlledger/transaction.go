package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// transaction is the writer's connection, with its prepared statements and the
// transaction that is open on it. Everything runs under a context that nobody
// can cancel: a cancelled statement rolls its transaction back, and the next
// statement would commit outside of it.
type transaction struct {
	conn       *sql.Conn
	prepared   [statementCount]*sql.Stmt
	beginStmt  *sql.Stmt
	commitStmt *sql.Stmt
	*notes
}

// notes are what the writer knows beyond its connections.
type notes struct {
	untidy   bool      // wiped words may still lie in the log, as also at the start
	restored time.Time // zero: no restore is pending
}

var uncancelled = context.Background()

func connect(db *sql.DB, n *notes) (*transaction, error) {
	conn, err := db.Conn(uncancelled)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	t := &transaction{conn: conn, notes: n}
	if err := t.prepare(); err != nil {
		t.discard()
		return nil, err
	}
	return t, nil
}

func (t *transaction) prepare() (err error) {
	for i, text := range statements {
		if t.prepared[i], err = t.conn.PrepareContext(uncancelled, sqlite(text)); err != nil {
			return fmt.Errorf("preparing %q: %w", text, err)
		}
	}
	if t.beginStmt, err = t.conn.PrepareContext(uncancelled, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t.commitStmt, err = t.conn.PrepareContext(uncancelled, "COMMIT")
	return err
}

func (t *transaction) begin() error {
	_, err := t.beginStmt.ExecContext(uncancelled)
	return err
}

func (t *transaction) commit() error {
	_, err := t.commitStmt.ExecContext(uncancelled)
	return err
}

// carry runs one caller's work. If it fails for a reason of its own, its
// statements are undone and the others' stand.
func (t *transaction) carry(op *write) error {
	if !op.atomic {
		return op.do(t)
	}
	return t.atomically(op.do)
}

// atomically runs statements that stand or fall together. It may be nested.
// Source: https://www.sqlite.org/lang_savepoint.html
func (t *transaction) atomically(do func(*transaction) error) error {
	if _, err := t.conn.ExecContext(uncancelled, "SAVEPOINT caller"); err != nil {
		return err
	}
	err := do(t)
	if err != nil && !endsTransaction(err) {
		if _, undo := t.conn.ExecContext(uncancelled, "ROLLBACK TO caller"); undo != nil {
			return undo
		}
	}
	if endsTransaction(err) {
		return err
	}
	if _, release := t.conn.ExecContext(uncancelled, "RELEASE caller"); release != nil {
		return release
	}
	return err
}

// exec runs a prepared statement and reports how many rows it changed.
func (t *transaction) exec(s statement, args ...any) (int64, error) {
	result, err := t.prepared[s].ExecContext(uncancelled, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *transaction) query(s statement, args ...any) (*sql.Rows, error) {
	return t.prepared[s].QueryContext(uncancelled, args...)
}

func (t *transaction) close() {
	if t != nil {
		t.finalize()
		t.conn.Close()
	}
}

// finalize closes the statements: the pool does not do so for those of a single
// connection, and with one left open SQLite keeps the connection, its locks and
// its transaction. Source: https://www.sqlite.org/c3ref/close.html
func (t *transaction) finalize() {
	for _, s := range append(t.prepared[:], t.beginStmt, t.commitStmt) {
		if s != nil {
			s.Close()
		}
	}
}

// discard closes the connection itself instead of giving it back to the pool,
// which rolls back what is open on it.
func (t *transaction) discard() {
	if t == nil {
		return
	}
	t.finalize()
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	t.conn.Close()
}

var errNoClaim = errors.New("the write names no claim")

var errNoRow = errors.New("nothing was inserted, and there is no such row: a constraint of the schema refused it")
