package sqlledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Record adds an event; see ledger.Ledger.
func (d *DB) Record(ctx context.Context, e ledger.Event) error {
	return d.writer.submit(ctx, &write{do: func(t *transaction) error { return t.record(e) }})
}

// record adds an event to a row's record.
func (t *transaction) record(e ledger.Event) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	_, err = t.exec(insertEvent, id.String(), e.Submission.String(), millis(e.At), string(e.Kind), e.Actor,
		text(e.Cause), token(e.Claim), text(e.Note))
	return err
}

// recordOnce adds an event that the row's record does not hold yet, so that
// repeats of an errored write leave one.
func (t *transaction) recordOnce(e ledger.Event) error {
	known, err := t.any(findEvent, e.Submission.String(), string(e.Kind), token(e.Claim), text(e.Cause), text(e.Note))
	if err != nil || known {
		return err
	}
	return t.record(e)
}

// any reports whether there is such an event.
func (t *transaction) any(s statement, args ...any) (bool, error) {
	rows, err := t.query(s, args...)
	if err != nil {
		return false, err
	}
	found, err := collect(rows, scanEvent)
	return len(found) > 0, err
}

// contradict puts a row before the operator, with the evidence on record. On a
// row that is disputed already, a repeat of the same evidence is no event.
func (t *transaction) contradict(e ledger.Event) error {
	n, err := t.exec(dispute, millis(e.At), e.Submission.String())
	if err != nil {
		return err
	}
	if n == 0 {
		return t.recordOnce(e)
	}
	return t.record(e)
}

// Conflict counts other content under an ID; see ledger.Ledger.
func (d *DB) Conflict(ctx context.Context, id uuid.UUID, at time.Time) error {
	return d.writer.submit(ctx, &write{do: func(t *transaction) error {
		event, err := uuid.NewV7()
		if err != nil {
			return err
		}
		_, err = t.exec(countConflict, event.String(), id.String(), millis(at))
		return err
	}})
}
