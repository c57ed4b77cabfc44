package desk_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

// ear is a channel that keeps what it was told.
type ear struct {
	name string
	fail func(ctx context.Context) error // nil: it takes every alert

	mu    sync.Mutex
	heard []desk.Alert
}

func (e *ear) Name() string { return e.name }

func (e *ear) Raise(ctx context.Context, a desk.Alert) error {
	if e.fail != nil {
		if err := e.fail(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, a)
	return nil
}

// last is the newest of so many alerts.
func (e *ear) last(t *testing.T, count int) desk.Alert {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) != count {
		t.Fatalf("%d alerts, want %d: %+v", len(e.heard), count, e.heard)
	}
	if count == 0 {
		return desk.Alert{}
	}
	return e.heard[count-1]
}

// watch is a watcher whose clock a test moves.
type watch struct {
	*desk.Watcher
	t     *testing.T
	shelf *shelf
	log   *bytes.Buffer
	ahead time.Duration // of the clock
}

func (s *shelf) watch(channels ...desk.Channel) *watch {
	w := &watch{t: s.t, shelf: s, log: &bytes.Buffer{}}
	w.Watcher = &desk.Watcher{
		Ledger: s.ledger, Channels: channels, Now: func() time.Time { return time.Now().Add(w.ahead) }, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Every: 5 * time.Second, Gather: 2 * time.Minute, Older: 4 * time.Hour, Holder: ledgertest.NewToken(),
	}
	return w
}

// looks moves the clock on, and looks.
func (w *watch) looks(later time.Duration) {
	w.t.Helper()
	w.ahead += later
	must(w.t, w.Once(context.Background()))
}

// unknown is a row under hold of which nobody knows whether it was sent.
func (s *shelf) unknown() ledger.Submission {
	s.t.Helper()
	return s.doubts(time.Now(), "contact", "timeout@dot")
}

// unknownMany makes so many of them.
func (s *shelf) unknownMany(n int) {
	s.t.Helper()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range n / 64 {
				s.unknown()
			}
		})
	}
	all.Wait()
	for range n % 64 {
		s.unknown()
	}
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

// own are the events of the ledger itself.
func (s *shelf) own() []string {
	s.t.Helper()
	events, err := s.ledger.Events(context.Background(), uuid.Nil)
	must(s.t, err)
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s %s", e.Kind, e.Cause, e.Note))
	}
	return all
}

func (s *shelf) relayIs(state ledger.RelayState) {
	s.t.Helper()
	must(s.t, s.ledger.SetRelayState(context.Background(), state))
}
