package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

// watch is a sweeper on a real ledger, with two clocks that the test moves.
type watch struct {
	*relay.Sweeper
	t      *testing.T
	ledger *ledgertest.Faulty
	wall   time.Time
	mono   time.Duration
	log    *logBuffer
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{t: t, ledger: openLedger(t), wall: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), log: &logBuffer{}}
	w.restart()
	return w
}

// restart makes a sweeper that has seen nothing yet.
func (w *watch) restart() {
	w.Sweeper = &relay.Sweeper{
		Ledger: w.ledger, Timing: relay.DefaultTiming(), Log: slog.New(slog.NewJSONHandler(w.log, nil)),
		Wall: func() time.Time { return w.wall }, Mono: func() time.Duration { return w.mono },
	}
}

// pass lets time go by; set moves the wall clock alone.
func (w *watch) pass(d time.Duration) { w.wall, w.mono = w.wall.Add(d), w.mono+d }
func (w *watch) set(d time.Duration)  { w.wall = w.wall.Add(d) }

func (w *watch) sweeps() {
	w.t.Helper()
	must(w.t, w.Sweep(context.Background()))
}

// claim takes a row by the wall clock of now.
func (w *watch) claim() ledger.NewClaim {
	w.t.Helper()
	c := ledgertest.NewClaim()
	c.At, c.LeaseUntil = w.wall, w.wall.Add(w.Timing.Lease)
	w.take(c)
	return c
}

func (w *watch) take(c ledger.NewClaim) {
	w.t.Helper()
	got, err := w.ledger.Claim(context.Background(), c)
	must(w.t, err)
	if !got.Owned {
		w.t.Fatalf("the claim is not owned: %+v", got.Row)
	}
}

func (w *watch) is(id uuid.UUID, status ledger.Status, needs ledger.Need) {
	w.t.Helper()
	row, err := w.ledger.Submission(context.Background(), id)
	must(w.t, err)
	if row.Status != status || row.Needs != needs {
		w.t.Errorf("the row is %s and needs %q, want %s and %q", row.Status, row.Needs, status, needs)
	}
}

func (w *watch) underWay(c ledger.NewClaim) { w.t.Helper(); w.is(c.ID, ledger.Processing, "") }
func (w *watch) lapsed(c ledger.NewClaim) {
	w.t.Helper()
	w.is(c.ID, ledger.Uncertain, ledger.NeedsUncertain)
}

func TestAClaimLapsesAtTheEndOfItsLease(t *testing.T) {
	w := newWatch(t)
	c := w.claim()
	w.sweeps()
	w.pass(w.Timing.Lease)
	w.sweeps()
	w.underWay(c)
	w.pass(time.Millisecond)
	w.sweeps()
	w.lapsed(c)
	w.sweeps()
	w.lapsed(c)
}

// A clock that was set says nothing about leases. The claims that stood then
// lapse one longest lease later, by the clock that nobody sets.
func TestAClockThatWasSet(t *testing.T) {
	for name, jump := range map[string]time.Duration{
		"an hour ahead": time.Hour, "an hour back": -time.Hour, "ten years back": -10 * 365 * 24 * time.Hour,
		"five seconds ahead": 5 * time.Second, "three seconds back": -3 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(t)
			w.sweeps()
			c, settled, again := w.claim(), w.claim(), w.claim()
			w.pass(time.Second)
			w.set(jump)
			w.sweeps()
			w.underWay(c)
			w.pass(w.Timing.Lease - time.Second)
			_, err := w.ledger.Settle(context.Background(), ledgertest.Ack(settled, 0))
			must(t, err)
			again = w.reclaim(again)
			fresh := w.claim()
			w.sweeps()
			w.underWay(c)
			w.pass(time.Second)
			w.sweeps()
			w.lapsed(c)
			w.is(settled.ID, ledger.Accepted, "")
			w.underWay(again)
			w.underWay(fresh)
			w.pass(w.Timing.Lease)
			w.sweeps()
			w.lapsed(fresh)
			w.lapsed(again)
		})
	}
}

// reclaim gives a claim back and takes its row anew.
func (w *watch) reclaim(c ledger.NewClaim) ledger.NewClaim {
	w.t.Helper()
	e := ledgertest.End(c, "disk_full@write", 0)
	e.At = w.wall
	_, err := w.ledger.Release(context.Background(), e)
	must(w.t, err)
	c.Token, c.At, c.LeaseUntil = ledgertest.NewToken(), w.wall, w.wall.Add(w.Timing.Lease)
	w.take(c)
	return c
}

// Clocks drift, and are slewed.
func TestASmallDriftIsNoSetClock(t *testing.T) {
	w := newWatch(t)
	c := w.claim()
	for range 60 {
		w.sweeps()
		w.pass(2 * time.Second)
		w.set(100 * time.Millisecond)
	}
	w.sweeps()
	w.lapsed(c)
}

// The clock was set back while nothing ran: at the start nothing has diverged,
// but a lease lies further ahead than any can.
func TestALeaseFarAheadAtTheStart(t *testing.T) {
	w := newWatch(t)
	c := w.claim()
	w.set(-time.Hour)
	w.restart()
	w.sweeps()
	w.pass(w.Timing.Lease - time.Millisecond)
	w.sweeps()
	w.underWay(c)
	w.pass(time.Millisecond)
	w.sweeps()
	w.lapsed(c)
	w.pass(time.Second)
	other := w.claim() // afterwards leases end as ever
	w.sweeps()
	w.pass(w.Timing.Lease + time.Millisecond)
	w.sweeps()
	w.lapsed(other)
}

// The clock is set once more while the sweep waits: claims taken in between have
// leases that say nothing either, and get a wait of their own.
func TestAClockThatIsSetAgainWhileTheSweepWaits(t *testing.T) {
	w := newWatch(t)
	w.sweeps()
	c := w.claim()
	w.set(time.Hour)
	w.sweeps()
	w.pass(time.Minute)
	between := w.claim()
	w.set(2 * time.Hour)
	w.sweeps()
	w.pass(w.Timing.Lease)
	w.sweeps()
	w.lapsed(c)
	w.underWay(between)
	w.sweeps() // the second wait begins
	w.pass(w.Timing.Lease - time.Millisecond)
	w.sweeps()
	w.underWay(between)
	w.pass(time.Millisecond)
	w.sweeps()
	w.lapsed(between)
}

// That the clock was set is not forgotten because the ledger failed just then.
func TestASetClockIsRememberedOverAFailingSweep(t *testing.T) {
	w := newWatch(t)
	w.sweeps()
	c := w.claim()
	w.set(time.Hour)
	w.ledger.Fail("OpenClaims", ledgertest.Before, 2)
	for range 2 {
		if err := w.Sweep(context.Background()); !errors.Is(err, ledgertest.ErrInjected) {
			t.Fatalf("got %v", err)
		}
		w.pass(time.Second)
	}
	w.sweeps()
	w.underWay(c)
	w.pass(w.Timing.Lease)
	for _, when := range []ledgertest.When{ledgertest.Before, ledgertest.After} {
		w.ledger.Fail("LapseClaims", when, 1)
		if err := w.Sweep(context.Background()); !errors.Is(err, ledgertest.ErrInjected) {
			t.Fatalf("got %v", err)
		}
	}
	w.sweeps()
	w.lapsed(c)
}

// A released row that nobody came back for gets into the operator's queue.
func TestPromise7AReleasedRowThatNobodyCameBackFor(t *testing.T) {
	w := newWatch(t)
	c := w.claim()
	w.pass(time.Second)
	e := ledgertest.End(c, "disk_full@write", 0)
	e.At = w.wall
	_, err := w.ledger.Release(context.Background(), e)
	must(t, err)
	w.pass(w.Timing.Unsent)
	w.sweeps()
	w.underWay(c)
	w.pass(time.Millisecond)
	w.sweeps()
	w.is(c.ID, ledger.Processing, ledger.NeedsUnsent)
	c.Token, c.LeaseUntil = ledgertest.NewToken(), w.wall.Add(w.Timing.Lease)
	w.take(c) // the visitor came back
	w.sweeps()
	w.underWay(c)
}

func TestTheSweeperRunsAtOnceAndGoesOnAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t)
		start := time.Now()
		w.Wall, w.Mono = time.Now, func() time.Duration { return time.Since(start) }
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		w.ledger.Fail("Lapse", ledgertest.Before, 1)
		go func() { w.Run(ctx); close(ended) }()
		synctest.Wait()
		if n := w.ledger.Calls("Lapse"); n != 1 {
			t.Errorf("%d sweeps at the start, want 1", n)
		}
		time.Sleep(3*w.Timing.Sweep + time.Second)
		synctest.Wait()
		if n := w.ledger.Calls("MarkUnsent"); n != 3 {
			t.Errorf("%d whole sweeps, want 3 after one that failed:\n%s", n, w.log)
		}
		cancel()
		<-ended
	})
}
