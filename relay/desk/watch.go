package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"formledger/ledger"
)

// Watcher tells somebody of what needs them: of references, once for each time that
// they come to need somebody; of a queue that waits; and of a relay that is not
// reached. Telling is attempted once, on all channels, and how it went is on record.
// A message stands in the operator's queue whether it went well or not.
//
// Of several processes on one ledger one tells at a time. One that is cut off, or
// cannot record that it told, has the next tell once more: an alert twice is better
// than none.
type Watcher struct {
	Ledger   ledger.Ledger
	Channels []Channel // none: there is nobody to tell
	Console  string    // where its pages are reached; empty: there are none
	Now      func() time.Time
	Log      *slog.Logger

	Every  time.Duration // between two looks
	Gather time.Duration // how long references gather for one message
	Older  time.Duration // a queue that has waited so long is told of once more
	Holder ledger.Token  // by which this process is told from others

	last     time.Time               // when references were told of
	reminded time.Time               // when this process told of the queue's age
	called   map[AlertKind]time.Time // when what no channel took was tried
	looked   map[string]time.Time
}

const (
	// urgentGather is for what does not go on by itself. With a look every 5
	// seconds, nobody waits for longer than 10.
	urgentGather = 5 * time.Second
	dutyTime     = time.Minute
	dutyName     = "alerts"
	recordTime   = 10 * time.Second
	// tryAgain is between two tries of what is nobody's record yet, while no channel
	// takes it.
	tryAgain = 15 * time.Minute
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

// Once looks, and tells what there is to tell.
func (w *Watcher) Once(ctx context.Context) error {
	return errors.Join(w.lookForRows(ctx), w.lookAtRelay(ctx), w.lookAtAge(ctx), ctx.Err())
}

// lookForRows tells of the references of which nobody was told yet, all in one
// message, unless others are better waited for.
func (w *Watcher) lookForRows(ctx context.Context) error {
	rows, err := w.Ledger.Unalerted(ctx, 0)
	if err != nil {
		return fmt.Errorf("looking for messages that need somebody: %w", err)
	}
	if len(rows) == 0 || !w.ripe(rows) {
		return nil
	}
	return w.onDuty(ctx, func() error {
		rows, err := w.Ledger.Unalerted(ctx, 0) // another process may have told meanwhile
		if err != nil || len(rows) == 0 {
			return err
		}
		return w.tellOf(ctx, rows)
	})
}

// ripe: the first after a quiet time is told of at once, and the next gather.
func (w *Watcher) ripe(rows []ledger.Submission) bool {
	since := w.Now().Sub(w.last)
	if w.last.IsZero() || since < 0 || since >= w.Gather {
		return true
	}
	for _, row := range rows {
		if row.Needs == ledger.NeedsStopped || row.Needs == ledger.NeedsDisputed {
			return since >= urgentGather
		}
	}
	return false
}

// tellOf tells of rows in one message, and records how that went with each.
func (w *Watcher) tellOf(ctx context.Context, rows []ledger.Submission) error {
	a := alertAbout(NeedsSomebody, rows, w.Console, w.Now())
	told := w.raise(ctx, a)
	if !anybody(told) && ctx.Err() != nil {
		return nil // cut short: the next start tells
	}
	w.last = w.Now()
	return w.recordAll(ctx, rows, told)
}

// raise tells on all channels, and logs it.
func (w *Watcher) raise(ctx context.Context, a Alert) []Told {
	told := RaiseOn(ctx, w.Channels, a)
	if len(w.Channels) == 0 {
		told = []Told{{Err: &AlertError{codeNoChannel, "no alert channel is configured"}}}
	}
	var references []string
	for _, r := range a.References {
		references = append(references, string(r.Reference))
	}
	w.Log.Warn(a.Title(), "alert", a.Kind, "references", references, "count", a.Count, "told", anybody(told), "failed", failures(told))
	return told
}

func failures(told []Told) []string {
	var all []string
	for _, t := range told {
		if t.Err != nil {
			all = append(all, t.Channel+": "+t.Err.Code)
		}
	}
	return all
}

// onDuty does what one process at a time does; another leaves it to that one.
func (w *Watcher) onDuty(ctx context.Context, work func() error) error {
	now := w.Now()
	duty := ledger.Duty{Name: dutyName, Holder: w.Holder, At: now, Until: now.Add(dutyTime)}
	mine, err := w.Ledger.Duty(ctx, duty)
	if err != nil {
		return fmt.Errorf("asking whether another process tells: %w", err)
	}
	if !mine {
		return nil
	}
	err = work()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	duty.At, duty.Until = w.Now(), time.Time{}
	if _, free := w.Ledger.Duty(ctx, duty); free != nil {
		w.Log.Warn("another process waits before it tells", "error", free.Error())
	}
	return err
}
