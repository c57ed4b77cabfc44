package desk_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

// doubts has a send under hold that ended without proof, at a time, of a form.
func (s *shelf) doubts(at time.Time, form, cause string) ledger.Submission {
	s.t.Helper()
	n := ledgertest.NewClaim()
	n.Form, n.At, n.LeaseUntil = form, at, at.Add(time.Minute)
	_, err := s.ledger.Claim(context.Background(), n)
	must(s.t, err)
	_, err = s.ledger.Doubt(context.Background(), ledger.Ended{ID: n.ID, Claim: n.Token, Cause: cause, Note: "S: 354 go on", Attempted: true, At: at})
	must(s.t, err)
	return s.row(ledger.Submission{ID: n.ID})
}

func TestTheQueueIsGroupedByCause(t *testing.T) {
	s := newShelf(t)
	begin := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	day := func(n int) time.Time { return begin.AddDate(0, 0, n) }
	late := s.doubts(day(3), "orders", "closed@quit")
	lapsed := s.doubts(day(1), "contact", "lease_lapsed")
	early := s.doubts(day(2), "contact", "closed@dot")
	early2 := s.doubts(day(2).Add(time.Hour), "contact", "closed@dot")
	stopped := s.stops(ledger.Queue)
	s.accepts(s.stores(ledger.Queue))
	must(t, s.ledger.SetRelayState(context.Background(), ledger.RelayState{FailingSince: begin, Cause: "dns"}))
	q, err := s.desk.Queue(context.Background())
	must(t, err)
	if q.Total != 5 || !q.Oldest.Equal(day(1)) || q.Relay.Cause != "dns" || len(q.Groups) != 3 {
		t.Fatalf("%+v", q)
	}
	for i, want := range []struct {
		needs ledger.Need
		cause string
		rows  []ledger.Submission
		forms []desk.FormCount
	}{
		{ledger.NeedsUncertain, "lease_lapsed", []ledger.Submission{lapsed}, []desk.FormCount{{Form: "contact", Rows: 1}}},
		{ledger.NeedsUncertain, "closed", []ledger.Submission{early, early2, late}, []desk.FormCount{{Form: "contact", Rows: 2}, {Form: "orders", Rows: 1}}},
		{ledger.NeedsStopped, ledger.ForGood("smtp_550"), []ledger.Submission{stopped}, []desk.FormCount{{Form: stopped.Form, Rows: 1}}},
	} {
		g := q.Groups[i]
		if g.Needs != want.needs || g.Cause != want.cause || g.Says == "" || !g.Oldest.Equal(want.rows[0].CreatedAt) || !slices.Equal(g.Rows, want.rows) || !slices.Equal(g.Forms, want.forms) {
			t.Errorf("group %d: %+v\nwant %+v", i, g, want)
		}
	}
}

func TestAnEmptyQueueIsEmpty(t *testing.T) {
	s := newShelf(t)
	if q, err := s.desk.Queue(context.Background()); err != nil || q.Total != 0 || len(q.Groups) != 0 || !q.Oldest.IsZero() {
		t.Errorf("%+v, %v", q, err)
	}
	for _, method := range []string{"List", "RelayState"} {
		s.ledger.Fail(method, ledgertest.Before, 1)
		if _, err := s.desk.Queue(context.Background()); err == nil {
			t.Errorf("%s failed, and nobody was told", method)
		}
	}
}
