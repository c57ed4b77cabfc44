package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"formledger/ledger"
)

// Watcher tells somebody of messages for which the courier gave up. Telling is
// attempted once for each, and how it went is on record; the message stands in the
// operator's queue whether it went well or not.
type Watcher struct {
	Ledger ledger.Ledger
	Raise  func(context.Context, Alert) error // nil: there is nobody to tell
	Now    func() time.Time
	Log    *slog.Logger
	Every  time.Duration // between two looks
}

const (
	alertsAtOnce  = 100 // of one look
	recordTime    = 10 * time.Second
	codeNoChannel = "no_channel"
)

// Run looks at once and then at the interval, until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	ticker := time.NewTicker(w.Every)
	defer ticker.Stop()
	for {
		if err := w.Once(ctx); err != nil && ctx.Err() == nil {
			w.Log.Error("telling somebody failed", "error", err.Error())
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Once tells somebody of every message of which nobody was told yet. If that
// cannot be recorded, the next look tells once more: an alert twice is better than
// none.
func (w *Watcher) Once(ctx context.Context) error {
	rows, err := w.Ledger.Unalerted(ctx, alertsAtOnce)
	if err != nil {
		return fmt.Errorf("looking for messages that need somebody: %w", err)
	}
	var faults []error
	for _, row := range rows {
		if ctx.Err() != nil {
			break
		}
		if err := w.tell(ctx, row); err != nil {
			faults = append(faults, fmt.Errorf("recording the alert of %s: %w", row.Reference, err))
		}
	}
	return errors.Join(append(faults, ctx.Err())...)
}

// tell attempts one alert, and records how that went.
func (w *Watcher) tell(ctx context.Context, row ledger.Submission) error {
	a := Alert{Reference: string(row.Reference), Form: row.Form, Needs: string(row.Needs), Cause: row.LastError, At: row.UpdatedAt}
	failed := w.raise(ctx, a)
	if failed != nil && ctx.Err() != nil {
		return nil // cut short: the next start tells
	}
	e := ledger.Event{Submission: row.ID, At: w.Now(), Kind: ledger.EventAlerted, Actor: ledger.ActorSystem}
	if failed != nil {
		e.Kind, e.Cause, e.Note = ledger.EventAlertFailed, failed.Code, failed.Why
	}
	w.Log.Warn("a message needs somebody", "reference", a.Reference, "form", a.Form, "needs", a.Needs, "cause", a.Cause, "told", failed == nil, "alert", e.Cause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	return w.Ledger.Record(ctx, e)
}

func (w *Watcher) raise(ctx context.Context, a Alert) *AlertError {
	if w.Raise == nil {
		return &AlertError{codeNoChannel, "no alert channel is configured"}
	}
	err := w.Raise(ctx, a)
	if known, ok := errors.AsType[*AlertError](err); ok || err == nil {
		return known
	}
	return &AlertError{codeUnreachable, "nobody could be told"}
}
