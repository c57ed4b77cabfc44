package desk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

// kinds are those of what was heard.
func (e *ear) kinds() []desk.AlertKind {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []desk.AlertKind
	for _, a := range e.heard {
		all = append(all, a.Kind)
	}
	return all
}

func (e *ear) saysOnly(t *testing.T, want ...desk.AlertKind) {
	t.Helper()
	if got := e.kinds(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestARelayThatFailsIsToldOnceAndSoIsItsRecovery(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	s.relayIs(ledger.RelayState{FailingSince: time.Now(), Cause: "connect_refused@connect"})
	w.looks(90 * time.Second)
	s.relayIs(ledger.RelayState{}) // a short failure is none
	w.looks(time.Minute)
	e.saysOnly(t)
	s.relayIs(ledger.RelayState{FailingSince: time.Now(), Cause: "connect_refused@connect"})
	for range 5 {
		w.looks(time.Hour)
	}
	e.saysOnly(t, desk.RelayFailing)
	if a := e.last(t, 1); a.Relay.Cause != "connect_refused@connect" || !strings.Contains(a.Text(1000), "connect_refused") {
		t.Errorf("%+v", a)
	}
	next := s.watch(e) // another process, or the next start
	next.ahead = w.ahead
	next.looks(time.Minute)
	s.relayIs(ledger.RelayState{FailingSince: time.Now().Add(next.ahead), Cause: "dns@connect"}) // what the next start finds
	next.looks(time.Hour)
	e.saysOnly(t, desk.RelayFailing)
	s.relayIs(ledger.RelayState{})
	next.looks(time.Minute)
	w.looks(5 * time.Hour)
	e.saysOnly(t, desk.RelayFailing, desk.RelayRecovered)
	if own := s.own(); !slices.Equal(own, []string{"relay_failing  by ear", "relay_recovered  by ear"}) {
		t.Errorf("%q", own)
	}
}

// The network of this machine may be what fails: then no channel is reached either.
func TestNewsOfTheRelayThatNobodyGets(t *testing.T) {
	s, down := newShelf(t), errors.New("down")
	e := &ear{name: "ear", fail: func(context.Context) error { return down }}
	w := s.watch(e)
	s.relayIs(ledger.RelayState{FailingSince: time.Now(), Cause: "dns@connect"})
	w.looks(3 * time.Minute)
	w.looks(10 * time.Minute)
	if own := s.own(); len(own) != 1 || own[0] != "alert_failed alert_failed ear: the receiver could not be told" {
		t.Errorf("%q", own)
	}
	down = nil
	w.looks(5 * time.Minute)
	e.saysOnly(t, desk.RelayFailing)
	s.relayIs(ledger.RelayState{})
	s.ledger.Fail("Record", ledgertest.Before, 1)
	w.ahead += time.Minute
	if err := w.Once(context.Background()); !errors.Is(err, ledgertest.ErrInjected) {
		t.Error(err)
	}
	w.looks(time.Minute)
	e.saysOnly(t, desk.RelayFailing, desk.RelayRecovered)
	w.looks(20 * time.Minute)
	w.looks(20 * time.Minute)
	e.saysOnly(t, desk.RelayFailing, desk.RelayRecovered, desk.RelayRecovered) // twice is better than not at all
}

// Events of a clock that was ahead do not hide what comes after them.
func TestNewsOfTheRelayAfterTheClockWasSetBack(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	w.ahead = 24 * time.Hour
	s.relayIs(ledger.RelayState{FailingSince: time.Now()})
	w.looks(0)
	w.ahead = 0
	s.relayIs(ledger.RelayState{})
	for range 5 {
		w.looks(time.Minute)
	}
	e.saysOnly(t, desk.RelayFailing, desk.RelayRecovered)
}

func TestAQueueThatWaitsIsToldOfAgain(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	s.unknown()
	s.stops(ledger.Queue)
	w.looks(0)
	w.looks(3*time.Hour + 59*time.Minute)
	e.saysOnly(t, desk.NeedsSomebody)
	w.looks(61 * time.Minute)
	if a := e.last(t, 2); a.Kind != desk.StillOpen || a.Title() != "2 references still need you; the oldest has waited 5 h" {
		t.Errorf("%s: %+v", a.Title(), a)
	}
	for range 22 {
		w.looks(time.Hour)
	}
	e.last(t, 2)
	next := s.watch(e) // also after a restart
	next.ahead = w.ahead
	next.looks(time.Minute)
	e.last(t, 2)
	next.looks(2 * time.Hour)
	if a := e.last(t, 3); a.Kind != desk.StillOpen || a.Title() != "2 references still need you; the oldest has waited 29 h" || a.ID == e.heard[1].ID {
		t.Errorf("%s: %+v", a.Title(), a)
	}
	if own := s.own(); !slices.Equal(own, []string{"reminded  by ear", "reminded  by ear"}) {
		t.Errorf("%q", own)
	}
}

// A reference that comes to be old after a reminder does not wait for the next day.
func TestAReminderOfAnotherReference(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	s.unknown()
	w := s.watch(e)
	w.looks(5 * time.Hour)
	e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen)
	s.doubts(w.Now(), "contact", "timeout@dot")
	w.looks(time.Minute)
	w.looks(3 * time.Hour)
	e.last(t, 3)
	w.looks(time.Hour)
	e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen, desk.NeedsSomebody, desk.StillOpen)
}

func TestAReminderThatNobodyGetsIsTriedAgain(t *testing.T) {
	s, down := newShelf(t), error(nil)
	e := &ear{name: "ear", fail: func(context.Context) error { return down }}
	w := s.watch(e)
	s.unknown()
	w.looks(0)
	down = errors.New("down")
	w.looks(5 * time.Hour)
	w.looks(10 * time.Minute)
	if own := s.own(); len(own) != 1 {
		t.Errorf("%q", own)
	}
	down = nil
	w.looks(6 * time.Minute)
	w.looks(time.Hour)
	e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen)
}

// What was decided in time is not told of again.
func TestAnEmptyQueueIsNoReminder(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	row := s.unknown()
	w.looks(0)
	_, err := s.decides(row, ledger.Received)
	must(t, err)
	w.looks(48 * time.Hour)
	e.saysOnly(t, desk.NeedsSomebody)
}

// A reminder that a clock ahead of time has noted neither silences the next ones nor
// makes a storm of them.
func TestRemindersAfterTheClockWasSetBack(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	s.unknown()
	w.looks(10 * 24 * time.Hour)
	e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen)
	w = s.watch(e)
	w.looks(5 * time.Hour)
	for range 40 {
		w.looks(30 * time.Minute)
	}
	e.last(t, 3)
	w.looks(4 * time.Hour)
	e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen, desk.StillOpen, desk.StillOpen)
}

// Three days as they pass in a process.
func TestThreeDaysOfAWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newShelf(t), &ear{name: "ear"}
		w := s.watch(e)
		w.Every = time.Minute
		ctx, cancel := context.WithTimeout(context.Background(), 72*time.Hour-time.Second)
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		row := s.unknown()
		time.Sleep(30 * time.Hour)
		s.relayIs(ledger.RelayState{FailingSince: time.Now(), Cause: "dns@connect"})
		time.Sleep(time.Hour)
		s.relayIs(ledger.RelayState{})
		running.Wait()
		e.saysOnly(t, desk.NeedsSomebody, desk.StillOpen, desk.StillOpen, desk.RelayFailing, desk.RelayRecovered, desk.StillOpen)
		if since := e.heard[1].At.Sub(row.UpdatedAt); since < 4*time.Hour || since > 4*time.Hour+2*time.Minute {
			t.Errorf("reminded after %s", since)
		}
		if since := e.heard[5].At.Sub(e.heard[2].At); since < 24*time.Hour || since > 24*time.Hour+2*time.Minute {
			t.Errorf("reminded again after %s", since)
		}
	})
}
