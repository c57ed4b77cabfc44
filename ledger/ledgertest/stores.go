package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func storeChecks() []check {
	return []check{
		{"Promise1_WhatIsStoredIsRecordedWithItsWords", storedIsRecorded},
		{"Promise6_WhatDiedAfterItsStoreIsUnclaimedAndDue", storedThenDied},
		{"Promise3_ARepeatedStoreWritesNothing", storedOnce},
		{"AnErroredStoreIsFoundByARepeat", erroredStore},
		{"OfPartiesThatStoreAtOnceOneIsFresh", racingStores},
		{"AStoreWithoutWordsIsRefused", refusedStore},
		{"AStoreLeavesRowsUnderHoldAlone", storeOnHold},
		{"AClaimNeverTakesARowWhoseWordsAreKept", claimOnKept},
	}
}

func storedIsRecorded(f *fixture) {
	for _, p := range keeping {
		n := NewEntry(p)
		n.Due = At(10 * time.Minute)
		want := ledger.Submission{
			ID: n.ID, Reference: ledger.ReferenceOf(n.ID), Form: "contact", Policy: p, PayloadHash: n.PayloadHash,
			Status: ledger.Processing, CreatedAt: toMillis(n.At), AttemptCap: AttemptCap, ClaimCap: ClaimCap, UpdatedAt: toMillis(n.At),
		}
		if diff := cmp.Diff(want, f.store(n)); diff != "" {
			f.Errorf("the answer (-want +got):\n%s", diff)
		}
		f.same(want)
		f.sameWords(n.ID, &ledger.Entry{Words: n.Words, Next: toMillis(n.Due)})
		f.story(n.ID)
	}
}

// Nobody has claimed it, so nothing was sent.
func storedThenDied(f *fixture) {
	for _, p := range keeping {
		n := NewEntry(p)
		n.Due = At(10 * time.Minute)
		row := f.store(n)
		if !row.Claim.IsZero() || !row.Waiting() || row.Free() {
			f.Errorf("%+v", row)
		}
		if rows := f.due(p, 10*time.Minute-time.Millisecond); len(rows) != 0 {
			f.Errorf("due before its time: %+v", rows)
		}
		if diff := cmp.Diff([]ledger.Submission{row}, f.due(p, 10*time.Minute)); diff != "" {
			f.Errorf("due at its time (-want +got):\n%s", diff)
		}
	}
}

func storedOnce(f *fixture) {
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		before, words, events := f.row(c.ID), f.words(c.ID), len(f.events(c.ID))
		for _, hash := range []string{c.PayloadHash, Hash("other words")} {
			n := entryOf(c, ledger.Queue)
			n.PayloadHash, n.Due = hash, At(time.Hour)
			got, err := f.ledger.Store(f.ctx, n)
			f.must(err)
			if diff := cmp.Diff(ledger.Stored{Row: before}, got); diff != "" {
				f.Errorf("the answer is not the row as it stood (-row +answer):\n%s", diff)
			}
		}
		f.same(before)
		f.sameWords(c.ID, words)
		if n := len(f.events(c.ID)); n != events {
			f.Errorf("%d events became %d", events, n)
		}
	})
}

func erroredStore(f *fixture) {
	for _, when := range []When{Before, After} {
		n, faulty := NewEntry(ledger.Queue), NewFaulty(f.ledger)
		faulty.Fail("Store", when, 1)
		if got, err := faulty.Store(f.ctx, n); !errors.Is(err, ErrInjected) || got.Fresh {
			f.Fatalf("got %+v, %v", got, err)
		}
		got, err := faulty.Store(f.ctx, n)
		f.must(err)
		if got.Fresh != (when == Before) || got.Row.ID != n.ID || !got.Row.Waiting() {
			f.Errorf("repeated: %+v", got)
		}
		f.sameWords(n.ID, &ledger.Entry{Words: n.Words, Next: toMillis(n.Due)})
	}
}

func racingStores(f *fixture) {
	for _, many := range []int{2, rivals} {
		n := NewEntry(ledger.Retry)
		got, errs := make([]ledger.Stored, many), make([]error, many)
		parties(many, func(i int) {
			mine := n
			mine.At = At(time.Duration(i) * time.Second)
			got[i], errs[i] = f.ledger.Store(f.ctx, mine)
		})
		f.must(errors.Join(errs...))
		fresh := 0
		for _, g := range got {
			if diff := cmp.Diff(f.row(n.ID), g.Row); diff != "" {
				f.Errorf("one learnt of another row (-row +answer):\n%s", diff)
			}
			if g.Fresh {
				fresh++
			}
		}
		if fresh != 1 {
			f.Errorf("%d of %d are fresh", fresh, many)
		}
	}
}

func refusedStore(f *fixture) {
	for what, edit := range map[string]func(*ledger.NewEntry){
		"hold keeps none":   func(n *ledger.NewEntry) { n.Policy = ledger.Hold },
		"an unknown policy": func(n *ledger.NewEntry) { n.Policy = "as you like" },
		"no words":          func(n *ledger.NewEntry) { n.Words.Box = "" },
		"no key":            func(n *ledger.NewEntry) { n.Words.Key = "" },
	} {
		n := NewEntry(ledger.Queue)
		edit(&n)
		if got, err := f.ledger.Store(f.ctx, n); err == nil {
			f.Errorf("%s: no error, but %+v", what, got)
		}
		_, err := f.ledger.Submission(f.ctx, n.ID)
		f.unseen(err)
		f.kept(n.ID, false)
	}
}

func storeOnHold(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		got, err := f.ledger.Store(f.ctx, entryOf(c, ledger.Queue))
		f.must(err)
		if diff := cmp.Diff(ledger.Stored{Row: before}, got); diff != "" {
			f.Errorf("%s (-row +answer):\n%s", s.name, diff)
		}
		f.same(before)
		f.kept(c.ID, false)
	}
}

// What the courier sends, no request sends beside it.
func claimOnKept(f *fixture) {
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		words := f.words(c.ID)
		c.Policy = ledger.Hold
		f.refuse(c)
		f.refuse(Again(c, 2*time.Hour))
		f.sameWords(c.ID, words)
	})
	c := NewClaim()
	c.Policy = ledger.Queue
	if got, err := f.ledger.Claim(f.ctx, c); err == nil {
		f.Errorf("a claim without stored words: %+v", got)
	}
	_, err := f.ledger.Submission(f.ctx, c.ID)
	f.unseen(err)
}
