package desk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

func decisions(events []ledger.Event) []ledger.Event {
	var all []ledger.Event
	for _, e := range events {
		if strings.HasPrefix(e.Actor, ledger.Operator("")) {
			all = append(all, e)
		}
	}
	return all
}

// Of two operators who decide at once, one does, and the other is told who did,
// what, and when; whether both had looked before or nobody says at what.
func TestTwoOperatorsDecideAtOnce(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	for i := range 100 {
		row := s.doubts(time.Now(), "contact", "closed@dot")
		rulings := []desk.Ruling{{Kind: ledger.Received, By: "ada", Note: "n"}, {Kind: ledger.Received, By: "eve", Note: "n"}}
		if i%2 == 0 {
			rulings[1].Kind = ledger.NotReceived
			rulings[0].Seen, rulings[1].Seen = desk.Version(row), desk.Version(row)
		}
		errs := [2]error{}
		var both sync.WaitGroup
		for j, r := range rulings {
			both.Go(func() { _, errs[j] = s.desk.Resolve(ctx, row.ID.String(), r) })
		}
		both.Wait()
		taken := decisions(s.finds(row).Events)
		if len(taken) != 1 || (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%d: %v: %+v", i, errs, taken)
		}
		var told *desk.DecidedError
		if err := errors.Join(errs[:]...); !errors.As(err, &told) || told.Last.ID != taken[0].ID || !errors.Is(err, ledger.ErrStale) ||
			!strings.Contains(err.Error(), strings.TrimPrefix(taken[0].Actor, "operator:")+" decided that it was ") || !strings.Contains(err.Error(), taken[0].At.Format(time.DateTime)) {
			t.Fatalf("%d: %v: %+v", i, err, taken)
		}
	}
}

func TestTheSameDecisionIsTakenOnceAndAnotherCorrectsIt(t *testing.T) {
	s := newShelf(t)
	row := s.doubts(time.Now(), "contact", "closed@dot")
	for _, kind := range []ledger.DecisionKind{ledger.NotReceived, ledger.Close, ledger.Received} {
		done, err := s.decides(row, kind)
		if err != nil || (kind != ledger.NotReceived) != strings.Contains(done.Said, "Before that, ada ") {
			t.Errorf("%s: %v, %q", kind, err, done.Said)
		}
		if _, err := s.decides(row, kind); !errors.As(err, new(*desk.DecidedError)) || !strings.Contains(err.Error(), "ada ") {
			t.Errorf("%s once more: %v", kind, err)
		}
	}
	if n := len(decisions(s.finds(row).Events)); n != 3 {
		t.Errorf("%d decisions are on record", n)
	}
}

// What happened since a decision makes it one of the past.
func TestADecisionIsNotTheLastWordOnceItWasSentAgain(t *testing.T) {
	s := newShelf(t)
	row := s.fails(s.stores(ledger.Queue), "closed@dot", false)
	done, err := s.decides(row, ledger.NotReceived)
	must(t, err)
	row = s.fails(done.Case.Row, "closed@dot", false)
	seen := desk.Ruling{Kind: ledger.NotReceived, By: "eve", Note: "n", Seen: "0"}
	if _, err := s.desk.Resolve(context.Background(), row.ID.String(), seen); !errors.As(err, new(*desk.DecidedError)) {
		t.Errorf("to somebody who looked long ago: %v", err)
	}
	seen.Seen = desk.Version(done.Case.Row)
	if _, err := s.desk.Resolve(context.Background(), row.ID.String(), seen); !errors.Is(err, ledger.ErrStale) || errors.As(err, new(*desk.DecidedError)) {
		t.Errorf("to somebody who had seen the decision: %v", err)
	}
	if done, err = s.decides(row, ledger.NotReceived); err != nil || strings.Contains(done.Said, "Before that") {
		t.Errorf("%v, %q", err, done.Said)
	}
}

func TestManyReferencesAreSettledOnceEach(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	row, accepted := s.doubts(time.Now(), "contact", "closed@dot"), s.accepts(s.stores(ledger.Queue))
	ref := string(row.Reference)
	texts := []string{ref, "YYH9-FP7R-Y5A9", strings.ToLower(strings.ReplaceAll(ref, "-", "")), "x", string(accepted.Reference)}
	var told []int
	all := s.desk.ResolveMany(ctx, texts, desk.Ruling{Kind: ledger.NotReceived, By: "ada", Note: "looked"}, func(done, total int) { told = append(told, done, total) })
	want := []error{nil, desk.ErrNotFound, ledger.ErrReference, ledger.ErrFinal}
	if len(all) != len(want) || fmt.Sprint(told) != "[1 4 2 4 3 4 4 4]" {
		t.Fatalf("%v: %+v", told, all)
	}
	for i, o := range all {
		if !errors.Is(o.Err, want[i]) || o.Err == nil && o.Case.Row.Claim != (ledger.Token{}) {
			t.Errorf("%s: %v, want %v", o.Text, o.Err, want[i])
		}
	}
	if n := len(decisions(s.finds(row).Events)); n != 1 {
		t.Errorf("%d decisions", n)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, o := range s.desk.ResolveMany(ended, texts[:2], desk.Ruling{Kind: ledger.Received}, func(int, int) {}) {
		if !errors.Is(o.Err, context.Canceled) {
			t.Errorf("%+v", o)
		}
	}
}

// After a long outage thousands are uncertain. Gathering them takes a moment, and
// so does settling them.
func TestTenThousandUncertainReferences(t *testing.T) {
	const many = outage
	s, ctx := newShelf(t), context.Background()
	texts := s.doubtsMany(many)
	fastest := time.Hour
	for tries := 0; tries < 5 || tries < 50 && fastest > 300*time.Millisecond; tries++ { // others may be at work here
		began := time.Now()
		q, err := s.desk.Queue(ctx)
		fastest = min(fastest, time.Since(began))
		if err != nil || q.Total != many || len(q.Groups) != 4 {
			t.Fatalf("%d rows in %d groups: %v", q.Total, len(q.Groups), err)
		}
	}
	began := time.Now()
	for _, o := range s.desk.ResolveMany(ctx, texts, desk.Ruling{Kind: ledger.NotReceived, By: "ada", Note: "the provider had an outage"}, func(int, int) {}) {
		must(t, o.Err)
	}
	took := time.Since(began)
	t.Logf("grouped in %s, settled in %s", fastest, took)
	if !raceEnabled && (fastest > 300*time.Millisecond || took > 2*time.Minute) {
		t.Errorf("grouped in %s, settled in %s", fastest, took)
	}
	if q, err := s.desk.Queue(ctx); err != nil || q.Total != 0 {
		t.Errorf("%d are left: %v", q.Total, err)
	}
	events, err := s.desk.Events(ctx, desk.EventFilter{Kind: ledger.EventNotReceived})
	if err != nil || len(events) != many {
		t.Errorf("%d events: %v", len(events), err)
	}
}

// doubtsMany has so many sends that ended without proof, for four reasons.
func (s *shelf) doubtsMany(many int) []string {
	s.t.Helper()
	texts, next := make([]string, many), make(chan int)
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for i := range next {
				n := ledgertest.NewClaim()
				_, err := s.ledger.Claim(context.Background(), n)
				_, err2 := s.ledger.Doubt(context.Background(), ledger.Ended{ID: n.ID, Claim: n.Token, Cause: fmt.Sprintf("cause_%d@dot", i%4), Attempted: true, At: n.At.Add(time.Second)})
				if err := errors.Join(err, err2); err != nil {
					s.t.Error(err)
				}
				texts[i] = string(ledger.ReferenceOf(n.ID))
			}
		})
	}
	for i := range many {
		next <- i
	}
	close(next)
	workers.Wait()
	return texts
}
