package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Outbox reads the sealed words of a row; see ledger.Ledger.
func (d *DB) Outbox(ctx context.Context, id uuid.UUID) (ledger.Entry, error) {
	return only(look(ctx, d, scanEntry, statements[readWords], id.String()))
}

// outbox reads the sealed words of a row inside the writer's transaction.
func (t *transaction) outbox(id uuid.UUID) (ledger.Entry, error) {
	rows, err := t.query(readWords, id.String())
	if err != nil {
		return ledger.Entry{}, err
	}
	return only(collect(rows, scanEntry))
}

func only(found []ledger.Entry, err error) (ledger.Entry, error) {
	if err != nil {
		return ledger.Entry{}, err
	}
	if len(found) == 0 {
		return ledger.Entry{}, ledger.ErrNoWords
	}
	return found[0], nil
}

func scanEntry(rows *sql.Rows) (e ledger.Entry, err error) {
	var next int64
	err = rows.Scan(&e.Words.Key, &e.Words.Box, &next)
	e.Next = instant(next)
	return e, err
}

// due starts from the outbox, which holds open rows alone: SQLite takes the tables
// of a CROSS JOIN in this order, where it would else go through all open rows.
// Source: https://www.sqlite.org/optoverview.html section 8.2
const due = `SELECT ` + columns + ` FROM outbox CROSS JOIN submissions
 WHERE id = submission AND (next_attempt <= $1 OR next_attempt > $2) AND policy = $3 AND ` + waiting + `
 ORDER BY created_at, id LIMIT $4`

// Due lists what the courier may take; see ledger.Ledger.
func (d *DB) Due(ctx context.Context, q ledger.Due) ([]ledger.Submission, error) {
	return look(ctx, d, scanRow, due, millis(q.At), millis(q.At.Add(q.Horizon)), string(q.Policy), limit(q.Limit))
}

// unalerted starts from the operator's queue. An alert of the same millisecond
// came after the change, as nobody alerts of what has not happened.
const unalerted = `SELECT ` + columns + ` FROM submissions WHERE needs IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM events told WHERE told.submission = submissions.id AND told.at >= submissions.updated_at
  AND told.kind IN ('alerted', 'alert_failed'))
 ORDER BY created_at, id LIMIT $1`

// Unalerted lists rows that nobody was told of; see ledger.Ledger.
func (d *DB) Unalerted(ctx context.Context, most int) ([]ledger.Submission, error) {
	return look(ctx, d, scanRow, unalerted, limit(most))
}

// limit is that of a statement; 0 means all.
func limit(n int) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return int64(n)
}

const kept = `SELECT form, seal_key, count(*) FROM outbox CROSS JOIN submissions WHERE id = submission
 GROUP BY form, seal_key ORDER BY form, seal_key`

// Kept counts the messages whose words are kept; see ledger.Ledger.
func (d *DB) Kept(ctx context.Context) ([]ledger.Kept, error) {
	return look(ctx, d, scanKept, kept)
}

func scanKept(rows *sql.Rows) (k ledger.Kept, err error) {
	err = rows.Scan(&k.Form, &k.Key, &k.Rows)
	return k, err
}

// relayState is how meta holds the state of the relay: milliseconds UTC, 0 for
// no time.
type relayState struct {
	FailingSince int64  `json:"failing_since"`
	NextTry      int64  `json:"next_try"`
	Cause        string `json:"cause"`
}

// RelayState reads how the relay does; see ledger.Ledger.
func (d *DB) RelayState(ctx context.Context) (ledger.RelayState, error) {
	found, err := look(ctx, d, scanText, `SELECT value FROM meta WHERE name = 'relay_state'`)
	if err != nil || len(found) == 0 {
		return ledger.RelayState{}, err
	}
	var s relayState
	if err := json.Unmarshal([]byte(found[0]), &s); err != nil {
		return ledger.RelayState{}, fmt.Errorf("reading the state of the relay: %w", err)
	}
	return ledger.RelayState{FailingSince: sinceZero(s.FailingSince), NextTry: sinceZero(s.NextTry), Cause: s.Cause}, nil
}

func scanText(rows *sql.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

// SetRelayState keeps how the relay does; see ledger.Ledger.
func (d *DB) SetRelayState(ctx context.Context, s ledger.RelayState) error {
	value, err := json.Marshal(relayState{zeroMillis(s.FailingSince), zeroMillis(s.NextTry), s.Cause})
	if err != nil {
		return err
	}
	return d.writer.submit(ctx, &write{do: func(t *transaction) error {
		_, err := t.exec(setRelayState, string(value))
		return err
	}})
}

func zeroMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return millis(t)
}

func sinceZero(n int64) time.Time { return maybeInstant(sql.NullInt64{Int64: n, Valid: n != 0}) }
