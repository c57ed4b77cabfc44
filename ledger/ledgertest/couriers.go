package ledgertest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func courierChecks() []check {
	return []check{
		{"WhatIsDueIsListedOldestFirst", dueInOrder},
		{"DueIsWhatWaitsUnderThePolicy", dueFromEvery},
		{"ANextAttemptBeyondTheHorizonIsDue", dueBeyondTheHorizon},
		{"Promise7_NobodyWasToldUntilAnAlertIsAttempted", unalertedUntilTold},
		{"Promise7_EachStopIsToldOfAnew", unalertedAgain},
		{"Promise7_UnalertedRowsAreAllThatNeedSomebody", unalertedFromEvery},
		{"AnAlertOfTheSameMillisecondCounts", alertedAtOnce},
		{"ADutyIsDoneByOneAtATime", dutyOfOne},
		{"ADutyIsFreeOnceItsTimeIsOver", dutyOver},
		{"OfManyWhoAskForADutyOneHasIt", dutyOfMany},
		{"KeptCountsByFormAndKey", keptCounts},
		{"TheStateOfTheRelayIsWhatWasSetLast", relayStates},
		{"WhatIsRecordedIsOnRecord", recorded},
	}
}

func dueInOrder(f *fixture) {
	var want []ledger.Submission
	for _, minutes := range []time.Duration{3, 1, 2, 5, 4} { // not in the order of time
		n := NewEntry(ledger.Queue)
		n.At, n.Due = At(minutes*time.Minute), At(time.Hour-minutes*time.Minute)
		want = append(want, f.store(n))
	}
	twin := NewEntry(ledger.Queue)
	twin.At = At(3 * time.Minute)
	want = append(want, f.store(twin))
	slices.SortFunc(want, olderFirst)
	if diff := cmp.Diff(want, f.due(ledger.Queue, 2*time.Hour)); diff != "" {
		f.Errorf("due (-want +got):\n%s", diff)
	}
	for _, limit := range []int{1, 3} {
		got, err := f.ledger.Due(f.ctx, ledger.Due{Policy: ledger.Queue, At: At(2 * time.Hour), Horizon: time.Hour, Limit: limit})
		f.must(err)
		if diff := cmp.Diff(want[:limit], got); diff != "" {
			f.Errorf("the first %d (-want +got):\n%s", limit, diff)
		}
	}
}

func olderFirst(a, b ledger.Submission) int {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c
	}
	return slices.Compare(a.ID[:], b.ID[:])
}

func dueFromEvery(f *fixture) {
	want := map[ledger.Policy][]string{}
	names := map[uuid.UUID]string{}
	for _, p := range keeping {
		for _, s := range append(keptStates(), keptDisputes()...) {
			row := f.row(s.reach(f, p).ID)
			names[row.ID] = s.name
			if row.Waiting() {
				want[p] = append(want[p], s.name)
			}
		}
	}
	for _, s := range allStates() {
		s.reach(f)
	}
	for _, p := range keeping {
		var got []string
		for _, row := range f.due(p, 1e5*time.Hour) {
			got = append(got, names[row.ID])
		}
		slices.Sort(got)
		slices.Sort(want[p])
		if diff := cmp.Diff(want[p], got); diff != "" {
			f.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
}

// Such a time was noted by a clock that has been set back since.
func dueBeyondTheHorizon(f *fixture) {
	n := NewEntry(ledger.Queue)
	n.Due = At(24 * time.Hour)
	f.store(n)
	for horizon, want := range map[time.Duration]int{
		24 * time.Hour: 0, 24*time.Hour - time.Millisecond: 1, time.Hour: 1, 48 * time.Hour: 0,
	} {
		rows, err := f.ledger.Due(f.ctx, ledger.Due{Policy: ledger.Queue, At: At(0), Horizon: horizon})
		f.must(err)
		if len(rows) != want {
			f.Errorf("a horizon of %s: %d rows", horizon, len(rows))
		}
	}
}

// told records an alert, or that none could be given.
func (f *fixture) told(id uuid.UUID, kind ledger.EventKind, at time.Time) {
	f.Helper()
	f.must(f.ledger.Record(f.ctx, ledger.Event{Submission: id, At: at, Kind: kind, Actor: ledger.ActorSystem}))
}

func unalertedUntilTold(f *fixture) {
	for _, kind := range []ledger.EventKind{ledger.EventAlerted, ledger.EventAlertFailed} {
		c := f.stoppedAtCap(ledger.Queue)
		f.unalerted(c.ID)
		f.told(c.ID, ledger.EventWordsShown, At(2*time.Hour))
		f.told(NewClaim().ID, kind, At(2*time.Hour))
		f.unalerted(c.ID)
		f.told(c.ID, kind, At(2*time.Hour))
		f.unalerted()
	}
}

func unalertedAgain(f *fixture) {
	c := f.stoppedAtCap(ledger.Retry)
	f.told(c.ID, ledger.EventAlerted, At(2*time.Hour))
	f.decide(c.ID, ledger.SendAgain)
	f.unalerted()
	f.fail(c, "refused/rcpt", 3*time.Hour)
	f.unalerted(c.ID)
	f.told(c.ID, ledger.EventAlertFailed, At(4*time.Hour))
	f.unalerted()
}

// Whatever the policy and the need; what was decided since needs no alert.
func unalertedFromEvery(f *fixture) {
	for _, s := range allStates() {
		s.reach(f)
	}
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(ledger.NewClaim) {})
	f.released()
	_, err := f.ledger.MarkUnsent(f.ctx, At(1e5*time.Hour), At(1e5*time.Hour))
	f.must(err)
	all, err := f.ledger.List(f.ctx, ledger.Filter{NeedsSomebody: true})
	f.must(err)
	var want []uuid.UUID
	needs := map[ledger.Need]bool{}
	for _, row := range all {
		want, needs[row.Needs] = append(want, row.ID), true
	}
	if len(needs) != 4 {
		f.Errorf("only %v were reached", needs)
	}
	f.unalerted(want...)
	rows, err := f.ledger.Unalerted(f.ctx, 2)
	if err != nil || len(rows) != 2 || rows[0].ID != want[0] || rows[1].ID != want[1] {
		f.Errorf("the first two: %+v, %v", rows, err)
	}
}

func alertedAtOnce(f *fixture) {
	early, atOnce := f.refusedForGood(ledger.Queue), f.refusedForGood(ledger.Queue)
	f.told(early.ID, ledger.EventAlerted, f.row(early.ID).UpdatedAt.Add(-time.Millisecond))
	f.told(atOnce.ID, ledger.EventAlerted, f.row(atOnce.ID).UpdatedAt)
	f.unalerted(early.ID)
}

func keptCounts(f *fixture) {
	if got, err := f.ledger.Kept(f.ctx); err != nil || len(got) != 0 {
		f.Errorf("of nothing: %v, %v", got, err)
	}
	for form, keys := range map[string]string{"contact": "aab", "jobs": "b"} {
		for _, key := range keys {
			n := NewEntry(ledger.Queue)
			n.Form, n.Words.Key = form, string(key)
			f.store(n)
		}
	}
	f.fromEachKept([]keptState{{"accepted", (*fixture).keptAccepted}, {"stopped", (*fixture).stoppedAtCap}}, func(ledger.NewClaim) {})
	f.fresh()
	got, err := f.ledger.Kept(f.ctx)
	f.must(err)
	want := []ledger.Kept{
		{Form: "contact", Key: "a", Rows: 2}, {Form: "contact", Key: "b", Rows: 1},
		{Form: "contact", Key: "seal-1", Rows: 2}, {Form: "jobs", Key: "b", Rows: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("(-want +got):\n%s", diff)
	}
}

func relayStates(f *fixture) {
	for _, s := range []ledger.RelayState{
		{}, {FailingSince: At(0), NextTry: At(time.Hour).In(time.FixedZone("east", 3600)), Cause: "unreached/dial \"x\""},
		{NextTry: At(0)}, {},
	} {
		f.must(f.ledger.SetRelayState(f.ctx, s))
		got, err := f.ledger.RelayState(f.ctx)
		f.must(err)
		want := ledger.RelayState{FailingSince: toMillis(s.FailingSince).UTC(), NextTry: toMillis(s.NextTry).UTC(), Cause: s.Cause}
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func recorded(f *fixture) {
	c := f.stored(ledger.Queue)
	before := f.row(c.ID)
	e := ledger.Event{Submission: c.ID, At: At(time.Hour), Kind: ledger.EventWordsShown, Actor: ledger.Operator("ada"),
		Cause: "asked/phone", Claim: NewToken(), Note: "asked by phone"}
	f.must(f.ledger.Record(f.ctx, e))
	got := f.events(c.ID)
	e.ID, e.At, e.LastAt, e.Times = got[0].ID, toMillis(e.At), toMillis(e.At), 1
	if diff := cmp.Diff([]ledger.Event{e}, got); diff != "" || e.ID.Version() != 7 {
		f.Errorf("(-want +got):\n%s", diff)
	}
	f.same(before)
}
