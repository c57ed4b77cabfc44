package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func endChecks() []check {
	return []check{
		{"Promise5_ADoubtMakesTheRowUncertain", doubtNormal},
		{"Promise5_ADoubtIsIdempotent", doubtRepeated},
		{"Promise5_UncertainStays", uncertainStays},
		{"Promise6_AReleaseFreesTheRow", releaseNormal},
		{"Promise6_AReleaseByProofFreesAnUncertainRow", releaseUncertain},
		{"Promise6_OnlyTheStandingClaimEndsACall", staleEnds},
		{"Promise6_AReleaseContradictsAnOperatorsWord", releaseReceived},
		{"Promise7_SomebodyIsTold", somebodyIsTold},
	}
}

func doubtNormal(f *fixture) {
	c := f.fresh()
	before := f.row(c.ID)
	f.doubt(End(c, "timeout/dot", time.Second), true)
	f.changed(before, func(s *ledger.Submission) {
		s.Status, s.Needs, s.Doubted = ledger.Uncertain, ledger.NeedsUncertain, true
		s.LastError, s.Attempts = "timeout/dot", 1
	})
	f.endEvent(c, ledger.EventDoubted, "timeout/dot")
}

func doubtRepeated(f *fixture) {
	c := f.doubted()
	before := f.row(c.ID)
	for range 3 {
		f.doubt(End(c, "timeout/dot", time.Minute), false)
	}
	f.same(before)
	f.story(c.ID, ledger.EventDoubted)
}

// Neither time nor a repeat changes it. (The restart is the engine's own test.)
func uncertainStays(f *fixture) {
	for _, s := range []state{{"doubted", (*fixture).doubted}, {"lapsed", (*fixture).lapsed}} {
		c := s.reach(f)
		before := f.row(c.ID)
		f.Log(s.name)
		f.refuse(c)
		f.refuse(Again(c, time.Hour))
		f.doubt(End(c, "timeout/dot", time.Hour), false)
		f.sweeps(c.ID)
		f.same(before)
	}
}

func releaseNormal(f *fixture) {
	c := f.fresh()
	before := f.row(c.ID)
	f.release(End(c, "refused/rcpt", time.Second), true)
	free := f.changed(before, func(s *ledger.Submission) {
		s.Claim, s.LeaseUntil, s.LastError, s.Attempts = ledger.Token{}, time.Time{}, "refused/rcpt", 1
	})
	if !free.Free() {
		f.Error("the row is not free")
	}
	f.endEvent(c, ledger.EventReleased, "refused/rcpt")
	f.release(End(c, "refused/rcpt", time.Minute), false)
	f.same(free)
	f.story(c.ID, ledger.EventReleased)
}

func releaseUncertain(f *fixture) {
	for _, s := range []state{{"doubted", (*fixture).doubted}, {"lapsed", (*fixture).lapsed}} {
		c := s.reach(f)
		f.release(End(c, "sealed/inquiry", 2*time.Hour), true)
		row := f.row(c.ID)
		if !row.Free() || !row.Doubted {
			f.Errorf("%s: %+v", s.name, row)
		}
		f.endEvent(c, ledger.EventReleased, "sealed/inquiry")
		f.own(Again(c, 3*time.Hour))
	}
	c := f.closedUncertain()
	f.release(End(c, "sealed/inquiry", 2*time.Hour), true)
	f.refuse(Again(c, 3*time.Hour))
}

// A claim that ended, or that never was, changes nothing of a row that another
// holds; nor does its own claim once the row is free.
func staleEnds(f *fixture) {
	stale := f.released()
	standing := Again(stale, time.Minute)
	f.own(standing)
	for _, c := range []ledger.NewClaim{stale, Again(stale, 0)} {
		before := f.row(c.ID)
		f.doubt(End(c, "timeout/dot", time.Hour), false)
		f.release(End(c, "refused/rcpt", time.Hour), false)
		f.same(before)
	}
	f.story(stale.ID, ledger.EventReleased)
	f.release(End(standing, "refused/rcpt", time.Hour), true)
	before := f.row(stale.ID)
	f.doubt(End(standing, "timeout/dot", time.Hour), false)
	f.same(before)
}

func releaseReceived(f *fixture) {
	c := f.received()
	before := f.row(c.ID)
	for range 3 {
		f.release(End(c, "sealed/inquiry", 2*time.Hour), false)
	}
	f.changed(before, func(s *ledger.Submission) { s.Needs = ledger.NeedsDisputed })
	f.endEvent(c, ledger.EventDisputed, "sealed/inquiry")
	f.story(c.ID, ledger.EventDoubted, ledger.EventReceived, ledger.EventDisputed)
}

// The queue holds exactly the rows that somebody has to look at. (The released
// row is swept together with the unsent one.)
func somebodyIsTold(f *fixture) {
	want := map[string]ledger.Need{
		"released": ledger.NeedsUnsent, "unsent": ledger.NeedsUnsent,
		"doubted": ledger.NeedsUncertain, "lapsed": ledger.NeedsUncertain,
	}
	names := map[uuid.UUID]string{}
	for _, s := range allStates() {
		names[s.reach(f).ID] = s.name
	}
	for _, s := range disputedStates() {
		want[s.name] = ledger.NeedsDisputed
	}
	rows, err := f.ledger.List(f.ctx, ledger.Filter{NeedsSomebody: true})
	f.must(err)
	got := map[string]ledger.Need{}
	for _, row := range rows {
		got[names[row.ID]] = row.Needs
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("the operator's queue (-want +got):\n%s", diff)
	}
}

// endEvent checks the newest event of a claim's row, one that ended its call.
func (f *fixture) endEvent(c ledger.NewClaim, kind ledger.EventKind, cause string) {
	f.Helper()
	events := f.events(c.ID)
	last := events[len(events)-1]
	if last.Kind != kind || last.Claim != c.Token || last.Cause != cause || last.Actor != ledger.ActorSystem || last.Times != 1 {
		f.Errorf("the last event: %+v", last)
	}
}
