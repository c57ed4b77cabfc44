package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// recordsAtOnce are written in one commit, so that enquiries, which share it, do
// not wait for thousands.
const recordsAtOnce = 32

// recordAll records how an alert went with every row.
func (w *Watcher) recordAll(ctx context.Context, rows []ledger.Submission, told []Told) error {
	ctx = context.WithoutCancel(ctx) // it was told, so it is recorded
	var faults []error
	for len(rows) > 0 {
		slice := rows[:min(recordsAtOnce, len(rows))]
		rows = rows[len(slice):]
		errs := make([]error, len(slice))
		var writes sync.WaitGroup
		for i, row := range slice {
			writes.Go(func() { errs[i] = w.recordOne(ctx, row, told) })
		}
		writes.Wait()
		faults = append(faults, errors.Join(errs...))
	}
	return errors.Join(faults...)
}

// recordOne dates an alert no earlier than the row's last change, so that a clock
// that was set back makes no storm of alerts.
func (w *Watcher) recordOne(ctx context.Context, row ledger.Submission, told []Told) error {
	at := w.Now()
	if at.Before(row.UpdatedAt) {
		at = row.UpdatedAt
	}
	if err := w.record(ctx, row.ID, at, ledger.EventAlerted, told); err != nil {
		return fmt.Errorf("recording the alert of %s: %w", row.Reference, err)
	}
	return nil
}

// record notes each channel that failed and, if one took the alert, that somebody
// was told.
func (w *Watcher) record(ctx context.Context, id uuid.UUID, at time.Time, kind ledger.EventKind, told []Told) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	var took []string
	var faults []error
	e := ledger.Event{Submission: id, At: at, Actor: ledger.ActorSystem}
	for _, t := range told {
		if t.Err == nil {
			took = append(took, t.Channel)
			continue
		}
		e.Kind, e.Cause, e.Note = ledger.EventAlertFailed, t.Err.Code, t.note()
		faults = append(faults, w.Ledger.Record(ctx, e))
	}
	if len(took) > 0 {
		e.Kind, e.Cause, e.Note = kind, "", "by "+strings.Join(took, ", ")
		faults = append(faults, w.Ledger.Record(ctx, e))
	}
	return errors.Join(faults...)
}

func (t Told) note() string {
	if t.Channel == "" {
		return t.Err.Why
	}
	return t.Channel + ": " + t.Err.Why
}
