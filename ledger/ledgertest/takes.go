package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func takeChecks() []check {
	return []check{
		{"ATakeHandsOutTheWords", takeNormal},
		{"Promise2_OfSixteenTakesOneIsOwned", racingTakes},
		{"Promise2_OnlyAWaitingRowIsTaken", takeFromEvery},
		{"Promise3_ATakeIsForOneContent", takeOtherContent},
		{"ATakeLooksAtNoNextAttempt", takeBeforeItsTime},
		{"AnErroredTakeIsRepeatedAndOwned", erroredTake},
		{"AnErroredTakeIsNotOwnedOnceItEnded", endedTake},
		{"AnAbandonedTakeIsReleased", abandonedTake},
		{"ATakeNeverTakesARowUnderHold", takeOnHold},
		{"ATakeOfNothingIsAnError", takeNothing},
	}
}

func takeNormal(f *fixture) {
	for _, p := range keeping {
		n := f.stored(p)
		before := f.row(n.ID)
		c := Taking(n, time.Minute)
		c.Form, c.Policy = "renamed", ledger.Hold // neither is looked at
		got := f.take(c)
		if got.Words != n.Words {
			f.Errorf("the words are %+v, not %+v", got.Words, n.Words)
		}
		now := f.changed(before, func(s *ledger.Submission) {
			s.Claim, s.LeaseUntil, s.RelayEpoch, s.Claims = c.Token, toMillis(c.LeaseUntil), "epoch-1", 1
		})
		if diff := cmp.Diff(now, got.Row); diff != "" {
			f.Errorf("the answer (-row +answer):\n%s", diff)
		}
		f.isDue(n.ID, false)
		f.refuseTake(Taking(n, time.Minute))
		f.story(n.ID)
	}
}

func racingTakes(f *fixture) {
	const many = 16
	for _, p := range keeping {
		n := f.stored(p)
		var claims [many]ledger.NewClaim
		var got [many]ledger.Taken
		var errs [many]error
		parties(many, func(i int) {
			claims[i] = Taking(n, time.Minute)
			got[i], errs[i] = f.ledger.Take(f.ctx, claims[i])
		})
		f.must(errors.Join(errs[:]...))
		owned, row := 0, f.row(n.ID)
		for i := range got {
			if got[i].Owned != (claims[i].Token == row.Claim) || got[i].Owned != (got[i].Words == n.Words) || got[i].Row.Claim != row.Claim {
				f.Errorf("take %d: %+v", i, got[i])
			}
			if got[i].Owned {
				owned++
			}
		}
		if owned != 1 || row.Claims != 1 {
			f.Errorf("%d are owned, %d claims granted", owned, row.Claims)
		}
	}
}

// Whether a row may be taken is told by Waiting, and by nothing else.
func takeFromEvery(f *fixture) {
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		if f.row(c.ID).Waiting() {
			f.take(Again(c, 4*time.Hour))
		} else {
			f.refuseTake(Again(c, 4*time.Hour))
		}
	})
}

func takeOtherContent(f *fixture) {
	f.fromEachKept(keptStates(), func(c ledger.NewClaim) {
		for _, other := range []ledger.NewClaim{c, Again(c, time.Hour)} {
			other.PayloadHash = Hash("other words")
			f.refuseTake(other)
		}
	})
}

// The request that stored a message has it sent at once.
func takeBeforeItsTime(f *fixture) {
	n := NewEntry(ledger.Retry)
	n.Due = At(1000 * time.Hour)
	f.store(n)
	f.take(Taking(n, 0))
	f.sameWords(n.ID, &ledger.Entry{Words: n.Words, Next: toMillis(n.Due)})
}

func erroredTake(f *fixture) {
	n := f.stored(ledger.Queue)
	c, faulty := Taking(n, time.Minute), NewFaulty(f.ledger)
	for _, when := range []When{Before, After, After} {
		faulty.Fail("Take", when, 1)
		if got, err := faulty.Take(f.ctx, c); !errors.Is(err, ErrInjected) || got.Owned {
			f.Fatalf("got %+v, %v", got, err)
		}
	}
	if got := f.take(c); got.Row.Claims != 1 || got.Words != n.Words {
		f.Errorf("%+v", got)
	}
	f.refuseTake(Taking(n, time.Minute))
}

// endedTake: whatever became of the row, the claim that made it so sends no more.
// (Where it went back to waiting, a repeat is a claim like any other.)
func endedTake(f *fixture) {
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		if row := f.row(c.ID); !row.Waiting() && (row.Status != ledger.Processing || row.Claim.IsZero() || row.Needs != "") {
			f.refuseTake(c)
		}
	})
}

func abandonedTake(f *fixture) {
	for _, p := range keeping {
		n := f.stored(p)
		c := Taking(n, 0)
		gaveUp := End(c, "claim_abandoned/claim", time.Second)
		gaveUp.Attempted = false
		f.release(gaveUp, false) // it had not reached the ledger
		before := f.take(c).Row
		f.release(gaveUp, true)
		f.changed(before, func(s *ledger.Submission) {
			s.Claim, s.LeaseUntil, s.LastError, s.ClaimCap = ledger.Token{}, time.Time{}, "claim_abandoned/claim", ClaimCap+1
		})
		f.isDue(n.ID, true)
	}
}

func takeOnHold(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		f.Log(s.name)
		f.refuseTake(c)
		f.refuseTake(Again(c, 4*time.Hour))
	}
}

func takeNothing(f *fixture) {
	_, err := f.ledger.Take(f.ctx, NewClaim())
	f.unseen(err)
	n := f.stored(ledger.Queue)
	before, c := f.row(n.ID), Taking(n, 0)
	c.Token = ledger.Token{}
	if got, err := f.ledger.Take(f.ctx, c); err == nil {
		f.Errorf("without a token: %+v", got)
	}
	f.same(before)
}
