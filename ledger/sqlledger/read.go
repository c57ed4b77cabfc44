package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Reads wait for a connection as long as their context lets them, and then run
// to their end: a context that can be cancelled costs the driver a goroutine for
// every statement, and these statements are short.

// enter waits for one of the readers' connections; leave gives it back.
func (d *DB) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting to read the ledger: %w", ctx.Err())
	}
}

func (d *DB) leave() { <-d.slots }

// Submission reads one row; see ledger.Ledger.
func (d *DB) Submission(ctx context.Context, id uuid.UUID) (ledger.Submission, error) {
	if err := d.enter(ctx); err != nil {
		return ledger.Submission{}, err
	}
	defer d.leave()
	row, err := one(d.row.QueryContext(uncancelled, id.String()))
	return row, d.writer.notice(err)
}

// rows reads the rows of a statement inside the writer's transaction.
func (t *transaction) rows(s statement, args ...any) ([]ledger.Submission, error) {
	rows, err := t.query(s, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scanRow)
}

// read reads a row inside the writer's transaction, in a new statement.
func (t *transaction) read(id uuid.UUID) (ledger.Submission, error) {
	return one(t.query(readRow, id.String()))
}

func one(rows *sql.Rows, err error) (ledger.Submission, error) {
	if err != nil {
		return ledger.Submission{}, err
	}
	found, err := collect(rows, scanRow)
	if err != nil {
		return ledger.Submission{}, err
	}
	if len(found) == 0 {
		return ledger.Submission{}, ledger.ErrUnseen
	}
	return found[0], nil
}

// ByReference reads all rows of a reference; see ledger.Ledger.
func (d *DB) ByReference(ctx context.Context, ref ledger.Reference) ([]ledger.Submission, error) {
	return d.list(ctx, `WHERE reference = $1 ORDER BY created_at, id`, string(ref))
}

// List reads rows, oldest first; see ledger.Ledger.
func (d *DB) List(ctx context.Context, f ledger.Filter) ([]ledger.Submission, error) {
	where := `WHERE ($2 = '' OR status = $2) AND ($3 = '' OR form = $3) AND ($4 = '' OR needs = $4) `
	if f.NeedsSomebody || f.Needs != ledger.NeedsNobody { // the index on needs is for this condition
		where += `AND needs IS NOT NULL `
	}
	if f.Waiting {
		where += `AND (policy = 'queue' OR policy = 'retry') AND ` + waiting + ` `
	}
	return d.list(ctx, where+`ORDER BY created_at, id LIMIT $1`, limit(f.Limit), string(f.Status), f.Form, string(f.Needs))
}

func (d *DB) list(ctx context.Context, rest string, args ...any) ([]ledger.Submission, error) {
	return look(ctx, d, scanRow, `SELECT `+columns+` FROM submissions `+rest, args...)
}

// look runs one query on a reader's connection.
func look[T any](ctx context.Context, d *DB, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	defer d.leave()
	rows, err := d.reader.QueryContext(uncancelled, sqlite(query), args...)
	if err != nil {
		return nil, d.writer.notice(err)
	}
	all, err := collect(rows, scan)
	return all, d.writer.notice(err)
}

// Events reads the record of one row; see ledger.Ledger.
func (d *DB) Events(ctx context.Context, id uuid.UUID) ([]ledger.Event, error) {
	return look(ctx, d, scanEvent, `SELECT `+eventColumns+` FROM events WHERE submission = $1 ORDER BY at, id`, id.String())
}

// EventsSince reads the record across all rows; see ledger.Ledger. The IDs grow
// with time, so that the newest are found first, and without sorting.
func (d *DB) EventsSince(ctx context.Context, f ledger.EventFilter) ([]ledger.Event, error) {
	since := int64(0)
	if !f.Since.IsZero() {
		since = millis(f.Since)
	}
	newest, err := look(ctx, d, scanEvent, `SELECT `+eventColumns+` FROM events
 WHERE last_at >= $1 AND ($2 = '' OR kind = $2) ORDER BY id DESC LIMIT $3`, since, string(f.Kind), limit(f.Limit))
	slices.Reverse(newest)
	return newest, err
}

// OpenClaims lists the claims under which a send may be under way.
func (d *DB) OpenClaims(ctx context.Context) ([]ledger.OpenClaim, error) {
	rows, err := d.list(ctx, `WHERE status = 'processing' AND claim IS NOT NULL ORDER BY lease_until`)
	if err != nil {
		return nil, err
	}
	open := make([]ledger.OpenClaim, 0, len(rows))
	for _, r := range rows {
		open = append(open, ledger.OpenClaim{ID: r.ID, Claim: r.Claim, LeaseUntil: r.LeaseUntil})
	}
	return open, nil
}

// Ping reports whether the database answers, and whether it can be trusted.
func (d *DB) Ping(ctx context.Context) error {
	if d.writer.isBroken() {
		return d.writer.cause
	}
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	var epoch string
	return d.writer.notice(d.reader.QueryRowContext(uncancelled, `SELECT value FROM meta WHERE name = 'epoch'`).Scan(&epoch))
}

// Broken is closed when the database has failed in a way that only a restart
// can cure: the process then has to end.
func (d *DB) Broken() <-chan struct{} { return d.writer.broken }

// Close finishes what was handed over and closes the database.
func (d *DB) Close() error {
	err := errors.Join(d.writer.close(), d.row.Close(), d.reader.Close())
	d.unlock.Do(func() { err = errors.Join(err, d.lock.Release()) })
	return err
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("reading a row: %w", err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func scanRow(rows *sql.Rows) (s ledger.Submission, err error) {
	var id string
	var created, updated, doubted int64
	var lease, closed sql.NullInt64
	var claim, epoch, lastError, acceptedBy, receipt, needs sql.NullString
	err = rows.Scan(&id, &s.Reference, &s.Form, &s.Policy, &s.PayloadHash, &s.Status, &created,
		&claim, &lease, &epoch, &s.Claims, &s.ClaimCap, &s.Attempts, &s.AttemptCap, &doubted,
		&lastError, &acceptedBy, &receipt, &updated, &closed, &needs)
	if err != nil {
		return s, err
	}
	s.CreatedAt, s.UpdatedAt, s.Doubted = sinceZero(created), sinceZero(updated), doubted == 1
	s.LeaseUntil, s.ClosedAt = maybeInstant(lease), maybeInstant(closed)
	s.RelayEpoch, s.LastError, s.AcceptedBy = epoch.String, lastError.String, acceptedBy.String
	s.Receipt, s.Needs = receipt.String, ledger.Need(needs.String)
	if s.ID, err = uuid.Parse(id); err != nil {
		return s, err
	}
	s.Claim, err = parseToken(claim)
	return s, err
}

func scanEvent(rows *sql.Rows) (e ledger.Event, err error) {
	var id, submission string
	var at, last int64
	var cause, claim, note sql.NullString
	if err = rows.Scan(&id, &submission, &at, &e.Kind, &e.Actor, &cause, &claim, &note, &e.Times, &last); err != nil {
		return e, err
	}
	e.At, e.LastAt, e.Cause, e.Note = instant(at), instant(last), cause.String, note.String
	if e.ID, err = uuid.Parse(id); err != nil {
		return e, err
	}
	if e.Submission, err = uuid.Parse(submission); err != nil {
		return e, err
	}
	e.Claim, err = parseToken(claim)
	return e, err
}

func parseToken(s sql.NullString) (ledger.Token, error) {
	if !s.Valid {
		return ledger.Token{}, nil
	}
	return ledger.ParseToken(s.String)
}

func millis(t time.Time) int64       { return t.UnixMilli() }
func instant(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

func maybeInstant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return instant(n.Int64)
}

// text, token and number are how optional values are stored.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func token(t ledger.Token) any {
	if t.IsZero() {
		return nil
	}
	return t.String()
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
