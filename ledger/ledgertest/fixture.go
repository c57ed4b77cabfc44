package ledgertest

import (
	"errors"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// claim asks, and reports whether the claim is owned, and the row.
func (f *fixture) claim(c ledger.NewClaim) ledger.Claimed {
	f.Helper()
	got, err := f.ledger.Claim(f.ctx, c)
	f.must(err)
	return got
}

// own claims a row that has to be free.
func (f *fixture) own(c ledger.NewClaim) ledger.Submission {
	f.Helper()
	got := f.claim(c)
	if !got.Owned {
		f.Fatalf("the claim is not owned; row: %+v", got.Row)
	}
	return got.Row
}

// fresh claims a new row.
func (f *fixture) fresh() ledger.NewClaim {
	f.Helper()
	c := NewClaim()
	f.own(c)
	return c
}

// refuse asks for a claim that must not be owned, and must leave the row alone.
func (f *fixture) refuse(c ledger.NewClaim) {
	f.Helper()
	before := f.row(c.ID)
	if got := f.claim(c); got.Owned {
		f.Fatalf("the claim is owned; row: %+v", got.Row)
	} else if diff := cmp.Diff(before, got.Row); diff != "" {
		f.Fatalf("the answer is not the row as it stood (-row +answer):\n%s", diff)
	}
	f.same(before)
}

func (f *fixture) row(id uuid.UUID) ledger.Submission {
	f.Helper()
	row, err := f.ledger.Submission(f.ctx, id)
	f.must(err)
	return row
}

// same checks that a row is exactly as it was.
func (f *fixture) same(before ledger.Submission) {
	f.Helper()
	if diff := cmp.Diff(before, f.row(before.ID)); diff != "" {
		f.Fatalf("the row has changed (-before +now):\n%s", diff)
	}
}

// changed checks that a row is as it was but for what edit changes, and that
// its updated_at has grown.
func (f *fixture) changed(before ledger.Submission, edit func(*ledger.Submission)) ledger.Submission {
	f.Helper()
	now := f.row(before.ID)
	if !now.UpdatedAt.After(before.UpdatedAt) {
		f.Errorf("updated_at went from %v to %v", before.UpdatedAt, now.UpdatedAt)
	}
	want := before
	edit(&want)
	want.UpdatedAt = now.UpdatedAt
	if diff := cmp.Diff(want, now); diff != "" {
		f.Fatalf("the row is not as expected (-want +now):\n%s", diff)
	}
	return now
}

func (f *fixture) events(id uuid.UUID) []ledger.Event {
	f.Helper()
	events, err := f.ledger.Events(f.ctx, id)
	f.must(err)
	return events
}

// story checks the kinds of a row's events, in order.
func (f *fixture) story(id uuid.UUID, want ...ledger.EventKind) {
	f.Helper()
	if diff := cmp.Diff(want, kinds(f.events(id))); diff != "" {
		f.Fatalf("the row's events (-want +got):\n%s", diff)
	}
}

func (f *fixture) settle(a ledger.Acknowledgment, want bool) {
	f.Helper()
	got, err := f.ledger.Settle(f.ctx, a)
	f.must(err)
	if got != want {
		f.Fatalf("Settle reports %v", got)
	}
}

func (f *fixture) doubt(e ledger.Ended, want bool) {
	f.Helper()
	got, err := f.ledger.Doubt(f.ctx, e)
	f.must(err)
	if got != want {
		f.Fatalf("Doubt reports %v", got)
	}
}

func (f *fixture) release(e ledger.Ended, want bool) {
	f.Helper()
	got, err := f.ledger.Release(f.ctx, e)
	f.must(err)
	if got != want {
		f.Fatalf("Release reports %v", got)
	}
}

func (f *fixture) lapse(before time.Time, want int) {
	f.Helper()
	got, err := f.ledger.Lapse(f.ctx, before, before)
	f.must(err)
	if got != want {
		f.Fatalf("Lapse reports %d rows, not %d", got, want)
	}
}

func (f *fixture) lapseClaims(claims []ledger.OpenClaim, want int) {
	f.Helper()
	got, err := f.ledger.LapseClaims(f.ctx, claims, At(time.Hour))
	f.must(err)
	if got != want {
		f.Fatalf("LapseClaims reports %d rows, not %d", got, want)
	}
}

func (f *fixture) markUnsent(before time.Time, want int) {
	f.Helper()
	got, err := f.ledger.MarkUnsent(f.ctx, before, At(time.Hour))
	f.must(err)
	if got != want {
		f.Fatalf("MarkUnsent reports %d rows, not %d", got, want)
	}
}

// decide records a decision about the row as it now is.
func (f *fixture) decide(id uuid.UUID, kind ledger.DecisionKind) {
	f.Helper()
	f.must(f.ledger.Decide(f.ctx, decision(f.row(id), kind)))
}

// decideFails makes a decision that must fail so, and change nothing.
func (f *fixture) decideFails(d ledger.Decision, want error) {
	f.Helper()
	before, events := f.row(d.Seen.ID), f.events(d.Seen.ID)
	if err := f.ledger.Decide(f.ctx, d); !errors.Is(err, want) {
		f.Fatalf("Decide: %v; want %v", err, want)
	}
	f.same(before)
	if diff := cmp.Diff(events, f.events(d.Seen.ID)); diff != "" {
		f.Fatalf("a refused decision left an event:\n%s", diff)
	}
}

func decision(seen ledger.Submission, kind ledger.DecisionKind) ledger.Decision {
	return ledger.Decision{Seen: seen, Kind: kind, By: "ada", Note: "asked by phone", At: seen.UpdatedAt.Add(time.Hour)}
}

// parties makes n calls at the same moment, and waits for all.
func parties(n int, call func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	all.Wait()
}
