package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func randomChecks() []check {
	return []check{
		{"AnySequenceOfCallsDoesWhatTheContractSays", randomSequence},
		{"AnyInterleavingOfCallsKeepsTheInvariants", randomInterleaving},
	}
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

func randomSequence(f *fixture) {
	seed := f.seed()
	const rows = 4
	d := newDice(seed, rows)
	var models [rows]*model
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
		what := f.randomCall(d, m, models[:], c, before[i])
		for _, m := range models {
			f.agrees(m, fmt.Sprintf("seed %d, step %d: %s", seed, step, what))
		}
		// a row that has come to its end is followed by another
		if m.row.Status == ledger.Accepted && d.IntN(6) == 0 {
			models[i], before[i] = &model{told: map[string]bool{}}, ledger.Submission{}
			d.claims[i] = newDice(seed, 1).claims[0]
		}
	}
}

// randomCall makes one call on the ledger and on the model, and compares what
// they answer.
func (f *fixture) randomCall(d *dice, m *model, all []*model, c ledger.NewClaim, seen ledger.Submission) string {
	f.Helper()
	var got, want any
	var err error
	kind := []string{"claim", "claim", "settle", "doubt", "release", "decide", "decide", "lapse", "lapse claims", "mark unsent"}[d.IntN(10)]
	switch kind {
	case "claim":
		var claimed ledger.Claimed
		claimed, err = f.ledger.Claim(f.ctx, c)
		got, want = claimed.Owned, m.claim(c)
	case "settle":
		got, err = f.ledger.Settle(f.ctx, Ack(c, d.clock))
		want = m.settle(Ack(c, d.clock))
	case "doubt":
		got, err = f.ledger.Doubt(f.ctx, End(c, "timeout/dot", d.clock))
		want = m.doubt(End(c, "timeout/dot", d.clock))
	case "release":
		got, err = f.ledger.Release(f.ctx, End(c, "refused/rcpt", d.clock))
		want = m.release(End(c, "refused/rcpt", d.clock))
	case "decide":
		return kind + f.randomDecision(d, m, c, seen)
	default:
		got, want, err = f.randomSweep(kind, m, all, c)
	}
	f.must(err)
	if got != want {
		f.Fatalf("%s answers %v, the contract %v; the row: %+v", kind, got, want, m.row)
	}
	return kind
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
	kind := []ledger.DecisionKind{ledger.Received, ledger.NotReceived, ledger.NotReceived, ledger.Close}[d.IntN(4)]
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
	if got := len(f.events(m.row.ID)); got != len(m.events) {
		f.Fatalf("%s: %d events, the contract says %v", what, got, m.events)
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
