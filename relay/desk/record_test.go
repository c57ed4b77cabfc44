package desk_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

func TestANoteIsOnRecordAndDecidesNothing(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	row := s.fails(s.stores(ledger.Queue), "closed@dot", false)
	k, err := s.desk.Note(ctx, string(row.Reference), "eve", "they will call on Monday")
	must(t, err)
	last := k.Events[len(k.Events)-1]
	if k.Row != row || last.Kind != ledger.EventNoted || last.Actor != ledger.Operator("eve") || last.Note != "they will call on Monday" {
		t.Errorf("%+v", k)
	}
	if _, err := s.desk.Note(ctx, string(row.Reference), "eve", " \n"); !errors.Is(err, desk.ErrNoteEmpty) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := s.desk.Note(ctx, fresh().String(), "eve", "x"); !errors.Is(err, desk.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
	s.ledger.Fail("Record", ledgertest.Before, 1)
	if _, err := s.desk.Note(ctx, row.ID.String(), "eve", "x"); !errors.Is(err, ledgertest.ErrInjected) {
		t.Errorf("%v", err)
	}
}

func kinds(events []ledger.Event) []ledger.EventKind {
	var all []ledger.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func TestTheRecordAcrossSubmissions(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	one, other := s.doubts(time.Now(), "contact", "closed@dot"), s.stops(ledger.Queue)
	_, err := s.desk.Note(ctx, one.ID.String(), "eve", "looked")
	must(t, err)
	all := []ledger.EventKind{ledger.EventDoubted, ledger.EventReleased, ledger.EventStopped, ledger.EventNoted}
	soon := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		filter desk.EventFilter
		want   []ledger.EventKind
	}{
		"all":              {desk.EventFilter{}, all},
		"the newest":       {desk.EventFilter{Limit: 2}, all[2:]},
		"of a kind":        {desk.EventFilter{Kind: ledger.EventReleased}, all[1:2]},
		"of nobody yet":    {desk.EventFilter{Since: soon}, nil},
		"since then":       {desk.EventFilter{Since: time.Now().Add(-time.Hour)}, all},
		"of a reference":   {desk.EventFilter{Reference: string(other.Reference)}, all[1:3]},
		"its newest":       {desk.EventFilter{Reference: string(other.Reference), Limit: 1}, all[2:3]},
		"its kind":         {desk.EventFilter{Reference: one.ID.String(), Kind: ledger.EventNoted}, all[3:]},
		"its, in a moment": {desk.EventFilter{Reference: one.ID.String(), Since: soon}, nil},
	} {
		events, err := s.desk.Events(ctx, c.filter)
		if err != nil || !slices.Equal(kinds(events), c.want) {
			t.Errorf("%s: %v, %v; want %v", name, kinds(events), err, c.want)
		}
	}
	if _, err := s.desk.Events(ctx, desk.EventFilter{Reference: "YYH9-FP7R-Y5A9"}); !errors.Is(err, desk.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}
