package sqlledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// sweepSlice is how many rows one sweeping write changes at most, so that
// enquiries never wait long behind it.
const sweepSlice = 500

// Lapse ends claims whose lease is over; see ledger.Ledger.
func (d *DB) Lapse(ctx context.Context, before, at time.Time) (int, error) {
	lapsed := ledger.Event{At: at, Kind: ledger.EventLapsed, Actor: ledger.ActorSystem, Cause: causeLapsed}
	return d.inSlices(ctx, lapsed, lapseBefore, millis(at), millis(before), sweepSlice)
}

// LapseClaims ends the given claims; see ledger.Ledger.
func (d *DB) LapseClaims(ctx context.Context, claims []ledger.OpenClaim, at time.Time) (int, error) {
	lapsed := ledger.Event{At: at, Kind: ledger.EventLapsed, Actor: ledger.ActorSystem, Cause: causeLapsed}
	total := 0
	for _, c := range claims {
		n, err := d.sweep(ctx, lapsed, lapseClaim, millis(at), c.ID.String(), c.Claim.String())
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// MarkUnsent puts abandoned rows into the queue; see ledger.Ledger.
func (d *DB) MarkUnsent(ctx context.Context, releasedBefore, at time.Time) (int, error) {
	unsent := ledger.Event{At: at, Kind: ledger.EventUnsent, Actor: ledger.ActorSystem}
	return d.inSlices(ctx, unsent, markUnsent, millis(at), millis(releasedBefore), sweepSlice)
}

func (d *DB) inSlices(ctx context.Context, e ledger.Event, s statement, args ...any) (int, error) {
	for total := 0; ; {
		n, err := d.sweep(ctx, e, s, args...)
		total += n
		if err != nil || n < sweepSlice {
			return total, err
		}
	}
}

// sweep runs one update that returns the rows it changed, with an event each.
func (d *DB) sweep(ctx context.Context, e ledger.Event, s statement, args ...any) (int, error) {
	changed := 0
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) error {
		swept, err := t.changed(s, args...)
		if err != nil {
			return err
		}
		for _, c := range swept {
			e.Submission, e.Claim = c.ID, c.Claim
			if err := t.record(e); err != nil {
				return err
			}
		}
		changed = len(swept)
		return nil
	}})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

func (t *transaction) changed(s statement, args ...any) ([]ledger.OpenClaim, error) {
	rows, err := t.query(s, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(rows *sql.Rows) (c ledger.OpenClaim, err error) {
		var id string
		var claim sql.NullString
		if err = rows.Scan(&id, &claim); err != nil {
			return c, err
		}
		if c.ID, err = uuid.Parse(id); err != nil {
			return c, err
		}
		c.Claim, err = parseToken(claim)
		return c, err
	})
}
