package sqlledger

import (
	"slices"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func TestEventsSince(t *testing.T) {
	d := openTemp(t)
	one, other := claimed(t, d), claimed(t, d)
	record := func(c ledger.NewClaim, kind ledger.EventKind, at time.Duration) {
		t.Helper()
		if err := d.Record(t.Context(), ledger.Event{Submission: c.ID, At: ledgertest.At(at), Kind: kind, Actor: ledger.ActorSystem}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Conflict(t.Context(), one.ID, ledgertest.At(0)); err != nil {
		t.Fatal(err)
	}
	record(one, ledger.EventNoted, time.Hour)
	record(other, ledger.EventAlerted, 2*time.Hour)
	record(one, ledger.EventNoted, 3*time.Hour)
	all := []ledger.EventKind{ledger.EventConflict, ledger.EventNoted, ledger.EventAlerted, ledger.EventNoted}
	for name, c := range map[string]struct {
		filter ledger.EventFilter
		want   []ledger.EventKind
	}{
		"all":           {ledger.EventFilter{}, all},
		"the newest":    {ledger.EventFilter{Limit: 3}, all[1:]},
		"since then":    {ledger.EventFilter{Since: ledgertest.At(2 * time.Hour)}, all[2:]},
		"since never":   {ledger.EventFilter{Since: ledgertest.At(4 * time.Hour)}, nil},
		"of a kind":     {ledger.EventFilter{Kind: ledger.EventNoted}, []ledger.EventKind{ledger.EventNoted, ledger.EventNoted}},
		"the last such": {ledger.EventFilter{Kind: ledger.EventNoted, Limit: 1}, all[3:]},
	} {
		wantKinds(t, d, name, c.filter, c.want)
	}
	// one that happens again belongs to the time when it last did
	if err := d.Conflict(t.Context(), one.ID, ledgertest.At(5*time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantKinds(t, d, "again", ledger.EventFilter{Since: ledgertest.At(4 * time.Hour)}, all[:1])
}

func wantKinds(t *testing.T, d *DB, name string, f ledger.EventFilter, want []ledger.EventKind) {
	t.Helper()
	events, err := d.EventsSince(t.Context(), f)
	var got []ledger.EventKind
	for _, e := range events {
		got = append(got, e.Kind)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v, %v; want %v", name, got, err, want)
	}
}

func TestListOfOneNeed(t *testing.T) {
	d := openTemp(t)
	doubted := claimed(t, d)
	if _, err := d.Doubt(t.Context(), ledgertest.End(doubted, "timeout/dot", time.Second)); err != nil {
		t.Fatal(err)
	}
	claimed(t, d)
	for need, want := range map[ledger.Need]int{ledger.NeedsUncertain: 1, ledger.NeedsStopped: 0, ledger.NeedsNobody: 2} {
		if rows, err := d.List(t.Context(), ledger.Filter{Needs: need}); err != nil || len(rows) != want {
			t.Errorf("%q: %d rows, %v", need, len(rows), err)
		}
	}
}
