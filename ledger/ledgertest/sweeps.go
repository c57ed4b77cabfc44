package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func sweepChecks() []check {
	return []check{
		{"ALeaseLapsesOnceItIsOver", lapseAtTheEdge},
		{"ALapseLooksAtClaimedRowsOnly", lapseOthers},
		{"ALapseTakesAllRows", lapseMany},
		{"OpenClaimsAreThoseUnderWhichASendMayBeUnderWay", openClaims},
		{"GivenClaimsLapseWhateverTheirLease", lapseGiven},
		{"GivenClaimsThatChangedMeanwhileDoNotLapse", lapseChanged},
		{"Promise7_AReleasedRowThatNobodyComesBackForIsUnsent", markUnsentRows},
		{"OnlyFreeRowsBecomeUnsent", markUnsentOthers},
	}
}

func lapseAtTheEdge(f *fixture) {
	c := f.fresh()
	before := f.row(c.ID)
	f.lapse(before.LeaseUntil.Add(-time.Millisecond), 0)
	f.lapse(before.LeaseUntil, 0)
	f.same(before)
	f.lapse(before.LeaseUntil.Add(time.Millisecond), 1)
	now := f.changed(before, func(s *ledger.Submission) {
		s.Status, s.Needs, s.Doubted = ledger.Uncertain, ledger.NeedsUncertain, true
		s.LastError = f.row(c.ID).LastError
	})
	if now.LastError == "" {
		f.Error("no cause is recorded")
	}
	f.endEvent(c, ledger.EventLapsed, now.LastError)
	f.lapse(At(time.Hour), 0)
	f.same(now)
}

func lapseOthers(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		claimed := before.Status == ledger.Processing && !before.Claim.IsZero()
		n, err := f.ledger.Lapse(f.ctx, At(24*time.Hour), At(24*time.Hour))
		f.must(err)
		if claimed != (n == 1) {
			f.Errorf("%s: %d rows lapsed", s.name, n)
		}
		if !claimed {
			f.same(before)
		}
	}
}

// More rows than any engine takes at once.
func lapseMany(f *fixture) {
	const many = 1234
	var errs [many]error
	parties(many, func(i int) { _, errs[i] = f.ledger.Claim(f.ctx, NewClaim()) })
	f.must(errors.Join(errs[:]...))
	f.lapse(At(time.Hour), many)
	rows, err := f.ledger.List(f.ctx, ledger.Filter{NeedsSomebody: true})
	if err != nil || len(rows) != many {
		f.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[:10] {
		f.story(row.ID, ledger.EventLapsed)
	}
}

func openClaims(f *fixture) {
	var want []ledger.OpenClaim
	for _, s := range allStates() {
		c := s.reach(f)
		if row := f.row(c.ID); row.Status == ledger.Processing && !row.Claim.IsZero() {
			want = append(want, ledger.OpenClaim{ID: row.ID, Claim: row.Claim, LeaseUntil: row.LeaseUntil})
		}
	}
	got, err := f.ledger.OpenClaims(f.ctx)
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 2 {
		f.Errorf("open claims (-want +got):\n%s", diff)
	}
}

func lapseGiven(f *fixture) {
	taken, left := f.fresh(), f.fresh()
	open, err := f.ledger.OpenClaims(f.ctx)
	f.must(err)
	open[0].LeaseUntil = At(1000 * time.Hour)
	f.lapseClaims(append(open[:1:1], ledger.OpenClaim{ID: NewClaim().ID, Claim: NewToken()}), 1)
	if open[0].ID != taken.ID {
		taken, left = left, taken
	}
	f.story(taken.ID, ledger.EventLapsed)
	f.story(left.ID)
	if row := f.row(taken.ID); row.Status != ledger.Uncertain || row.Needs != ledger.NeedsUncertain {
		f.Errorf("%s, needs %q", row.Status, row.Needs)
	}
	f.lapseClaims(nil, 0)
}

func lapseChanged(f *fixture) {
	settled, reclaimed := f.fresh(), f.fresh()
	open, err := f.ledger.OpenClaims(f.ctx)
	f.must(err)
	f.settle(Ack(settled, time.Second), true)
	f.release(End(reclaimed, "refused/rcpt", time.Second), true)
	f.own(Again(reclaimed, time.Minute))
	before := f.row(reclaimed.ID)
	f.lapseClaims(open, 0)
	f.same(before)
	f.story(settled.ID)
}

func markUnsentRows(f *fixture) {
	c := f.released()
	before := f.row(c.ID)
	f.markUnsent(before.UpdatedAt, 0)
	f.same(before)
	f.markUnsent(before.UpdatedAt.Add(time.Millisecond), 1)
	now := f.changed(before, func(s *ledger.Submission) { s.Needs = ledger.NeedsUnsent })
	f.story(c.ID, ledger.EventReleased, ledger.EventUnsent)
	f.markUnsent(At(24*time.Hour), 0)
	f.same(now)
}

func markUnsentOthers(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		free := before.Free() && before.Needs == ledger.NeedsNobody
		n, err := f.ledger.MarkUnsent(f.ctx, At(24*time.Hour), At(24*time.Hour))
		f.must(err)
		if free != (n == 1) {
			f.Errorf("%s: %d rows became unsent", s.name, n)
		}
		if !free {
			f.same(before)
		}
	}
}
