package desk

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

const (
	relayPatience = 2 * time.Minute
	remindAgain   = 24 * time.Hour
	askEvery      = 15 * time.Second
	countEvery    = time.Minute
)

// lookAtRelay tells once that the relay is not reached, and once that it is again.
// What was told is on the ledger's own record.
func (w *Watcher) lookAtRelay(ctx context.Context) error {
	if len(w.Channels) == 0 || w.lately("relay", askEvery) {
		return nil
	}
	state, err := w.Ledger.RelayState(ctx)
	if err != nil {
		return fmt.Errorf("looking how the relay does: %w", err)
	}
	kind, due, err := w.relayNews(ctx, state)
	if err != nil || !due || w.justCalled(kind) {
		return err
	}
	return w.onDuty(ctx, func() error {
		if kind, due, err = w.relayNews(ctx, state); err != nil || !due {
			return err
		}
		a := Alert{Kind: kind, At: w.Now(), Relay: state, ID: fmt.Sprintf("alert_%s_%d", eventOfAlert(kind), w.Now().UnixMilli())}
		return w.call(ctx, a)
	})
}

// relayNews is what there is to tell of the relay, beside what was told last.
func (w *Watcher) relayNews(ctx context.Context, state ledger.RelayState) (AlertKind, bool, error) {
	failing, since := !state.FailingSince.IsZero(), w.Now().Sub(state.FailingSince)
	if failing && since >= 0 && since < relayPatience {
		return "", false, nil
	}
	told, err := w.lastOf(ctx, ledger.EventRelayFailing, ledger.EventRelayRecovered)
	if failing {
		return RelayFailing, told.Kind != ledger.EventRelayFailing, err
	}
	return RelayRecovered, told.Kind == ledger.EventRelayFailing, err
}

// lookAtAge tells once more of a queue that has waited long: when another reference
// has, and else once a day.
func (w *Watcher) lookAtAge(ctx context.Context) error {
	if len(w.Channels) == 0 || w.justCalled(StillOpen) || w.lately("age", countEvery) {
		return nil
	}
	now := w.Now()
	rows, due, err := w.overdue(ctx, now)
	if err != nil || !due {
		return err
	}
	return w.onDuty(ctx, func() error {
		if rows, due, err = w.overdue(ctx, now); err != nil || !due {
			return err
		}
		a := alertAbout(StillOpen, rows, w.Console, now)
		a.ID += fmt.Sprintf("_%d", now.Unix()/int64(countEvery.Seconds()))
		return w.call(ctx, a)
	})
}

// overdue is the whole queue, and whether it is time to tell of it.
func (w *Watcher) overdue(ctx context.Context, now time.Time) ([]ledger.Submission, bool, error) {
	last, err := w.lastOf(ctx, ledger.EventReminded)
	if err != nil {
		return nil, false, fmt.Errorf("looking when somebody was reminded: %w", err)
	}
	reminded := last.At
	if reminded.After(now) { // it was noted by a clock that has been set back
		reminded = w.reminded
	}
	since := now.Sub(reminded)
	if !reminded.IsZero() && since < min(w.Older, remindAgain) {
		return nil, false, nil
	}
	rows, err := w.Ledger.List(ctx, ledger.Filter{NeedsSomebody: true})
	if err != nil {
		return nil, false, fmt.Errorf("looking for what has waited long: %w", err)
	}
	for _, row := range rows {
		age := now.Sub(row.UpdatedAt)
		another := age >= w.Older && row.UpdatedAt.Add(w.Older).After(reminded)
		old := age >= w.Older || age < -w.Older // far ahead: noted by a clock that has been set back since
		if another || old && since >= remindAgain {
			return rows, true, nil
		}
	}
	return nil, false, nil
}

// lately reports whether something was looked at so short a while ago, and notes
// the look if not.
func (w *Watcher) lately(what string, pause time.Duration) bool {
	now := w.Now()
	at, looked := w.looked[what]
	if since := now.Sub(at); looked && since >= 0 && since < pause {
		return true
	}
	if w.looked == nil {
		w.looked = map[string]time.Time{}
	}
	w.looked[what] = now
	return false
}

// call raises an alert that is about no single row, and records it as the
// ledger's own: later than the one before, whatever the clock says.
func (w *Watcher) call(ctx context.Context, a Alert) error {
	last, err := w.lastOf(ctx, ledger.EventRelayFailing, ledger.EventRelayRecovered, ledger.EventReminded)
	if err != nil {
		return err
	}
	told := w.raise(ctx, a)
	if !anybody(told) && ctx.Err() != nil {
		return nil
	}
	w.noteCall(a.Kind)
	at := w.Now()
	if !at.After(last.At) {
		at = last.At.Add(time.Millisecond)
	}
	if err := w.record(context.WithoutCancel(ctx), uuid.Nil, at, eventOfAlert(a.Kind), told); err != nil {
		return fmt.Errorf("recording that %s was told: %w", a.Kind, err)
	}
	if anybody(told) {
		delete(w.called, a.Kind)
	}
	return nil
}

func (w *Watcher) noteCall(kind AlertKind) {
	if w.called == nil {
		w.called = map[AlertKind]time.Time{}
	}
	w.called[kind] = w.Now()
	if kind == StillOpen {
		w.reminded = w.Now()
	}
}

// justCalled: no channel took it a short while ago, or it could not be recorded.
func (w *Watcher) justCalled(kind AlertKind) bool {
	since := w.Now().Sub(w.called[kind])
	return !w.called[kind].IsZero() && since >= 0 && since < tryAgain
}

func eventOfAlert(kind AlertKind) ledger.EventKind {
	switch kind {
	case RelayFailing:
		return ledger.EventRelayFailing
	case RelayRecovered:
		return ledger.EventRelayRecovered
	}
	return ledger.EventReminded
}

// lastOf is the newest event of the ledger itself of one of the kinds.
func (w *Watcher) lastOf(ctx context.Context, kinds ...ledger.EventKind) (last ledger.Event, err error) {
	events, err := w.Ledger.Events(ctx, uuid.Nil)
	for _, e := range events {
		for _, kind := range kinds {
			if e.Kind == kind {
				last = e
			}
		}
	}
	return last, err
}
