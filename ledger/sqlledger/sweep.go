package sqlledger

import (
	"context"
	"time"

	"formledger/ledger"
)

// sweepSlice is how many rows one sweeping write changes at most, so that
// enquiries never wait long behind it.
const sweepSlice = 500

// Lapse ends claims whose lease is over; see ledger.Ledger.
func (d *DB) Lapse(ctx context.Context, before, at time.Time) (int, error) {
	return d.inSlices(ctx, func(t *transaction) (int, error) {
		rows, err := t.rows(lapsedRows, millis(before), sweepSlice)
		if err != nil {
			return 0, err
		}
		return t.lapse(rows, at)
	})
}

// LapseClaims ends the given claims; see ledger.Ledger.
func (d *DB) LapseClaims(ctx context.Context, claims []ledger.OpenClaim, at time.Time) (int, error) {
	total := 0
	for _, c := range claims {
		n, err := d.sweep(ctx, func(t *transaction) (int, error) {
			rows, err := t.rows(readRow, c.ID.String())
			if err != nil || len(rows) == 0 || rows[0].Claim != c.Claim {
				return 0, err
			}
			return t.lapse(rows, at)
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// lapse does to claimed rows what their policies say of a lease that passed.
func (t *transaction) lapse(rows []ledger.Submission, at time.Time) (int, error) {
	lapsed := 0
	for _, row := range rows {
		n, changes := row.After(ledger.EndLapsed)
		if !changes {
			continue
		}
		e := ledger.Ended{ID: row.ID, Claim: row.Claim, Cause: causeLapsed, At: at}
		if err := t.bring(row, n, e, ledger.EventLapsed); err != nil {
			return 0, err
		}
		lapsed++
	}
	return lapsed, nil
}

const causeLapsed = "lease_lapsed"

// MarkUnsent puts abandoned rows into the queue; see ledger.Ledger.
func (d *DB) MarkUnsent(ctx context.Context, releasedBefore, at time.Time) (int, error) {
	return d.inSlices(ctx, func(t *transaction) (int, error) {
		rows, err := t.rows(markUnsent, millis(at), millis(releasedBefore), sweepSlice)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			unsent := ledger.Event{Submission: row.ID, At: at, Kind: ledger.EventUnsent, Actor: ledger.ActorSystem}
			if err := t.record(unsent); err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

// inSlices goes on as long as there is a full slice to change.
func (d *DB) inSlices(ctx context.Context, slice func(*transaction) (int, error)) (int, error) {
	for total := 0; ; {
		n, err := d.sweep(ctx, slice)
		total += n
		if err != nil || n < sweepSlice {
			return total, err
		}
	}
}

// sweep is one sweeping write, and reports how many rows it changed.
func (d *DB) sweep(ctx context.Context, slice func(*transaction) (int, error)) (int, error) {
	changed := 0
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		changed, err = slice(t)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return changed, nil
}
