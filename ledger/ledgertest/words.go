package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

// keeping are the policies that keep a message's words.
var keeping = []ledger.Policy{ledger.Queue, ledger.Retry}

// store inserts an entry whose ID nobody has used.
func (f *fixture) store(n ledger.NewEntry) ledger.Submission {
	f.Helper()
	got, err := f.ledger.Store(f.ctx, n)
	f.must(err)
	if !got.Fresh {
		f.Fatalf("the row was there: %+v", got.Row)
	}
	return got.Row
}

// stored is a new row that waits for the courier.
func (f *fixture) stored(p ledger.Policy) ledger.NewEntry {
	f.Helper()
	n := NewEntry(p)
	f.store(n)
	return n
}

// take claims a row that has to be waiting.
func (f *fixture) take(c ledger.NewClaim) ledger.Taken {
	f.Helper()
	got, err := f.ledger.Take(f.ctx, c)
	f.must(err)
	if !got.Owned {
		f.Fatalf("the claim is not owned; row: %+v", got.Row)
	}
	return got
}

// taken is a new row whose send is under way.
func (f *fixture) taken(p ledger.Policy) ledger.NewClaim {
	f.Helper()
	c := Taking(f.stored(p), 0)
	f.take(c)
	return c
}

// refuseTake asks for a claim that must not be owned, and must leave the row and
// its words alone.
func (f *fixture) refuseTake(c ledger.NewClaim) {
	f.Helper()
	before, words := f.row(c.ID), f.words(c.ID)
	got, err := f.ledger.Take(f.ctx, c)
	f.must(err)
	if diff := cmp.Diff(ledger.Taken{Row: before}, got); diff != "" {
		f.Fatalf("the answer is not the row as it stood (-row +answer):\n%s", diff)
	}
	f.same(before)
	f.sameWords(c.ID, words)
}

// words reads the outbox; nil: there are none.
func (f *fixture) words(id uuid.UUID) *ledger.Entry {
	f.Helper()
	e, err := f.ledger.Outbox(f.ctx, id)
	if errors.Is(err, ledger.ErrNoWords) {
		return nil
	}
	f.must(err)
	return &e
}

func (f *fixture) sameWords(id uuid.UUID, want *ledger.Entry) {
	f.Helper()
	if diff := cmp.Diff(want, f.words(id)); diff != "" {
		f.Fatalf("the words (-want +got):\n%s", diff)
	}
}

// kept checks whether a row's words are kept.
func (f *fixture) kept(id uuid.UUID, want bool) {
	f.Helper()
	if got := f.words(id) != nil; got != want {
		f.Fatalf("words are kept: %v", got)
	}
}

// due lists the rows of a policy that are due so long after the suite's start.
func (f *fixture) due(p ledger.Policy, after time.Duration) []ledger.Submission {
	f.Helper()
	rows, err := f.ledger.Due(f.ctx, ledger.Due{Policy: p, At: At(after), Horizon: 1e6 * time.Hour})
	f.must(err)
	return rows
}

// isDue checks whether the courier is shown a row, in the end.
func (f *fixture) isDue(id uuid.UUID, want bool) {
	f.Helper()
	row, got := f.row(id), false
	for _, due := range f.due(row.Policy, 1e5*time.Hour) {
		got = got || due.ID == id
	}
	if got != want || row.Waiting() != want {
		f.Fatalf("due: %v, waiting: %v; the row: %+v", got, row.Waiting(), row)
	}
}

// unalerted checks which rows nobody was told of.
func (f *fixture) unalerted(want ...uuid.UUID) {
	f.Helper()
	rows, err := f.ledger.Unalerted(f.ctx, 0)
	f.must(err)
	var got []uuid.UUID
	for _, row := range rows {
		got = append(got, row.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Fatalf("rows that nobody was told of (-want +got):\n%s", diff)
	}
}

// fail takes a waiting row and records that nothing was sent.
func (f *fixture) fail(c ledger.NewClaim, cause string, after time.Duration) ledger.NewClaim {
	f.Helper()
	c = Again(c, after)
	f.take(c)
	f.release(End(c, cause, after), true)
	return c
}
