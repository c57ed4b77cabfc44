package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func policyChecks() []check {
	return []check{
		{"WhatWasNotSentIsTriedAgain", notSentIsTriedAgain},
		{"EightRecordedFailuresStop", eightFailuresStop},
		{"RetryStopsAfterSixteenClaimsThatLapsed", sixteenClaimsStop},
		{"ACapOfZeroIsNone", noCaps},
		{"WhatNeverReachedTheRelayUsesUpNothing", unreachedUsesNothing},
		{"ARefusalForGoodStopsAtOnce", refusalStops},
		{"RetryThatWasDoubtedEndsUncertain", doubtedEndsUncertain},
		{"Promise5_QueueHoldsADoubt", queueHoldsADoubt},
		{"RetryTriesAgainAfterADoubt", retryAfterADoubt},
		{"QueueHoldsALapsedClaim", queueLapses},
		{"RetryTriesAgainAfterALapsedClaim", retryLapses},
		{"Promise6_AProofFreesWhatQueueHolds", proofFreesHeld},
		{"ADisputedRowIsNotDue", disputedIsNotDue},
		{"TheNextAttemptIsWhenTheEndSays", nextAttempt},
	}
}

func notSentIsTriedAgain(f *fixture) {
	for _, p := range keeping {
		c := f.taken(p)
		before, words := f.row(c.ID), f.words(c.ID)
		f.release(End(c, "refused/rcpt", time.Second), true)
		f.changed(before, func(s *ledger.Submission) {
			s.Claim, s.LeaseUntil, s.LastError, s.Attempts = ledger.Token{}, time.Time{}, "refused/rcpt", 1
		})
		f.isDue(c.ID, true)
		f.sameWords(c.ID, words)
		f.story(c.ID, ledger.EventReleased)
		f.unalerted()
	}
}

// stops checks that the courier has given up: the row is in the queue, nobody was
// told of it yet, and its words are kept for whoever allows one more attempt.
func (f *fixture) stops(c ledger.NewClaim, status ledger.Status, needs ledger.Need, cause string) {
	f.Helper()
	row := f.row(c.ID)
	if row.Status != status || row.Needs != needs || row.LastError != cause {
		f.Errorf("%s, needs %q after %q", row.Status, row.Needs, row.LastError)
	}
	f.isDue(c.ID, false)
	f.refuseTake(Again(c, time.Hour))
	f.kept(c.ID, true)
	f.unalerted(c.ID)
	events := f.events(c.ID)
	last := events[len(events)-1]
	if last.Kind != ledger.EventStopped || last.Cause != cause || last.Actor != ledger.ActorSystem || last.Claim.IsZero() || last.Note != "" {
		f.Errorf("the last event: %+v", last)
	}
	f.must(f.ledger.Record(f.ctx, ledger.Event{Submission: c.ID, At: At(1e4 * time.Hour), Kind: ledger.EventAlerted, Actor: ledger.ActorSystem}))
	f.unalerted()
}

func eightFailuresStop(f *fixture) {
	for _, p := range keeping {
		c := Taking(f.stored(p), 0)
		for i := 1; i < AttemptCap; i++ {
			c = f.fail(c, "refused/rcpt", time.Duration(i)*time.Minute)
			f.isDue(c.ID, true)
		}
		c = f.fail(c, "refused/rcpt", time.Hour)
		f.stops(c, ledger.Processing, ledger.NeedsStopped, "refused/rcpt")
		if row := f.row(c.ID); row.Attempts != AttemptCap || !row.Claim.IsZero() || row.Doubted {
			f.Errorf("%+v", row)
		}
	}
}

// A claim whose record was never written counts as a claim, not as a failure.
func sixteenClaimsStop(f *fixture) {
	c := Taking(f.stored(ledger.Retry), 0)
	for i := range ClaimCap {
		f.isDue(c.ID, true)
		c = Again(c, time.Duration(i)*time.Hour)
		f.take(c)
		f.lapse(At(time.Duration(i+1)*time.Hour), 1)
	}
	f.stops(c, ledger.Uncertain, ledger.NeedsUncertain, "lease_lapsed")
	if row := f.row(c.ID); row.Claims != ClaimCap || row.Attempts != 0 || row.Claim != c.Token {
		f.Errorf("%+v", row)
	}
}

func noCaps(f *fixture) {
	for _, p := range keeping {
		n := NewEntry(p)
		n.AttemptCap, n.ClaimCap = 0, 0
		f.store(n)
		c := Taking(n, 0)
		for i := range 3 * AttemptCap {
			c = f.fail(c, "refused/rcpt", time.Duration(i)*time.Minute)
		}
		f.isDue(n.ID, true)
		if row := f.row(n.ID); row.Attempts != 3*AttemptCap || row.AttemptCap != 0 || row.ClaimCap != 0 {
			f.Errorf("%+v", row)
		}
	}
}

func unreachedUsesNothing(f *fixture) {
	for _, p := range keeping {
		c := Taking(f.stored(p), 0)
		for i := range 3 * ClaimCap {
			c = Again(c, time.Duration(i)*time.Minute)
			f.take(c)
			unreached := End(c, "unreached/dial", time.Duration(i)*time.Minute)
			unreached.Attempted = false
			f.release(unreached, true)
		}
		f.isDue(c.ID, true)
		if row := f.row(c.ID); row.Attempts != 0 || row.ClaimCap-row.Claims != ClaimCap || row.AttemptCap != AttemptCap {
			f.Errorf("%+v", row)
		}
	}
}

func refusalStops(f *fixture) {
	for _, p := range keeping {
		c := f.refusedForGood(p)
		f.stops(c, ledger.Processing, ledger.NeedsStopped, ledger.ForGood("refused/rcpt"))
		if row := f.row(c.ID); row.Attempts != 1 || !row.RefusedForGood() {
			f.Errorf("%+v", row)
		}
		f.story(c.ID, ledger.EventReleased, ledger.EventStopped, ledger.EventAlerted)
	}
}

// What a person has to settle then is whether it arrived.
func doubtedEndsUncertain(f *fixture) {
	for _, cause := range []string{"refused/rcpt", ledger.ForGood("refused/rcpt")} {
		c := f.keptDoubted(ledger.Retry)
		last := AttemptCap - 1
		if cause != "refused/rcpt" {
			last = 1
		}
		for i := range last {
			c = f.fail(c, cause, time.Duration(i+1)*time.Minute)
		}
		f.stops(c, ledger.Uncertain, ledger.NeedsUncertain, cause)
		if row := f.row(c.ID); !row.Claim.IsZero() || !row.Doubted {
			f.Errorf("%+v", row)
		}
	}
}

func queueHoldsADoubt(f *fixture) {
	c := f.taken(ledger.Queue)
	before, words := f.row(c.ID), f.words(c.ID)
	ended := End(c, "timeout/dot", time.Second)
	ended.Next, ended.Note = At(time.Hour), "S: 354 go ahead"
	f.doubt(ended, true)
	f.changed(before, func(s *ledger.Submission) {
		s.Status, s.Needs, s.Doubted = ledger.Uncertain, ledger.NeedsUncertain, true
		s.LastError, s.Attempts = "timeout/dot", 1
	})
	f.sameWords(c.ID, words)
	f.stops(c, ledger.Uncertain, ledger.NeedsUncertain, "timeout/dot")
	f.story(c.ID, ledger.EventDoubted, ledger.EventStopped, ledger.EventAlerted)
	f.doubt(ended, false)
	f.sweeps(c.ID)
	f.isDue(c.ID, false)
}

func retryAfterADoubt(f *fixture) {
	c := f.taken(ledger.Retry)
	before := f.row(c.ID)
	f.doubt(End(c, "timeout/dot", time.Second), true)
	f.changed(before, func(s *ledger.Submission) {
		s.Claim, s.LeaseUntil, s.Doubted = ledger.Token{}, time.Time{}, true
		s.LastError, s.Attempts = "timeout/dot", 1
	})
	f.isDue(c.ID, true)
	f.story(c.ID, ledger.EventDoubted)
	f.unalerted()
	f.doubt(End(c, "timeout/dot", time.Second), false)
	again := Again(c, time.Minute)
	f.take(again)
	f.settle(Ack(again, time.Minute), true)
	if row := f.row(c.ID); !row.Doubted || row.Status != ledger.Accepted {
		f.Errorf("%+v", row)
	}
}

func queueLapses(f *fixture) {
	c := f.taken(ledger.Queue)
	f.lapse(At(time.Hour), 1)
	f.stops(c, ledger.Uncertain, ledger.NeedsUncertain, "lease_lapsed")
	if row := f.row(c.ID); row.Attempts != 0 || row.Claim != c.Token || !row.Doubted {
		f.Errorf("%+v", row)
	}
	f.story(c.ID, ledger.EventLapsed, ledger.EventStopped, ledger.EventAlerted)
}

// Only its claim is counted, and the next attempt stays as it was noted.
func retryLapses(f *fixture) {
	for _, lapse := range []func(c ledger.NewClaim){
		func(ledger.NewClaim) { f.lapse(At(time.Hour), 1) },
		func(c ledger.NewClaim) { f.lapseClaims([]ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, 1) },
	} {
		c := f.taken(ledger.Retry)
		before, words := f.row(c.ID), f.words(c.ID)
		lapse(c)
		f.changed(before, func(s *ledger.Submission) {
			s.Claim, s.LeaseUntil, s.Doubted, s.LastError = ledger.Token{}, time.Time{}, true, "lease_lapsed"
		})
		f.isDue(c.ID, true)
		f.sameWords(c.ID, words)
		f.story(c.ID, ledger.EventLapsed)
		f.take(Again(c, 2*time.Hour))
	}
}

func proofFreesHeld(f *fixture) {
	for _, reach := range []func(*fixture, ledger.Policy) ledger.NewClaim{(*fixture).keptDoubted, (*fixture).keptLapsed} {
		c := reach(f, ledger.Queue)
		f.release(End(c, "sealed/inquiry", time.Hour), true)
		f.isDue(c.ID, true)
		f.kept(c.ID, true)
		if row := f.row(c.ID); !row.Doubted {
			f.Errorf("that it was doubted is forgotten: %+v", row)
		}
	}
}

func disputedIsNotDue(f *fixture) {
	f.fromEachKept(keptDisputes(), func(c ledger.NewClaim) {
		before, words := f.row(c.ID), f.words(c.ID)
		f.isDue(c.ID, false)
		f.refuseTake(Again(c, time.Hour))
		f.claimOnly(c)
		f.isDue(c.ID, false)
		f.same(before)
		f.sameWords(c.ID, words)
	})
}

func nextAttempt(f *fixture) {
	for _, p := range keeping {
		c := f.taken(p)
		ended := End(c, "refused/rcpt", time.Second)
		ended.Next = At(30 * time.Minute)
		f.release(ended, true)
		f.dueFrom(c, ended.Next)

		c = Again(c, time.Hour)
		f.take(c)
		f.release(End(c, "refused/rcpt", time.Hour), true) // which says nothing
		f.dueFrom(c, ended.Next)

		c = Again(c, time.Hour)
		f.take(c)
		ended = End(c, ledger.ForGood("refused/rcpt"), time.Hour)
		ended.Next = At(3 * time.Hour)
		f.release(ended, true) // and does not wait
		f.dueFrom(c, At(30*time.Minute))
	}
	c := f.taken(ledger.Retry)
	ended := End(c, "timeout/dot", time.Second)
	ended.Next = At(10 * time.Minute)
	f.doubt(ended, true)
	f.dueFrom(c, ended.Next)
}

func (f *fixture) dueFrom(c ledger.NewClaim, want time.Time) {
	f.Helper()
	if diff := cmp.Diff(toMillis(want), f.words(c.ID).Next); diff != "" {
		f.Fatalf("the next attempt (-want +got):\n%s", diff)
	}
}
