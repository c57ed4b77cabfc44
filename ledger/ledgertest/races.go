package ledgertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"formledger/ledger"
)

func raceChecks() []check {
	return []check{
		{"Promise2_OfRacingClaimsOneIsOwned", racingClaims},
		{"Promise2_OfRacingReclaimsOneIsOwned", racingReclaims},
		{"Promise3_OfRacingContentsOneIsOwned", racingContents},
		{"OfTwoOperatorsOneDecides", racingOperators},
		{"OfASettleAndALapseBothAreTrue", settleAgainstLapse},
	}
}

const rivals = 64

// raceFor lets rivals claim at once and checks that one of them wins, and that
// all others learn who. It answers with the winner.
func (f *fixture) raceFor(claim func(i int) ledger.NewClaim) ledger.NewClaim {
	f.Helper()
	asked, got, errs := [rivals]ledger.NewClaim{}, [rivals]ledger.Claimed{}, [rivals]error{}
	parties(rivals, func(i int) {
		asked[i] = claim(i)
		got[i], errs[i] = f.ledger.Claim(f.ctx, asked[i])
	})
	f.must(errors.Join(errs[:]...))
	winner := -1
	for i := range got {
		if got[i].Owned && winner >= 0 {
			f.Fatalf("claims %d and %d are both owned", winner, i)
		}
		if got[i].Owned {
			winner = i
		}
	}
	if winner < 0 {
		f.Fatal("no claim is owned")
	}
	for i := range got {
		if got[i].Row.Claim != asked[winner].Token {
			f.Errorf("claim %d learnt of %v", i, got[i].Row.Claim)
		}
	}
	return asked[winner]
}

func racingClaims(f *fixture) {
	for range 10 {
		c := NewClaim()
		f.raceFor(func(i int) ledger.NewClaim { return Again(c, time.Duration(i)*time.Millisecond) })
		if row := f.row(c.ID); row.Claims != 1 {
			f.Errorf("%d claims were granted", row.Claims)
		}
	}
}

func racingReclaims(f *fixture) {
	for range 5 {
		c := f.released()
		f.raceFor(func(i int) ledger.NewClaim { return Again(c, time.Minute) })
		if row := f.row(c.ID); row.Claims != 2 {
			f.Errorf("%d claims were granted", row.Claims)
		}
	}
}

func racingContents(f *fixture) {
	for range 10 {
		c := NewClaim()
		winner := f.raceFor(func(i int) ledger.NewClaim {
			c := Again(c, time.Minute)
			c.PayloadHash = Hash(fmt.Sprint(i % 2))
			return c
		})
		if row := f.row(c.ID); row.PayloadHash != winner.PayloadHash {
			f.Errorf("the row holds %s, the winner had %s", row.PayloadHash, winner.PayloadHash)
		}
	}
}

func racingOperators(f *fixture) {
	const rounds = 100
	var decided, refused atomic.Int64
	parties(rounds, func(i int) {
		c := NewClaim()
		_, err1 := f.ledger.Claim(f.ctx, c)
		_, err2 := f.ledger.Doubt(f.ctx, End(c, "timeout/dot", time.Second))
		seen, err3 := f.ledger.Submission(f.ctx, c.ID)
		if err := errors.Join(err1, err2, err3); err != nil {
			f.Error(err)
			return
		}
		parties(2, func(who int) {
			kind := []ledger.DecisionKind{ledger.Received, ledger.NotReceived}[(who+i)%2]
			switch err := f.ledger.Decide(f.ctx, decision(seen, kind)); {
			case err == nil:
				decided.Add(1)
			case errors.Is(err, ledger.ErrStale):
				refused.Add(1)
			default:
				f.Errorf("%s: %v", kind, err)
			}
		})
		if events, err := f.ledger.Events(f.ctx, c.ID); err != nil || len(events) != 2 {
			f.Errorf("%d events, %v", len(events), err)
		}
	})
	if decided.Load() != rounds || refused.Load() != rounds {
		f.Errorf("of %d pairs %d decided and %d were refused", rounds, decided.Load(), refused.Load())
	}
}

// Whichever comes first, the acknowledgment counts; and it is late only if the
// lapse was first.
func settleAgainstLapse(f *fixture) {
	for range 50 {
		c := f.fresh()
		var settled bool
		var errs [2]error
		parties(2, func(i int) {
			if i == 0 {
				settled, errs[0] = f.ledger.Settle(f.ctx, Ack(c, time.Second))
			} else {
				_, errs[1] = f.ledger.LapseClaims(f.ctx, []ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, At(time.Second))
			}
		})
		f.must(errors.Join(errs[:]...))
		row := f.row(c.ID)
		if !settled || row.Status != ledger.Accepted || row.Needs != "" {
			f.Errorf("settled: %v, the row: %+v", settled, row)
		}
		var want []ledger.EventKind
		if row.Doubted {
			want = []ledger.EventKind{ledger.EventLapsed, ledger.EventLateAcknowledged}
		}
		got := kinds(f.events(c.ID))
		if diff := cmp.Diff(want, got, cmpopts.SortSlices(func(a, b ledger.EventKind) bool { return a < b })); diff != "" {
			f.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

func kinds(events []ledger.Event) []ledger.EventKind {
	var all []ledger.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}
