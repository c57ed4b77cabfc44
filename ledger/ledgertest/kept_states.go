package ledgertest

import (
	"time"

	"formledger/ledger"
)

// keptState is a way that a row can stand whose words are or were kept.
type keptState struct {
	name  string
	reach func(*fixture, ledger.Policy) ledger.NewClaim
}

// keptStates are those that the contract can reach under queue and retry, but
// for the cases that are disputed.
func keptStates() []keptState {
	return []keptState{
		{"stored", func(f *fixture, p ledger.Policy) ledger.NewClaim { return Taking(f.stored(p), 0) }},
		{"taken", (*fixture).taken},
		{"not sent", (*fixture).notSent},
		{"refused for good", (*fixture).refusedForGood},
		{"stopped at the cap", (*fixture).stoppedAtCap},
		{"doubted", (*fixture).keptDoubted},
		{"lapsed", (*fixture).keptLapsed},
		{"uncertain", (*fixture).keptUncertain},
		{"accepted", (*fixture).keptAccepted},
		{"accepted by an operator", (*fixture).keptReceived},
		{"closed while waiting", func(f *fixture, p ledger.Policy) ledger.NewClaim { return f.closedAfter(f.notSent(p)) }},
		{"closed while stopped", func(f *fixture, p ledger.Policy) ledger.NewClaim { return f.closedAfter(f.refusedForGood(p)) }},
		{"closed while uncertain", func(f *fixture, p ledger.Policy) ledger.NewClaim { return f.closedAfter(f.keptUncertain(p)) }},
	}
}

func keptDisputes() []keptState {
	return []keptState{
		{"disputed while taken", (*fixture).disputedTaken},
		{"disputed while uncertain", (*fixture).keptDisputed},
	}
}

// fromEachKept reaches every state under every policy that keeps words.
func (f *fixture) fromEachKept(states []keptState, try func(c ledger.NewClaim)) {
	f.Helper()
	for _, p := range keeping {
		for _, s := range states {
			c := s.reach(f, p)
			f.Logf("%s: %s", p, s.name)
			try(c)
		}
	}
}

func (f *fixture) notSent(p ledger.Policy) ledger.NewClaim {
	return f.fail(Taking(f.stored(p), 0), "refused/rcpt", time.Second)
}

func (f *fixture) refusedForGood(p ledger.Policy) ledger.NewClaim {
	return f.fail(Taking(f.stored(p), 0), ledger.ForGood("refused/rcpt"), time.Second)
}

func (f *fixture) stoppedAtCap(p ledger.Policy) ledger.NewClaim {
	c := Taking(f.stored(p), 0)
	for i := range AttemptCap {
		c = f.fail(c, "refused/rcpt", time.Duration(i)*time.Minute)
	}
	return c
}

func (f *fixture) keptDoubted(p ledger.Policy) ledger.NewClaim {
	c := f.taken(p)
	f.doubt(End(c, "timeout/dot", time.Second), true)
	return c
}

func (f *fixture) keptLapsed(p ledger.Policy) ledger.NewClaim {
	c := f.taken(p)
	f.lapseClaims([]ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, 1)
	return c
}

// keptUncertain is a row that is held: under retry, it has come to its cap.
func (f *fixture) keptUncertain(p ledger.Policy) ledger.NewClaim {
	c := f.keptDoubted(p)
	for i := 1; p == ledger.Retry && i < AttemptCap; i++ {
		c = Again(c, time.Duration(i)*time.Minute)
		f.take(c)
		f.doubt(End(c, "timeout/dot", time.Duration(i)*time.Minute), true)
	}
	return c
}

func (f *fixture) keptAccepted(p ledger.Policy) ledger.NewClaim {
	c := f.taken(p)
	f.settle(Ack(c, time.Second), true)
	return c
}

func (f *fixture) keptReceived(p ledger.Policy) ledger.NewClaim {
	c := f.keptUncertain(p)
	f.decide(c.ID, ledger.Received)
	return c
}

func (f *fixture) closedAfter(c ledger.NewClaim) ledger.NewClaim {
	f.decide(c.ID, ledger.Close)
	return c
}

// disputedTaken is a row whose first claim, given back, proves itself after all
// while the second is at work.
func (f *fixture) disputedTaken(p ledger.Policy) ledger.NewClaim {
	first := f.notSent(p)
	second := Again(first, time.Minute)
	f.take(second)
	f.settle(Ack(first, 2*time.Minute), false)
	return second
}

func (f *fixture) keptDisputed(p ledger.Policy) ledger.NewClaim {
	c := f.disputedTaken(p)
	f.lapseClaims([]ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, 1)
	return c
}
