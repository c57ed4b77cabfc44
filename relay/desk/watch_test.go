package desk_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

// watcher watches a shelf, and logs into the buffer.
func (s *shelf) watcher(raise func(context.Context, desk.Alert) error) (*desk.Watcher, *bytes.Buffer) {
	var log bytes.Buffer
	return &desk.Watcher{Ledger: s.ledger, Raise: raise, Now: time.Now, Every: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

// alerts are the events of alerts, and the row has to need somebody whatever they
// came to.
func (s *shelf) alerts(row ledger.Submission) []ledger.Event {
	s.t.Helper()
	if now := s.row(row); now.Needs == ledger.NeedsNobody || now != row {
		s.t.Errorf("the alert has changed the row: %+v", now)
	}
	return s.story(row, ledger.EventAlerted, ledger.EventAlertFailed)
}

func TestSomebodyIsToldOnce(t *testing.T) {
	s, r := newShelf(t), newReceiver(t, http.StatusOK)
	w, log := s.watcher(newHook(t, r.URL).Raise)
	must(t, w.Once(context.Background()))
	s.stores(ledger.Queue) // waits, and needs nobody
	rows := []ledger.Submission{s.stops(ledger.Queue), s.fails(s.fails(s.stores(ledger.Retry), "closed@dot", false), "closed@dot", false)}
	for range 2 {
		must(t, w.Once(context.Background()))
	}
	if got := r.got(); len(got) != 2 || !strings.Contains(got[0], string(rows[0].Reference)) || !strings.Contains(got[1], `"needs":"uncertain"`) {
		t.Errorf("%v", got)
	}
	for _, row := range rows {
		if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlerted || e[0].Actor != ledger.ActorSystem || e[0].Cause != "" {
			t.Errorf("%+v", e)
		}
	}
	for _, text := range append(r.got(), log.String()) {
		for _, secret := range []string{"confidential", "ann@", rows[0].ID.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}

func TestAReceiverThatIsDownIsOnRecord(t *testing.T) {
	s, r := newShelf(t), newReceiver(t, http.StatusServiceUnavailable)
	w, log := s.watcher(newHook(t, r.URL).Raise)
	row := s.stops(ledger.Queue)
	for range 2 {
		must(t, w.Once(context.Background()))
	}
	if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlertFailed || e[0].Cause != "alert_refused" || e[0].Note != "the receiver answered 503" {
		t.Errorf("%+v", e)
	}
	if len(r.got()) != 1 || !strings.Contains(log.String(), "told=false") {
		t.Errorf("%d requests, log %s", len(r.got()), log)
	}
	again, err := s.decides(row, ledger.SendAgain) // what stops once more is told once more
	must(t, err)
	s.fails(again.Case.Row, ledger.ForGood("smtp_550@rcpt"), true)
	must(t, w.Once(context.Background()))
	if len(r.got()) != 2 || r.ids[0] == r.ids[1] {
		t.Errorf("after one more attempt: %v", r.ids)
	}
}

func TestWithoutAChannelThatIsOnRecordToo(t *testing.T) {
	s := newShelf(t)
	row := s.stops(ledger.Retry)
	w, log := s.watcher(nil)
	must(t, w.Once(context.Background()))
	if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlertFailed || e[0].Cause != "no_channel" {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(log.String(), string(row.Reference)) {
		t.Errorf("the log does not say it: %s", log)
	}
	other := s.stops(ledger.Retry)
	w.Raise = func(context.Context, desk.Alert) error { return errors.New("hush") }
	must(t, w.Once(context.Background()))
	if e := s.alerts(other); len(e) != 1 || e[0].Cause != "alert_failed" || strings.Contains(e[0].Note, "hush") {
		t.Errorf("of an error of no kind that is known: %+v", e)
	}
}

// An alert twice is better than none: what cannot be recorded is told again, and
// what was recorded all the same is not.
func TestAnAlertThatCannotBeRecorded(t *testing.T) {
	for when, alerts := range map[ledgertest.When]int{ledgertest.Before: 2, ledgertest.After: 1} {
		s, told := newShelf(t), 0
		row := s.stops(ledger.Queue)
		w, _ := s.watcher(func(context.Context, desk.Alert) error { told++; return nil })
		s.ledger.Fail("Record", when, 1)
		if err := w.Once(context.Background()); !errors.Is(err, ledgertest.ErrInjected) || !strings.Contains(err.Error(), string(row.Reference)) {
			t.Errorf("%v", err)
		}
		must(t, w.Once(context.Background()))
		if e := s.alerts(row); told != alerts || len(e) != 1 {
			t.Errorf("told %d times, want %d: %+v", told, alerts, e)
		}
	}
	s := newShelf(t)
	w, _ := s.watcher(nil)
	s.ledger.Fail("Unalerted", ledgertest.Before, 1)
	if err := w.Once(context.Background()); !errors.Is(err, ledgertest.ErrInjected) {
		t.Errorf("%v", err)
	}
}

// A stop in the middle of an alert does not count as one that failed.
func TestAnAlertThatIsCutShortIsRaisedAtTheNextStart(t *testing.T) {
	s := newShelf(t)
	row, other := s.stops(ledger.Queue), s.stops(ledger.Queue)
	ctx, cancel := context.WithCancel(context.Background())
	w, _ := s.watcher(func(ctx context.Context, _ desk.Alert) error { cancel(); return ctx.Err() })
	if err := w.Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if e := append(s.alerts(row), s.alerts(other)...); len(e) != 0 {
		t.Errorf("%+v", e)
	}
	ctx, cancel = context.WithCancel(context.Background())
	w.Raise = func(context.Context, desk.Alert) error { cancel(); return nil } // it arrived all the same
	if err := w.Once(ctx); !errors.Is(err, context.Canceled) || len(s.alerts(row)) != 1 || len(s.alerts(other)) != 0 {
		t.Errorf("%v: %+v", err, s.alerts(row))
	}
}

// unalerted is a ledger whose rows cannot be read at first.
type unalerted struct {
	ledger.Ledger
	looks int
}

func (u *unalerted) Unalerted(context.Context, int) ([]ledger.Submission, error) {
	u.looks++
	return nil, ledgertest.ErrInjected
}

func TestAWatcherGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		u := &unalerted{}
		w := &desk.Watcher{Ledger: u, Now: time.Now, Every: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
		defer cancel()
		w.Run(ctx)
		if u.looks != 3 || !strings.Contains(log.String(), "telling somebody failed") {
			t.Errorf("%d looks: %s", u.looks, log.String())
		}
	})
}
