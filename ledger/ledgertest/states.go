package ledgertest

import (
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// state is a way that a row can stand, and how it gets there; reach answers
// with the last claim that was granted.
type state struct {
	name  string
	reach func(*fixture) ledger.NewClaim
}

// openStates, settledStates and disputedStates are all that the contract can
// reach.
func openStates() []state {
	return []state{
		{"claimed", (*fixture).fresh},
		{"released", (*fixture).released},
		{"unsent", (*fixture).unsent},
		{"doubted", (*fixture).doubted},
		{"lapsed", (*fixture).lapsed},
	}
}

func settledStates() []state {
	return []state{
		{"accepted by the relay", (*fixture).accepted},
		{"accepted late", (*fixture).acceptedLate},
		{"accepted by an operator", (*fixture).received},
		{"accepted by an operator, unclaimed", (*fixture).receivedUnclaimed},
		{"closed while uncertain", (*fixture).closedUncertain},
		{"closed while released", (*fixture).closedReleased},
	}
}

func disputedStates() []state {
	return []state{
		{"disputed while claimed", (*fixture).disputedClaimed},
		{"disputed while uncertain", (*fixture).disputedUncertain},
		{"disputed while accepted", (*fixture).disputedAccepted},
		{"disputed between two acceptances", (*fixture).acceptedTwice},
	}
}

func (f *fixture) released() ledger.NewClaim {
	c := f.fresh()
	f.release(End(c, "refused/rcpt", time.Second), true)
	return c
}

func (f *fixture) unsent() ledger.NewClaim {
	c := f.released()
	f.write(f.ledger.MarkUnsent(f.ctx, At(time.Minute), At(time.Minute)))
	return c
}

func (f *fixture) doubted() ledger.NewClaim {
	c := f.fresh()
	f.doubt(End(c, "timeout/dot", time.Second), true)
	return c
}

func (f *fixture) lapsed() ledger.NewClaim {
	c := f.fresh()
	f.lapseClaims([]ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, 1)
	return c
}

func (f *fixture) accepted() ledger.NewClaim {
	c := f.fresh()
	f.settle(Ack(c, time.Second), true)
	return c
}

func (f *fixture) acceptedLate() ledger.NewClaim {
	c := f.doubted()
	f.settle(Ack(c, time.Minute), true)
	return c
}

func (f *fixture) received() ledger.NewClaim {
	c := f.doubted()
	f.decide(c.ID, ledger.Received)
	return c
}

func (f *fixture) receivedUnclaimed() ledger.NewClaim {
	c := f.released()
	f.decide(c.ID, ledger.Received)
	return c
}

func (f *fixture) closedUncertain() ledger.NewClaim {
	c := f.doubted()
	f.decide(c.ID, ledger.Close)
	return c
}

func (f *fixture) closedReleased() ledger.NewClaim {
	c := f.released()
	f.decide(c.ID, ledger.Close)
	return c
}

// disputedClaimed is a row whose first claim, released, proves itself after
// all while the second is at work.
func (f *fixture) disputedClaimed() ledger.NewClaim {
	first := f.released()
	second := Again(first, time.Minute)
	f.own(second)
	f.settle(Ack(first, 2*time.Minute), false)
	return second
}

func (f *fixture) disputedUncertain() ledger.NewClaim {
	first := f.released()
	second := Again(first, time.Minute)
	f.own(second)
	f.doubt(End(second, "timeout/dot", 2*time.Minute), true)
	f.settle(Ack(first, 3*time.Minute), false)
	return second
}

// disputedAccepted is a row that an operator declared accepted before its call
// turned out to have sent nothing.
func (f *fixture) disputedAccepted() ledger.NewClaim {
	c := f.received()
	f.release(End(c, "sealed/inquiry", 2*time.Hour), false)
	return c
}

func (f *fixture) acceptedTwice() ledger.NewClaim {
	first := f.released()
	second := Again(first, time.Minute)
	f.own(second)
	f.settle(Ack(second, 2*time.Minute), true)
	f.settle(Ack(first, 3*time.Minute), false)
	return second
}

// machineWrites tries every write that no person makes on a row, with its
// standing claim and with one that it never had.
func (f *fixture) machineWrites(c ledger.NewClaim) {
	f.Helper()
	for _, token := range []ledger.Token{c.Token, NewToken()} {
		c.Token, c.Policy = token, ledger.Hold
		f.write(f.ledger.Claim(f.ctx, c))
		f.write(f.ledger.Take(f.ctx, c))
		f.write(f.ledger.Store(f.ctx, entryOf(c, ledger.Queue)))
		f.write(f.ledger.Settle(f.ctx, Ack(c, 3*time.Hour)))
		f.write(f.ledger.Doubt(f.ctx, End(c, "timeout/dot", 3*time.Hour)))
		f.write(f.ledger.Release(f.ctx, End(c, "refused/rcpt", 3*time.Hour)))
	}
	f.sweeps(c.ID)
}

// entryOf is an entry of a claim's content.
func entryOf(c ledger.NewClaim, p ledger.Policy) ledger.NewEntry {
	n := NewEntry(p)
	n.ID, n.PayloadHash, n.Due, n.At = c.ID, c.PayloadHash, c.At, c.At
	return n
}

// sweeps tries everything that time does to a row.
func (f *fixture) sweeps(id uuid.UUID) {
	f.Helper()
	f.write(f.ledger.Lapse(f.ctx, At(1000*time.Hour), At(3*time.Hour)))
	f.write(f.ledger.LapseClaims(f.ctx, []ledger.OpenClaim{{ID: id, Claim: f.row(id).Claim}}, At(3*time.Hour)))
	f.write(f.ledger.MarkUnsent(f.ctx, At(1000*time.Hour), At(3*time.Hour)))
	f.must(f.ledger.Conflict(f.ctx, id, At(3*time.Hour)))
}

func (f *fixture) write(_ any, err error) {
	f.Helper()
	f.must(err)
}
