package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func randomChecks() []check {
	var all []check
	for _, p := range []ledger.Policy{ledger.Hold, ledger.Queue, ledger.Retry} {
		all = append(all,
			check{"AnySequenceOfCallsDoesWhatTheContractSays_" + string(p), func(f *fixture) { randomSequence(f, p) }},
			check{"AnyInterleavingOfCallsKeepsTheInvariants_" + string(p), func(f *fixture) { randomInterleaving(f, p) }},
		)
	}
	return all
}

// seed is that of this run, unless LEDGERTEST_SEED names the one of a run that
// failed. The log shows it if the test fails.
func (f *fixture) seed() uint64 {
	seed := rand.Uint64()
	if text, ok := os.LookupEnv("LEDGERTEST_SEED"); ok {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		f.must(err)
	}
	f.Logf("LEDGERTEST_SEED=%d", seed)
	return seed
}

// dice draws calls about few rows and few tokens, so that they often meet.
type dice struct {
	*rand.Rand
	claims [][]ledger.NewClaim // for each row, the claims that can be asked for
	clock  time.Duration
}

// newDice: of each row's claims the last comes with other content.
func newDice(seed uint64, rows int) *dice {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 0))}
	for range rows {
		c := NewClaim()
		claims := []ledger.NewClaim{c, Again(c, 0), Again(c, 0), Again(c, 0)}
		claims[3].PayloadHash = Hash("other words")
		d.claims = append(d.claims, claims)
	}
	return d
}

// draw picks a row and one of its claims, and lets the clock go on, stand, or
// go back a little.
func (d *dice) draw() (row int, c ledger.NewClaim) {
	d.clock += time.Duration(d.IntN(100_000)-20_000) * time.Millisecond
	row = d.IntN(len(d.claims))
	c = d.claims[row][d.IntN(len(d.claims[row]))]
	c.At, c.LeaseUntil = At(d.clock), At(d.clock+Lease)
	return row, c
}

// ended is the end of a claim's call, of any kind that a caller can report.
func (d *dice) ended(c ledger.NewClaim) ledger.Ended {
	e := End(c, []string{"refused/rcpt", "unreached/dial", ledger.ForGood("refused/rcpt")}[d.IntN(3)], d.clock)
	e.Attempted = d.IntN(4) > 0
	if d.IntN(2) == 0 {
		e.Next = At(d.clock + time.Duration(d.IntN(240)-60)*time.Minute)
	}
	return e
}

// entry is of a claim's content, with caps that a run often comes to.
func (d *dice) entry(c ledger.NewClaim, p ledger.Policy) ledger.NewEntry {
	n := entryOf(c, p)
	n.AttemptCap, n.ClaimCap = int64(d.IntN(5)), int64(d.IntN(7))
	n.Due = At(d.clock + time.Duration(d.IntN(30)-10)*time.Minute)
	return n
}

func randomSequence(f *fixture, p ledger.Policy) {
	seed := f.seed()
	const rows = 4
	d := newDice(seed, rows)
	models := make([]*model, rows)
	before := [rows]ledger.Submission{} // what an operator with an old page sees
	for i := range models {
		models[i] = &model{told: map[string]bool{}}
	}
	for step := range 1000 {
		i, c := d.draw()
		m := models[i]
		if d.IntN(4) == 0 {
			before[i] = m.row
		}
		what := fmt.Sprintf("seed %d, step %d: %s", seed, step, f.randomCall(d, m, models, c, before[i], p))
		f.agrees(m, what)
		if step%8 == 0 { // what a call did to other rows shows soon enough
			for _, m := range models {
				f.agrees(m, what)
			}
			f.listsAgree(models, ledger.Due{Policy: p, At: At(d.clock), Horizon: time.Hour})
		}
		// a row that has come to its end is followed by another
		if m.row.Status == ledger.Accepted && m.row.Needs == ledger.NeedsNobody && d.IntN(6) == 0 {
			models[i], before[i] = &model{told: map[string]bool{}}, ledger.Submission{}
			d.claims[i] = newDice(seed, 1).claims[0]
		}
	}
}

// kindsOfCalls are drawn evenly; those of other policies come to nothing, mostly.
func kindsOfCalls(p ledger.Policy) []string {
	all := []string{"claim", "settle", "doubt", "release", "decide", "decide", "lapse", "lapse claims", "mark unsent", "store", "take", "dispute"}
	if p == ledger.Hold {
		return append(all, "claim", "claim", "claim", "alert")
	}
	return append(all, "store", "take", "take", "take", "doubt", "release", "alert")
}

// randomCall makes one call on the ledger and on the model, and compares what
// they answer.
func (f *fixture) randomCall(d *dice, m *model, all []*model, c ledger.NewClaim, seen ledger.Submission, p ledger.Policy) string {
	f.Helper()
	var got, want any
	var err error
	kinds := kindsOfCalls(p)
	kind := kinds[d.IntN(len(kinds))]
	switch kind {
	case "claim":
		if p != ledger.Hold && !m.seen {
			return "nothing"
		}
		var claimed ledger.Claimed
		claimed, err = f.ledger.Claim(f.ctx, c)
		got, want = claimed.Owned, m.claim(c)
	case "store", "take":
		got, want, err = f.randomCourier(d, kind, m, c, p)
	case "settle":
		got, err = f.ledger.Settle(f.ctx, Ack(c, d.clock))
		want = m.settle(Ack(c, d.clock))
	case "doubt", "release":
		got, want, err = f.randomEnd(kind, m, d.ended(c))
	case "decide":
		return kind + f.randomDecision(d, m, c, seen)
	case "alert", "dispute":
		f.randomEvent(kind, m, c)
		return kind
	default:
		got, want, err = f.randomSweep(kind, m, all, c)
	}
	f.must(err)
	if got != want {
		f.Fatalf("%s answers %v, the contract %v; the row: %+v", kind, got, want, m.row)
	}
	return kind
}

func (f *fixture) randomEnd(kind string, m *model, e ledger.Ended) (got, want bool, err error) {
	if kind == "doubt" {
		got, err = f.ledger.Doubt(f.ctx, e)
		return got, m.doubt(e), err
	}
	got, err = f.ledger.Release(f.ctx, e)
	return got, m.release(e), err
}

func (f *fixture) randomCourier(d *dice, kind string, m *model, c ledger.NewClaim, p ledger.Policy) (got, want bool, err error) {
	if kind == "store" {
		if p == ledger.Hold {
			if p = ledger.Queue; !m.seen { // only beside a row under hold
				return false, false, nil
			}
		}
		n := d.entry(c, p)
		stored, err := f.ledger.Store(f.ctx, n)
		return stored.Fresh, m.store(n), err
	}
	taken, err := f.ledger.Take(f.ctx, c)
	if !m.seen && errors.Is(err, ledger.ErrUnseen) {
		err = nil
	}
	want = m.take(c)
	if taken.Owned && taken.Words != m.words.Words {
		f.Errorf("took the words %+v, not %+v", taken.Words, m.words)
	}
	return taken.Owned, want, err
}

func (f *fixture) randomEvent(kind string, m *model, c ledger.NewClaim) {
	f.Helper()
	switch {
	case !m.seen:
	case kind == "alert":
		f.told(m.row.ID, ledger.EventAlerted, c.At)
		m.alert(c.At)
	default:
		e := disputeOf(m.row.ID, 0)
		e.At = c.At
		f.must(f.ledger.Dispute(f.ctx, e))
		m.dispute(e.Claim, e.Cause, e.At)
	}
}

// randomSweep answers with what the ledger and what the model changed.
func (f *fixture) randomSweep(kind string, m *model, all []*model, c ledger.NewClaim) (got, want int, err error) {
	at := c.At
	switch kind {
	case "lapse":
		for _, m := range all {
			want += m.lapse(at, at)
		}
		got, err = f.ledger.Lapse(f.ctx, at, at)
	case "lapse claims":
		if m.row.Claim == c.Token {
			want = m.lapse(At(1e6*time.Hour), at)
		}
		got, err = f.ledger.LapseClaims(f.ctx, []ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, at)
	default:
		for _, m := range all {
			want += m.markUnsent(at.Add(-time.Minute), at)
		}
		got, err = f.ledger.MarkUnsent(f.ctx, at.Add(-time.Minute), at)
	}
	return got, want, err
}

func (f *fixture) randomDecision(d *dice, m *model, c ledger.NewClaim, seen ledger.Submission) string {
	f.Helper()
	if d.IntN(2) == 0 {
		seen = m.row
	}
	seen.ID = c.ID
	kind := []ledger.DecisionKind{ledger.Received, ledger.NotReceived, ledger.NotReceived, ledger.Close,
		ledger.SendAgain, ledger.SendAgain}[d.IntN(6)]
	what := ledger.Decision{Seen: seen, Kind: kind, By: "ada", At: At(d.clock)}
	want := m.decide(what)
	if err := f.ledger.Decide(f.ctx, what); !errors.Is(err, want) {
		f.Fatalf("deciding %s answers %v, the contract %v; the row: %+v", kind, err, want, m.row)
	}
	return " " + string(kind)
}

// agrees compares the model with the ledger's row and events.
func (f *fixture) agrees(m *model, what string) {
	f.Helper()
	if !m.seen {
		return
	}
	if diff := cmp.Diff(m.row, f.row(m.row.ID)); diff != "" {
		f.Fatalf("%s (-contract +row):\n%s", what, diff)
	}
	f.sameWords(m.row.ID, m.words)
	if got := len(f.events(m.row.ID)); got != len(m.events) {
		f.Fatalf("%s: %d events, the contract says %v", what, got, m.events)
	}
}

// listsAgree compares what the courier and the alerts are shown.
func (f *fixture) listsAgree(all []*model, q ledger.Due) {
	f.Helper()
	var due, unalerted []ledger.Submission
	for _, m := range all {
		if m.due(q) {
			due = append(due, m.row)
		}
		if m.unalerted() {
			unalerted = append(unalerted, m.row)
		}
	}
	slices.SortFunc(due, olderFirst)
	slices.SortFunc(unalerted, olderFirst)
	rows, err := f.ledger.Due(f.ctx, q)
	f.must(err)
	untold, err := f.ledger.Unalerted(f.ctx, 0)
	f.must(err)
	if diff := cmp.Diff(due, rows) + cmp.Diff(unalerted, untold); diff != "" {
		f.Fatalf("due, or unalerted (-contract +got):\n%s", diff)
	}
}

// ids are those of all rows.
func (d *dice) ids() []uuid.UUID {
	var ids []uuid.UUID
	for _, claims := range d.claims {
		ids = append(ids, claims[0].ID)
	}
	return ids
}
