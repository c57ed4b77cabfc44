package relay_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// The relay is down while 500 enquiries come, and then up: all arrive once, about
// in the order of their coming, and no attempt was used up.
func TestAnOutageOfTheRelayLosesNothingUnderQueue(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail, isDown := &service{}, &atomic.Bool{}
		isDown.Store(true)
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
			if isDown.Load() {
				return down
			}
			time.Sleep(50 * time.Millisecond)
			return mail.takes(m)
		})
		c := o.opens()
		var rows []ledger.Submission
		for range 500 {
			row := o.posts(c, p)
			o.is(row, ledger.Processing, "", true)
			rows = append(rows, row)
			time.Sleep(7 * time.Second)
		}
		probes := o.far.count()
		if probes > 50 {
			t.Errorf("the relay was tried %d times while it was down", probes)
		}
		state, err := o.ledger.RelayState(context.Background())
		if must(t, err); state.FailingSince.IsZero() || state.Cause != "refused@connect" || time.Until(state.NextTry) > 5*time.Minute {
			t.Errorf("the relay's state is %+v", state)
		}
		isDown.Store(false)
		time.Sleep(6 * time.Minute)
		for _, row := range rows {
			if got := o.row(row.ID); got.Status != ledger.Accepted || got.Attempts != 0 || got.Doubted {
				t.Fatalf("the row is %+v", got)
			}
		}
		if mail.count() != len(rows) {
			t.Errorf("%d mails", mail.count())
		}
		o.wantInOrder(mail, rows, 8)
		if state, err := o.ledger.RelayState(context.Background()); err != nil || !state.FailingSince.IsZero() {
			t.Errorf("the relay's state is %+v, %v", state, err)
		}
		o.logged()
	}, ledger.Queue)
}

// wantInOrder fails unless every row arrived within so many places of its turn.
func (o *office) wantInOrder(mail *service, rows []ledger.Submission, window int) {
	o.t.Helper()
	for turn, row := range rows {
		place := slices.IndexFunc(mail.taken, func(m relay.Mail) bool { return m.SubmissionID == row.ID })
		if place < turn-window || place > turn+window {
			o.t.Errorf("row %d arrived in place %d", turn, place)
		}
	}
}

// Under retry too, a relay that cannot be reached uses up neither attempts nor claims.
func TestARelayThatCannotBeReachedUsesUpNothing(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(down)
		c := o.days().opens()
		row := o.posts(c, p)
		time.Sleep(12 * time.Hour)
		got := o.row(row.ID)
		if !got.Waiting() || got.Attempts != 0 || got.Claims < 20 {
			t.Errorf("the row is %+v", got)
		}
		o.far.does(nil)
		time.Sleep(30 * time.Minute)
		o.is(row, ledger.Accepted, "", false)
	}, ledger.Queue, ledger.Retry)
}

// While the breaker is open a request is told so at once, and the relay is left alone.
func TestWhileTheRelayIsDownOneMessageProbes(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(down)
		c := o.opens()
		first := o.posts(c, p)
		o.wantCalls(1)
		for range 20 {
			o.posts(c, p)
		}
		o.wantCalls(1)
		entry, err := o.ledger.Outbox(context.Background(), first.ID)
		if must(t, err); time.Until(entry.Next) != 5*time.Second {
			t.Errorf("the next attempt is in %s", time.Until(entry.Next))
		}
		time.Sleep(6 * time.Second)
		o.wantCalls(2)
		time.Sleep(9 * time.Second)
		o.wantCalls(2)
		time.Sleep(2 * time.Second)
		o.wantCalls(3)
		o.far.does(nil)
		time.Sleep(22 * time.Second)
		o.wantCalls(3 + 21)
	}, ledger.Queue)
}

// The clock is set, again and again, while messages come and sends take their
// time: no two claims of one row are at work at once, and nothing is stuck.
func TestAClockThatJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{
		"an hour ahead": time.Hour, "an hour back": -time.Hour, "ten years back": -10 * 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			inOffice(t, func(t *testing.T, o *office, p ledger.Policy) { clockJumps(t, o, p, jump) }, ledger.Queue, ledger.Retry)
		})
	}
}

func clockJumps(t *testing.T, o *office, p ledger.Policy, jump time.Duration) {
	mail, failed := &service{}, map[uuid.UUID]bool{}
	var mu sync.Mutex
	failsFirst := func(m relay.Mail) bool { // every third message, once
		mu.Lock()
		defer mu.Unlock()
		first := !failed[m.SubmissionID]
		failed[m.SubmissionID] = true
		return first && len(failed)%3 == 0
	}
	o.patience.Queue.Look, o.timing.Sweep = 10*time.Second, time.Minute
	o.far.does(func(_ context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
		return mail.during(m, func() relay.Verdict {
			fails := failsFirst(m)
			time.Sleep(20 * time.Second)
			switch {
			case !lease.Held():
				return relay.ProvenNotSent(relay.CodeLapsed, "dot")
			case fails:
				return refusal
			}
			return mail.takes(m)
		})
	})
	c, other := o.opens(), o.opens()
	var rows []ledger.Submission
	for i := range 12 {
		row := o.stores(c, p)
		rows = append(rows, row)
		c.Nudge(row)
		other.Nudge(row)
		if i%6 == 3 {
			time.Sleep(5 * time.Second)
			o.ahead.Add(int64(jump))
		}
		time.Sleep(30 * time.Second)
	}
	time.Sleep(4 * time.Hour) // what waits does so by the wall clock, which was set back
	for i, row := range rows {
		got := o.row(row.ID)
		settled := got.Status == ledger.Accepted || p == ledger.Queue && got.Status == ledger.Uncertain
		if !settled {
			t.Errorf("row %d is stuck: %+v", i, got)
		}
	}
	if mail.most != 1 {
		t.Errorf("%d calls of one row at once", mail.most)
	}
}

// The wall clock stands still for a while; once it moves, everything goes on.
func TestAClockThatStandsStill(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(refusal)
		c := o.opens()
		row := o.posts(c, p)
		for range 600 { // it does not move for ten minutes
			o.ahead.Add(-int64(time.Second))
			time.Sleep(time.Second)
		}
		o.wantCalls(1)
		o.far.does(nil)
		time.Sleep(time.Hour)
		o.is(row, ledger.Accepted, "", false)
	}, ledger.Queue, ledger.Retry)
}

// Not a word of the letter can be read in what lies on the disk, before or after.
func TestNoWordsCanBeReadInTheDatabase(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(refusal)
		c := o.opens()
		row := o.posts(c, p)
		entry, err := o.ledger.Outbox(context.Background(), row.ID)
		must(t, err)
		if found := o.onDisk("confidential", "anna@example.org", "owner@shop.example", "Enquiry"); found != "" {
			t.Errorf("%q can be read", found)
		}
		if o.onDisk(entry.Words.Box) == "" {
			t.Fatal("the sealed words are not on the disk: this test looks in the wrong place")
		}
		o.far.does(nil)
		time.Sleep(time.Hour)
		o.is(row, ledger.Accepted, "", false)
		must(t, o.db.Tidy(context.Background()))
		if found := o.onDisk("confidential", entry.Words.Box, entry.Words.Box[10:60]); found != "" {
			t.Errorf("%q can still be read", found)
		}
		o.logged()
	}, ledger.Queue, ledger.Retry)
}

// onDisk looks for texts in the database's files and the log, as they are and in
// base64.
func (o *office) onDisk(texts ...string) string {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.folder, "*"))
	must(o.t, err)
	all := o.log.String()
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(o.t, err)
		all += string(content)
	}
	for _, text := range texts {
		if strings.Contains(all, text) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(text))) {
			return text
		}
	}
	return ""
}

// Under hold the same outage is told to every visitor, and nothing is kept.
func TestAnOutageOfTheRelayIsToldToEverybodyUnderHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.far.says(down)
		for range 500 {
			_, end := b.carries(ask())
			if !end.Recorded || !end.Row.Free() {
				t.Fatalf("ending %+v", end)
			}
		}
		kept, err := b.ledger.Kept(context.Background())
		if must(t, err); len(kept) != 0 {
			t.Errorf("words are kept: %+v", kept)
		}
		if errors := strings.Count(b.log.String(), "confidential"); errors != 0 {
			t.Error("the log holds words")
		}
	})
}

// A process that has found the relay failing may have ended before it was reached
// again.
func TestTheNextProcessFindsTheRelayReached(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		must(t, o.ledger.SetRelayState(context.Background(), ledger.RelayState{FailingSince: time.Now().Add(-time.Hour), Cause: "refused@connect"}))
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict { return (&service{}).takes(m) })
		row := o.posts(o.opens(), p)
		time.Sleep(time.Minute)
		o.is(row, ledger.Accepted, "", false)
		if state, err := o.ledger.RelayState(context.Background()); err != nil || !state.FailingSince.IsZero() {
			t.Errorf("the relay's state is %+v, %v", state, err)
		}
	}, ledger.Queue)
}
