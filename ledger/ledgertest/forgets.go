package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func forgetChecks() []check {
	return []check{
		{"Promise3_AForgottenRowKeepsItsIdentity", forgottenKeepsIdentity},
		{"Promise3_AForgottenIDIsStillAnswered", forgottenIsAnswered},
		{"Promise7_WhatIsOpenOrNeedsSomebodyIsNotForgotten", openIsNotForgotten},
		{"WhatHasChangedSinceIsNotForgotten", recentIsNotForgotten},
		{"ForgettingLeavesOneEvent", forgettingLeavesOneEvent},
		{"ManyRowsAreForgottenInSlices", manyForgotten},
		{"AForgottenCaseCanBeTakenUpAgain", forgottenTakenUp},
		{"LateEvidenceOfAForgottenRow", lateEvidenceOfForgotten},
	}
}

// longAgo is older than everything that the suite does.
func longAgo() ledger.Forgetting {
	return ledger.Forgetting{Before: At(10_000 * time.Hour), At: At(20_000 * time.Hour), By: "ada"}
}

func (f *fixture) forget(what ledger.Forgetting, want int) {
	f.Helper()
	n, err := f.ledger.Forgettable(f.ctx, what.Before)
	f.must(err)
	got, err := f.ledger.Forget(f.ctx, what)
	f.must(err)
	if n != want || got != want {
		f.Fatalf("%d rows were to be forgotten and %d are, not %d", n, got, want)
	}
}

// ended are rows of every state that has ended, under every policy.
func (f *fixture) ended() (claims []ledger.NewClaim) {
	f.Helper()
	for _, s := range settledStates() {
		claims = append(claims, s.reach(f))
	}
	f.fromEachKept(keptStates(), func(c ledger.NewClaim) {
		if row := f.row(c.ID); !row.Open() {
			claims = append(claims, c)
		}
	})
	return claims
}

func forgottenKeepsIdentity(f *fixture) {
	claims := f.ended()
	var want []ledger.Submission
	for _, c := range claims {
		was := f.row(c.ID)
		row := ledger.Submission{ID: was.ID, Reference: was.Reference, Form: was.Form, Policy: was.Policy,
			PayloadHash: was.PayloadHash, Status: was.Status, ClosedAt: was.ClosedAt}
		if was.Status == ledger.Accepted {
			row.AcceptedBy = ledger.AcceptedAndForgotten
		}
		want = append(want, row)
	}
	f.forget(longAgo(), len(claims))
	for _, row := range want {
		f.same(row)
		if !row.Forgotten() || row.Open() || row.Free() || row.Waiting() {
			f.Errorf("%+v", row)
		}
		f.kept(row.ID, false)
		f.story(row.ID)
	}
	f.forget(longAgo(), 0) // once
}

func forgottenIsAnswered(f *fixture) {
	claims := f.ended()
	f.forget(longAgo(), len(claims))
	for _, c := range claims {
		for _, hash := range []string{c.PayloadHash, Hash("other words")} {
			again := Again(c, 30_000*time.Hour)
			again.PayloadHash = hash
			f.refuseTake(again)
			if f.row(c.ID).Policy == ledger.Hold {
				again.Policy = ledger.Hold
				f.refuse(again)
			}
			before := f.row(c.ID)
			got, err := f.ledger.Store(f.ctx, entryOf(again, ledger.Queue))
			f.must(err)
			if diff := cmp.Diff(ledger.Stored{Row: before}, got); diff != "" {
				f.Errorf("Store (-row +answer):\n%s", diff)
			}
		}
		f.sweeps(c.ID)
		f.story(c.ID, ledger.EventConflict)
	}
}

func openIsNotForgotten(f *fixture) {
	var all []ledger.NewClaim
	for _, s := range append(openStates(), disputedStates()...) {
		all = append(all, s.reach(f))
	}
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		if row := f.row(c.ID); row.Open() || row.Needs != "" {
			all = append(all, c)
		}
	})
	rows, events := f.rowsOf(all), f.eventsOf(all)
	f.write(f.ledger.Forget(f.ctx, longAgo()))
	if diff := cmp.Diff(rows, f.rowsOf(all)) + cmp.Diff(events, f.eventsOf(all)); diff != "" {
		f.Errorf("(-before +now):\n%s", diff)
	}
}

func (f *fixture) rowsOf(claims []ledger.NewClaim) (rows []ledger.Submission) {
	f.Helper()
	for _, c := range claims {
		rows = append(rows, f.row(c.ID))
	}
	return rows
}

func (f *fixture) eventsOf(claims []ledger.NewClaim) (events [][]ledger.Event) {
	f.Helper()
	for _, c := range claims {
		events = append(events, f.events(c.ID))
	}
	return events
}

func recentIsNotForgotten(f *fixture) {
	c := f.accepted()
	row := f.row(c.ID)
	just := longAgo()
	just.Before = row.UpdatedAt
	f.forget(just, 0)
	f.same(row)
	just.Before = row.UpdatedAt.Add(time.Millisecond)
	f.forget(just, 1)
}

func forgettingLeavesOneEvent(f *fixture) {
	f.forget(longAgo(), 0)
	f.story(uuid.Nil)
	claims := f.ended()
	f.forget(longAgo(), len(claims))
	events := f.events(uuid.Nil)
	if len(events) != 1 {
		f.Fatalf("%d events", len(events))
	}
	want := ledger.Event{ID: events[0].ID, At: toMillis(longAgo().At), Kind: ledger.EventForgotten, Actor: ledger.Operator("ada"),
		Note: "whose last change was before " + longAgo().Before.Format(time.RFC3339), Times: int64(len(claims)), LastAt: toMillis(longAgo().At)}
	if diff := cmp.Diff(want, events[0]); diff != "" {
		f.Errorf("(-want +got):\n%s", diff)
	}
	f.accepted()
	next := longAgo()
	next.At = next.At.Add(time.Hour)
	f.forget(next, 1)
	f.story(uuid.Nil, ledger.EventForgotten, ledger.EventForgotten)
}

// manyForgotten are more than one slice, in between others.
func manyForgotten(f *fixture) {
	const many = 1201
	parties(8, func(int) {
		for range (many - 1) / 8 {
			c := NewClaim()
			_, _ = f.ledger.Claim(f.ctx, c)
			_, _ = f.ledger.Settle(f.ctx, Ack(c, time.Second))
		}
	})
	open := f.fresh()
	f.accepted()
	what, told := longAgo(), []int{}
	what.Each = func(n int) { told = append(told, n) }
	f.forget(what, many)
	if len(told) < 2 || told[len(told)-1] != many || told[0] >= many {
		f.Errorf("told of %v", told)
	}
	if events := f.events(uuid.Nil); len(events) != 1 || events[0].Times != many {
		f.Errorf("%+v", events)
	}
	if row := f.row(open.ID); !row.Open() || row.Claim != open.Token {
		f.Errorf("%+v", row)
	}
}

func forgottenTakenUp(f *fixture) {
	c := f.closedUncertain()
	f.forget(longAgo(), 1)
	d := decision(f.row(c.ID), ledger.NotReceived)
	d.At = At(30_000 * time.Hour)
	f.must(f.ledger.Decide(f.ctx, d))
	f.story(c.ID, ledger.EventNotReceived)
	if row := f.row(c.ID); !row.Free() || row.Forgotten() || !row.CreatedAt.Equal(toMillis(d.At)) {
		f.Errorf("%+v", row)
	}
	again := Again(c, 30_001*time.Hour)
	f.own(again)
	f.settle(Ack(again, 30_002*time.Hour), true)
	f.story(c.ID, ledger.EventNotReceived)
	queued := f.closedAfter(f.keptUncertain(ledger.Queue))
	f.forget(longAgo(), 1)
	f.decideFails(decision(f.row(queued.ID), ledger.NotReceived), ledger.ErrNoWords)
	f.must(f.ledger.Dispute(f.ctx, disputeOf(queued.ID, 30_000*time.Hour)))
	if row := f.row(queued.ID); row.Needs != ledger.NeedsDisputed || row.Forgotten() {
		f.Errorf("%+v", row)
	}
}

// Of an accepted row nobody knows any more who had settled it; a case that was
// closed in doubt is settled by proof as ever.
func lateEvidenceOfForgotten(f *fixture) {
	accepted, closed := f.accepted(), f.closedUncertain()
	f.forget(longAgo(), 2)
	before := f.row(accepted.ID)
	f.settle(Ack(accepted, 30_000*time.Hour), true)
	f.release(End(accepted, "sealed/inquiry", 30_000*time.Hour), false)
	f.same(before)
	f.story(accepted.ID)
	f.settle(Ack(closed, 30_000*time.Hour), true)
	if row := f.row(closed.ID); row.Status != ledger.Accepted || row.AcceptedBy != ledger.AcceptedByRelay {
		f.Errorf("%+v", row)
	}
	f.story(closed.ID, ledger.EventLateAcknowledged)
}
