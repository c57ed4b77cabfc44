package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func claimChecks() []check {
	return []check{
		{"Promise1_WhatIsOwnedIsRecorded", ownedIsRecorded},
		{"Promise3_OneIDOneContent", oneIDOneContent},
		{"Promise3_OneTokenOneContent", oneTokenOneContent},
		{"Promise3_ARepeatGetsWhatIsRecorded", repeatGetsRecord},
		{"AnErroredClaimIsRepeatedAndOwned", erroredClaimRepeated},
		{"AnErroredReclaimIsRepeatedAndOwned", erroredReclaimRepeated},
		{"AnErroredClaimIsNotOwnedOnceItEnded", endedClaimRepeated},
		{"AnAbandonedClaimIsReleased", abandonedClaim},
		{"AReleasedRowIsClaimedAgain", reclaim},
		{"AnUnsentRowIsClaimedAgain", reclaimUnsent},
		{"AClaimThatTheSchemaRefusesIsAnErrorAndNoReplay", refusedClaim},
		{"AWriteWithoutAClaimIsAnError", zeroToken},
	}
}

func ownedIsRecorded(f *fixture) {
	c := NewClaim()
	row := f.own(c)
	want := ledger.Submission{
		ID: c.ID, Reference: ledger.ReferenceOf(c.ID), Form: "contact", Policy: ledger.Hold, PayloadHash: c.PayloadHash,
		Status: ledger.Processing, CreatedAt: toMillis(c.At), Claim: c.Token, LeaseUntil: toMillis(c.LeaseUntil),
		RelayEpoch: "epoch-1", Claims: 1, UpdatedAt: toMillis(c.At),
	}
	if diff := cmp.Diff(want, row); diff != "" {
		f.Errorf("the answer (-want +got):\n%s", diff)
	}
	f.same(want)
	f.story(c.ID)
}

func toMillis(t time.Time) time.Time { return t.Truncate(time.Millisecond) }

func oneIDOneContent(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		other := Again(c, 4*time.Hour)
		other.PayloadHash = Hash("other words")
		f.Log(s.name)
		f.refuse(other)
	}
}

func allStates() []state {
	return append(append(openStates(), settledStates()...), disputedStates()...)
}

func oneTokenOneContent(f *fixture) {
	c := f.fresh()
	c.PayloadHash = Hash("other words")
	f.refuse(c)
}

// Whether a repeat may send is told by Free, and by nothing else.
func repeatGetsRecord(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		f.Log(s.name)
		if f.row(c.ID).Free() {
			f.own(Again(c, 4*time.Hour))
		} else {
			f.refuse(Again(c, 4*time.Hour))
		}
	}
}

func erroredClaimRepeated(f *fixture) {
	c := NewClaim()
	faulty := NewFaulty(f.ledger)
	for _, when := range []When{Before, After, After} {
		faulty.Fail("Claim", when, 1)
		if got, err := faulty.Claim(f.ctx, c); !errors.Is(err, ErrInjected) || got.Owned {
			f.Fatalf("got %+v, %v", got, err)
		}
	}
	row := f.own(c)
	if row.Claims != 1 || row.Claim != c.Token {
		f.Errorf("%d claims, standing: %v", row.Claims, row.Claim)
	}
	f.refuse(Again(c, time.Second))
	f.story(c.ID)
}

func erroredReclaimRepeated(f *fixture) {
	c := Again(f.released(), time.Minute)
	f.own(c)
	before := f.row(c.ID)
	if row := f.own(c); row.Claims != 2 {
		f.Errorf("%d claims", row.Claims)
	}
	f.same(before)
}

func endedClaimRepeated(f *fixture) {
	for _, s := range []state{
		{"doubted", (*fixture).doubted}, {"lapsed", (*fixture).lapsed}, {"accepted", (*fixture).accepted},
		{"received", (*fixture).received}, {"closed", (*fixture).closedUncertain},
		{"disputed while claimed", (*fixture).disputedClaimed},
	} {
		f.Log(s.name)
		f.refuse(s.reach(f))
	}
}

// Nothing was sent under a claim that was given up, so it counts no failure.
func abandonedClaim(f *fixture) {
	c := NewClaim()
	gaveUp := End(c, "claim_abandoned/claim", time.Second)
	gaveUp.Attempted = false
	f.release(gaveUp, false) // it had not reached the ledger
	before := f.own(c)
	f.release(gaveUp, true)
	f.changed(before, func(s *ledger.Submission) {
		s.Claim, s.LeaseUntil, s.LastError = ledger.Token{}, time.Time{}, "claim_abandoned/claim"
	})
	f.release(gaveUp, false)
	f.own(Again(c, time.Minute))
}

func reclaim(f *fixture) {
	first := f.released()
	before := f.row(first.ID)
	second := Again(first, time.Minute)
	second.RelayEpoch, second.Form = "epoch-2", "renamed"
	f.own(second)
	f.changed(before, func(s *ledger.Submission) {
		s.Claim, s.LeaseUntil, s.RelayEpoch, s.Claims = second.Token, toMillis(second.LeaseUntil), "epoch-2", 2
	})
	f.refuse(Again(first, time.Minute))
}

func reclaimUnsent(f *fixture) {
	c := f.unsent()
	row := f.own(Again(c, time.Hour))
	if row.Needs != ledger.NeedsNobody || row.Claims != 2 {
		f.Errorf("needs %q after %d claims", row.Needs, row.Claims)
	}
}

func refusedClaim(f *fixture) {
	c := NewClaim()
	c.Policy = "as you like"
	if got, err := f.ledger.Claim(f.ctx, c); err == nil {
		f.Errorf("no error, but %+v", got)
	}
	if _, err := f.ledger.Submission(f.ctx, c.ID); !errors.Is(err, ledger.ErrUnseen) {
		f.Errorf("reading the row: %v", err)
	}
	c.Policy = ledger.Hold
	f.own(c)
}

// A zero token would read as no claim at all.
func zeroToken(f *fixture) {
	c := f.released()
	before := f.row(c.ID)
	c.Token = ledger.Token{}
	_, claim := f.ledger.Claim(f.ctx, c)
	_, settle := f.ledger.Settle(f.ctx, Ack(c, time.Hour))
	_, doubt := f.ledger.Doubt(f.ctx, End(c, "timeout/dot", time.Hour))
	_, release := f.ledger.Release(f.ctx, End(c, "refused/rcpt", time.Hour))
	for _, err := range []error{claim, settle, doubt, release} {
		if err == nil {
			f.Error("no error")
		}
	}
	f.same(before)
}
