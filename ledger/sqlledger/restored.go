package sqlledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// MarkRestored puts into doubt what the copy cannot know; see ledger.Ledger.
func (d *DB) MarkRestored(ctx context.Context, r ledger.Restoration) (int, error) {
	disputed := 0
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		disputed, err = t.markRestored(r)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return disputed, nil
}

func (t *transaction) markRestored(r ledger.Restoration) (int, error) {
	epoch, err := uuid.NewRandom()
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(setMeta, "epoch", epoch.String()); err != nil {
		return 0, err
	}
	if _, err := t.exec(setMeta, "restored_at", strconv.FormatInt(millis(r.At), 10)); err != nil {
		return 0, err
	}
	t.restored = instant(millis(r.At)) // should this be undone, the next write finds out
	rows, err := t.rows(openRows)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if err := t.doubtRestored(row, r); err != nil {
			return 0, err
		}
	}
	return len(rows), t.record(ofLedger(r, ledger.EventRestored))
}

func (t *transaction) doubtRestored(row ledger.Submission, r ledger.Restoration) error {
	if _, err := t.exec(restoreRow, ledger.CauseRestored, millis(r.At), row.ID.String()); err != nil {
		return err
	}
	return t.record(ledger.Event{Submission: row.ID, At: r.At, Kind: ledger.EventRestored, Actor: ledger.Operator(r.By),
		Cause: ledger.CauseRestored, Claim: row.Claim, Note: r.Note})
}

// ofLedger is an event of the ledger itself.
func ofLedger(r ledger.Restoration, kind ledger.EventKind) ledger.Event {
	return ledger.Event{Submission: uuid.Nil, At: r.At, Kind: kind, Actor: ledger.Operator(r.By), Note: r.Note}
}

// Restored is when the database was restored; see ledger.Ledger.
func (d *DB) Restored(ctx context.Context) (time.Time, error) {
	found, err := look(ctx, d, scanText, statements[readRestored])
	if err != nil {
		return time.Time{}, err
	}
	return restoredAt(found)
}

// pendingRestore reads the same inside the writer's transaction.
func (t *transaction) pendingRestore() (time.Time, error) {
	rows, err := t.query(readRestored)
	if err != nil {
		return time.Time{}, err
	}
	found, err := collect(rows, scanText)
	if err != nil {
		return time.Time{}, err
	}
	return restoredAt(found)
}

func restoredAt(found []string) (time.Time, error) {
	if len(found) == 0 {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(found[0], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading when the ledger was restored: %w", err)
	}
	return instant(n), nil
}

// EndRestored makes unseen IDs new ones again; see ledger.Ledger.
func (d *DB) EndRestored(ctx context.Context, r ledger.Restoration) error {
	return d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) error {
		n, err := t.exec(endRestored)
		if err != nil {
			return err
		}
		if n == 0 {
			return ledger.ErrNotRestored
		}
		return t.record(ofLedger(r, ledger.EventRestoreEnded))
	}})
}

// unsure inserts an ID that may have been sent since the copy was made, which the
// ledger therefore has never seen, as a row for the operator. It reports false if
// the ID is as good as any. Another process may have ended the restore meanwhile,
// which this one notices here; without one pending nobody comes here.
func (t *transaction) unsure(n ledger.NewEntry) (ledger.Submission, bool, error) {
	var err error
	if t.restored, err = t.pendingRestore(); err != nil || t.restored.IsZero() || !ledger.MayPredate(n.ID, t.restored, n.At) {
		return ledger.Submission{}, false, err
	}
	if _, err := t.read(n.ID); err != ledger.ErrUnseen {
		return ledger.Submission{}, false, err
	}
	err = t.atomically(func(*transaction) error { return t.storeUnsure(n) })
	if err != nil {
		return ledger.Submission{}, false, err
	}
	row, err := t.read(n.ID)
	return row, true, err
}

func (t *transaction) storeUnsure(n ledger.NewEntry) error {
	id := n.ID.String()
	inserted, err := t.exec(storeUnsure, id, string(ledger.ReferenceOf(n.ID)), n.Form, string(n.Policy), n.PayloadHash,
		millis(n.At), n.AttemptCap, n.ClaimCap, ledger.CauseMayBeRepeat)
	if err != nil {
		return err
	}
	if inserted == 0 {
		return errNoRow
	}
	if n.Policy.KeepsWords() { // so that the operator can have it sent
		if _, err := t.exec(keepWords, id, n.Words.Key, n.Words.Box, millis(n.Due)); err != nil {
			return err
		}
	}
	return t.record(ledger.Event{Submission: n.ID, At: n.At, Kind: ledger.EventRestored, Actor: ledger.ActorSystem, Cause: ledger.CauseMayBeRepeat})
}
