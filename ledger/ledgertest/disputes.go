package ledgertest

import (
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

func disputeChecks() []check {
	return []check{
		{"DisputedStaysUntilAPersonDecides", disputedStays},
		{"ADisputedRowWhoseClaimStandsCanBeDecidedAfterItsLease", disputedLapses},
		{"HowADisputedCallEndedGoesOnRecord", disputedEvidence},
		{"EveryDisputeCanBeDecided", disputeDecided},
		{"AContradictionIsPutBeforeTheOperatorOnce", contradicted},
	}
}

func disputedStays(f *fixture) {
	for _, s := range disputedStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		if before.Needs != ledger.NeedsDisputed {
			f.Fatalf("%s: needs %q", s.name, before.Needs)
		}
		f.Log(s.name)
		if s.name == "disputed while claimed" { // the one that the sweep goes on with
			f.claimOnly(c)
		} else {
			f.machineWrites(c)
		}
		f.same(before)
	}
}

// claimOnly tries all that a claim's holder can write, and no sweep.
func (f *fixture) claimOnly(c ledger.NewClaim) {
	f.Helper()
	c.Policy = ledger.Hold
	f.refuse(c)
	f.refuseTake(c)
	f.settle(Ack(c, 3*time.Hour), false)
	f.doubt(End(c, "timeout/dot", 3*time.Hour), false)
	f.release(End(c, "refused/rcpt", 3*time.Hour), false)
	f.write(f.ledger.MarkUnsent(f.ctx, At(1000*time.Hour), At(3*time.Hour)))
}

// Nobody decides while a send may be under way, so the lease has to end for a
// disputed row too: it stays disputed.
func disputedLapses(f *fixture) {
	byTime := f.disputedClaimed()
	f.decideFails(decision(f.row(byTime.ID), ledger.NotReceived), ledger.ErrClaimed)
	before := f.row(byTime.ID)
	f.lapse(At(time.Hour), 1)
	f.changed(before, func(s *ledger.Submission) {
		s.Status, s.Doubted, s.LastError = ledger.Uncertain, true, f.row(byTime.ID).LastError
	})
	f.decide(byTime.ID, ledger.Received)

	byName := f.disputedClaimed()
	f.lapseClaims([]ledger.OpenClaim{{ID: byName.ID, Claim: byName.Token}}, 1)
	if row := f.row(byName.ID); row.Status != ledger.Uncertain || row.Needs != ledger.NeedsDisputed {
		f.Errorf("%s, needs %q", row.Status, row.Needs)
	}
}

func disputedEvidence(f *fixture) {
	for _, end := range []func(c ledger.NewClaim){
		func(c ledger.NewClaim) { f.settle(Ack(c, time.Hour), false) },
		func(c ledger.NewClaim) { f.doubt(End(c, "timeout/dot", time.Hour), false) },
		func(c ledger.NewClaim) { f.release(End(c, "refused/rcpt", time.Hour), false) },
	} {
		c := f.disputedClaimed()
		before, events := f.row(c.ID), len(f.events(c.ID))
		end(c)
		end(c)
		f.same(before)
		all := f.events(c.ID)
		last := all[len(all)-1]
		if len(all) != events+1 || last.Kind != ledger.EventDisputed || last.Claim != c.Token || last.Cause+last.Note == "" {
			f.Errorf("events: %+v", all[events:])
		}
	}
}

func disputeDecided(f *fixture) {
	for _, s := range disputedStates() {
		for _, kind := range []ledger.DecisionKind{ledger.Received, ledger.NotReceived, ledger.Close} {
			c := s.reach(f)
			f.sweeps(c.ID)
			if f.row(c.ID).Status == ledger.Accepted && kind == ledger.NotReceived {
				continue
			}
			f.decide(c.ID, kind)
			if row := f.row(c.ID); row.Needs != ledger.NeedsNobody {
				f.Errorf("%s, then %s: needs %q", s.name, kind, row.Needs)
			}
		}
	}
}

// disputeOf is a contradiction that somebody else than a call has found.
func disputeOf(id uuid.UUID, after time.Duration) ledger.Event {
	return ledger.Event{Submission: id, At: At(after), Kind: ledger.EventDisputed, Actor: ledger.ActorSystem, Cause: "bounced/hook"}
}

// A dispute changes nothing but Needs, wherever the row stands.
func contradicted(f *fixture) {
	try := func(c ledger.NewClaim) {
		before, words, events := f.row(c.ID), f.words(c.ID), len(f.events(c.ID))
		for range 3 {
			f.must(f.ledger.Dispute(f.ctx, disputeOf(c.ID, 5*time.Hour)))
		}
		if before.Needs == ledger.NeedsDisputed {
			f.same(before)
		} else {
			f.changed(before, func(s *ledger.Submission) { s.Needs = ledger.NeedsDisputed })
		}
		f.sameWords(c.ID, words)
		f.isDue(c.ID, false)
		f.refuseTake(Again(c, 6*time.Hour))
		all := f.events(c.ID)
		if last := all[len(all)-1]; len(all) != events+1 || last.Kind != ledger.EventDisputed || last.Cause != "bounced/hook" {
			f.Errorf("events: %+v", all[events:])
		}
	}
	for _, s := range allStates() {
		f.Log(s.name)
		try(s.reach(f))
	}
	f.fromEachKept(append(keptStates(), keptDisputes()...), try)
}
