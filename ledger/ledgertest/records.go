package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func recordChecks() []check {
	return []check{
		{"AnIDThatNobodySentIsUnseen", unseenID},
		{"AThousandConflictsAreOneEvent", manyConflicts},
		{"AConflictChangesNoRow", conflictAlone},
		{"AReferenceShowsAllItsRows", byReference},
		{"TheListIsOrderedAndFiltered", listRows},
		{"TheListOfWhatWaitsAndOfOneForm", listWaiting},
		{"EventsAreInOrder", eventOrder},
		{"TimesAreMillisecondsUTC", timesOfRecord},
		{"APingIsAnswered", pings},
	}
}

func unseenID(f *fixture) {
	f.fresh()
	_, err := f.ledger.Submission(f.ctx, NewClaim().ID)
	f.unseen(err)
}

func (f *fixture) unseen(err error) {
	f.Helper()
	if !errors.Is(err, ledger.ErrUnseen) {
		f.Fatalf("%v; want %v", err, ledger.ErrUnseen)
	}
}

// Strangers cannot grow the table.
func manyConflicts(f *fixture) {
	const many = 1000
	c, other := f.fresh(), f.fresh()
	var errs [many]error
	parties(many, func(i int) { errs[i] = f.ledger.Conflict(f.ctx, c.ID, At(time.Duration(i)*time.Second)) })
	f.must(errors.Join(errs[:]...))
	f.must(f.ledger.Conflict(f.ctx, other.ID, At(0)))
	events := f.events(c.ID)
	if len(events) != 1 {
		f.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.Kind != ledger.EventConflict || e.Times != many || !e.LastAt.Equal(toMillis(At((many-1)*time.Second))) {
		f.Errorf("%+v", e)
	}
	f.must(f.ledger.Conflict(f.ctx, c.ID, At(-time.Hour)))
	if e := f.events(c.ID)[0]; e.Times != many+1 || !e.LastAt.Equal(toMillis(At((many-1)*time.Second))) {
		f.Errorf("after one more, by a clock that went back: %+v", e)
	}
	if e := f.events(other.ID)[0]; e.Times != 1 {
		f.Errorf("the other row's: %+v", e)
	}
}

func conflictAlone(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		f.must(f.ledger.Conflict(f.ctx, c.ID, At(time.Hour)))
		f.same(before)
	}
}

// twins are two IDs of one reference, found among 420 million: the first 55
// bits of their SHA-256 are the same.
func twins() [2]uuid.UUID {
	return [2]uuid.UUID{uuid.MustParse("01942444-4ca6-7000-8000-0000011e8534"), uuid.MustParse("01942444-4ca6-7000-8000-000011400513")}
}

func byReference(f *fixture) {
	var want []ledger.Submission
	for i, id := range twins() {
		c := Again(NewClaim(), time.Duration(i)*time.Second)
		c.ID = id
		want = append(want, f.own(c))
	}
	f.fresh()
	got, err := f.ledger.ByReference(f.ctx, ledger.ReferenceOf(twins()[1]))
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("rows of the reference (-want +got):\n%s", diff)
	}
	got, err = f.ledger.ByReference(f.ctx, ledger.ReferenceOf(NewClaim().ID))
	if err != nil || len(got) != 0 {
		f.Errorf("an unseen reference: %v, %v", got, err)
	}
}

func listRows(f *fixture) {
	var all, queue []ledger.Submission
	for _, minutes := range []time.Duration{3, 1, 2, 5, 4} { // not in the order of time
		c := Again(NewClaim(), minutes*time.Minute)
		f.own(c)
		if minutes != 2 {
			f.doubt(End(c, "timeout/dot", time.Hour), true)
			queue = append(queue, f.row(c.ID))
		}
		all = append(all, f.row(c.ID))
	}
	byAge := func(a, b ledger.Submission) int { return a.CreatedAt.Compare(b.CreatedAt) }
	slices.SortFunc(all, byAge)
	slices.SortFunc(queue, byAge)
	f.listed(ledger.Filter{}, all)
	f.listed(ledger.Filter{Limit: 2}, all[:2])
	f.listed(ledger.Filter{NeedsSomebody: true}, queue)
	f.listed(ledger.Filter{NeedsSomebody: true, Limit: 3}, queue[:3])
	f.listed(ledger.Filter{NeedsSomebody: true, Status: ledger.Uncertain, Limit: 3}, queue[:3])
	f.listed(ledger.Filter{Status: ledger.Processing}, []ledger.Submission{all[1]})
}

// What is listed as waiting is Submission.Waiting, in every state.
func listWaiting(f *fixture) {
	f.released()
	for _, p := range keeping {
		n := NewEntry(p)
		n.Form = "booking"
		f.store(n)
	}
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(ledger.NewClaim) {})
	all, err := f.ledger.List(f.ctx, ledger.Filter{})
	f.must(err)
	var waiting, booked []ledger.Submission
	for _, row := range all {
		if row.Waiting() {
			waiting = append(waiting, row)
		}
		if row.Form == "booking" {
			booked = append(booked, row)
		}
	}
	if len(booked) != 2 || len(waiting) < 2*len(booked) || len(waiting) == len(all) {
		f.Fatalf("%d of %d wait, %d are of another form", len(waiting), len(all), len(booked))
	}
	f.listed(ledger.Filter{Waiting: true}, waiting)
	f.listed(ledger.Filter{Waiting: true, Limit: 2}, waiting[:2])
	f.listed(ledger.Filter{Form: "booking"}, booked)
	f.listed(ledger.Filter{Form: "booking", Waiting: true}, booked)
	f.listed(ledger.Filter{Form: "booking", NeedsSomebody: true}, nil)
}

func (f *fixture) listed(filter ledger.Filter, want []ledger.Submission) {
	f.Helper()
	got, err := f.ledger.List(f.ctx, filter)
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%+v (-want +got):\n%s", filter, diff)
	}
}

// Also those of one millisecond are in the order in which they came.
func eventOrder(f *fixture) {
	c := NewClaim()
	var want []ledger.EventKind
	for range 20 {
		c = Again(c, 0)
		f.own(c)
		f.doubt(End(c, "timeout/dot", 0), true)
		f.release(End(c, "sealed/inquiry", 0), true)
		want = append(want, ledger.EventDoubted, ledger.EventReleased)
	}
	f.story(c.ID, want...)
	seen := map[uuid.UUID]bool{}
	for _, e := range f.events(c.ID) {
		if seen[e.ID] || e.ID.Version() != 7 || e.Submission != c.ID {
			f.Errorf("%+v", e)
		}
		seen[e.ID] = true
	}
}

func timesOfRecord(f *fixture) {
	east := time.FixedZone("east", 5*3600+1800)
	c := NewClaim()
	c.At, c.LeaseUntil = c.At.In(east), c.LeaseUntil.In(east)
	answered := f.own(c)
	for _, row := range []ledger.Submission{answered, f.row(c.ID)} {
		for _, at := range []time.Time{row.CreatedAt, row.UpdatedAt, row.LeaseUntil} {
			if at.Location() != time.UTC || !at.Equal(at.Truncate(time.Millisecond)) {
				f.Errorf("the row holds %v", at)
			}
		}
		if !row.CreatedAt.Equal(toMillis(c.At)) || !row.LeaseUntil.Equal(toMillis(c.LeaseUntil)) || !row.ClosedAt.IsZero() {
			f.Errorf("%+v", row)
		}
	}
	f.doubt(End(c, "timeout/dot", time.Second), true)
	if at := f.events(c.ID)[0].At; at.Location() != time.UTC || !at.Equal(toMillis(At(time.Second))) {
		f.Errorf("the event holds %v", at)
	}
}

func pings(f *fixture) { f.must(f.ledger.Ping(f.ctx)) }
