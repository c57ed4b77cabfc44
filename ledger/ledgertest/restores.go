package ledgertest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
)

func restoreChecks() []check {
	return []check{
		{"Promise5_ARestoreCallsUncertainWhatWasOpen", restoreDisputes},
		{"Promise2_AfterARestoreAnIDThatMayBeOldIsNotClaimed", oldIsNotClaimed},
		{"Promise2_AfterARestoreWordsThatMayBeOldAreNotSent", oldIsNotSent},
		{"AfterARestoreWhatIsNewGoesItsWay", newAfterRestore},
		{"WhatARestorePutInDoubtIsSentIfAnOperatorSaysSo", sentAfterRestore},
		{"ARestoreIsPendingUntilAnOperatorEndsIt", restoreEnds},
		{"AClaimFromBeforeARestoreChangesNoRow", claimsBeforeRestore},
		{"ARepeatAfterARestoreFindsItsRow", repeatsAfterRestore},
	}
}

// restoredAt is after everything that the suite does by itself.
const restoredAt = 10_000 * time.Hour

func restoration(after time.Duration) ledger.Restoration {
	return ledger.Restoration{At: At(after), By: "ada", Note: "the disk had failed"}
}

func (f *fixture) restore(want int) {
	f.Helper()
	got, err := f.ledger.MarkRestored(f.ctx, restoration(restoredAt))
	f.must(err)
	if got != want {
		f.Fatalf("%d rows are in doubt, not %d", got, want)
	}
	f.pending(true)
}

func (f *fixture) pending(want bool) {
	f.Helper()
	at, err := f.ledger.Restored(f.ctx)
	f.must(err)
	if at.IsZero() == want || want && !at.Equal(toMillis(At(restoredAt))) {
		f.Fatalf("Restored says %v", at)
	}
}

// IDAt is a UUIDv7 that was made at a moment.
func IDAt(at time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id
}

// claimOf asks for an ID, so long after the suite's start.
func claimOf(id uuid.UUID, after time.Duration) ledger.NewClaim {
	c := Again(NewClaim(), after)
	c.ID = id
	return c
}

// maybeOld are IDs that may have been sent before the restore; they come an hour
// and a half after it.
func maybeOld() (claims []ledger.NewClaim) {
	const now = restoredAt + 90*time.Minute
	derived := uuid.New()
	derived[6] = derived[6]&0x0f | 0x80 // a UUIDv8, as of forms that send no ID
	for _, id := range []uuid.UUID{
		uuid.New(), derived, uuid.Must(uuid.NewV6()),
		IDAt(At(0)), IDAt(At(restoredAt - time.Minute)), IDAt(At(restoredAt)), IDAt(At(restoredAt + time.Hour)), // clocks err
		IDAt(At(now + time.Hour)), IDAt(At(now + 1000*time.Hour)), // of clocks that are ahead, and may have been before
	} {
		claims = append(claims, claimOf(id, now))
	}
	return claims
}

func restoreDisputes(f *fixture) {
	var all []ledger.NewClaim
	for _, s := range append(append(openStates(), settledStates()...), disputedStates()...) {
		all = append(all, s.reach(f))
	}
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) { all = append(all, c) })
	before, want := f.rowsOf(all), 0
	words := []*ledger.Entry{}
	for _, row := range before {
		words = append(words, f.words(row.ID))
		if row.Status == ledger.Processing && row.ClosedAt.IsZero() {
			want++
		}
	}
	f.restore(want)
	for i, row := range before {
		f.sameWords(row.ID, words[i])
		if row.Status != ledger.Processing || !row.ClosedAt.IsZero() {
			f.same(row)
			continue
		}
		f.changed(row, func(s *ledger.Submission) {
			s.Status, s.Needs, s.Claim, s.LeaseUntil = ledger.Uncertain, ledger.NeedsDisputed, ledger.Token{}, time.Time{}
			s.Doubted, s.LastError = true, ledger.CauseRestored
		})
		f.restoredEvent(row.ID, row.Claim, ledger.Operator("ada"))
		if !f.row(row.ID).InDoubtByRestore() {
			f.Errorf("%+v", f.row(row.ID))
		}
	}
	f.story(uuid.Nil, ledger.EventRestored)
	for _, p := range keeping {
		if due := f.due(p, 20_000*time.Hour); len(due) != 0 {
			f.Errorf("%d rows are due", len(due))
		}
	}
}

// restoredEvent checks a row's last event.
func (f *fixture) restoredEvent(id uuid.UUID, claim ledger.Token, actor string) {
	f.Helper()
	events := f.events(id)
	if len(events) == 0 {
		f.Fatal("no event")
	}
	if e := events[len(events)-1]; e.Kind != ledger.EventRestored || e.Claim != claim || e.Actor != actor || e.Cause == "" {
		f.Errorf("%+v", e)
	}
}

// unsureRow is what becomes of an ID that may be old.
func unsureRow(n ledger.NewEntry) ledger.Submission {
	at := toMillis(n.At)
	return ledger.Submission{
		ID: n.ID, Reference: ledger.ReferenceOf(n.ID), Form: n.Form, Policy: n.Policy, PayloadHash: n.PayloadHash,
		Status: ledger.Uncertain, Needs: ledger.NeedsDisputed, CreatedAt: at, UpdatedAt: at,
		AttemptCap: n.AttemptCap, ClaimCap: n.ClaimCap, Doubted: true, LastError: ledger.CauseMayBeRepeat,
	}
}

func oldIsNotClaimed(f *fixture) {
	f.restore(0)
	for _, c := range maybeOld() {
		n := entryOf(c, ledger.Hold)
		n.AttemptCap, n.ClaimCap = 0, 0
		got := f.claim(c)
		if diff := cmp.Diff(ledger.Claimed{Row: unsureRow(n)}, got); diff != "" {
			f.Fatalf("%s (-want +got):\n%s", c.ID, diff)
		}
		f.same(got.Row)
		f.restoredEvent(c.ID, ledger.Token{}, ledger.ActorSystem)
		f.refuse(c) // the same try again, as after an error
		f.refuse(Again(c, 20_000*time.Hour))
		f.sweeps(c.ID)
		f.refuse(Again(c, 20_000*time.Hour))
		f.story(c.ID, ledger.EventConflict, ledger.EventRestored) // the sweeps were earlier, by the clock
	}
	c := claimOf(uuid.New(), restoredAt)
	c.Policy = "hope"
	if got, err := f.ledger.Claim(f.ctx, c); err == nil {
		f.Errorf("what the schema refuses is answered: %+v", got)
	}
	_, err := f.ledger.Submission(f.ctx, c.ID)
	f.unseen(err)
}

func oldIsNotSent(f *fixture) {
	f.restore(0)
	for _, p := range keeping {
		for _, c := range maybeOld() {
			n := entryOf(c, p)
			for range 2 {
				got, err := f.ledger.Store(f.ctx, n)
				f.must(err)
				if diff := cmp.Diff(ledger.Stored{Row: unsureRow(n)}, got); diff != "" {
					f.Fatalf("%s (-want +got):\n%s", c.ID, diff)
				}
			}
			f.sameWords(n.ID, &ledger.Entry{Words: n.Words, Next: toMillis(n.Due)})
			f.refuseTake(Again(c, 20_000*time.Hour))
			f.isDue(n.ID, false)
			f.story(n.ID, ledger.EventRestored)
		}
	}
}

func newAfterRestore(f *fixture) {
	f.restore(0)
	const now = restoredAt + 2*time.Hour
	for _, made := range []time.Duration{restoredAt + time.Hour + time.Millisecond, now, now + 9*time.Minute} {
		f.own(claimOf(IDAt(At(made)), now))
		for _, p := range keeping {
			n := entryOf(claimOf(IDAt(At(made)), now), p)
			f.store(n)
			f.take(Taking(n, now))
		}
	}
}

func sentAfterRestore(f *fixture) {
	waiting, free := f.notSent(ledger.Queue), f.released()
	f.restore(2)
	held := maybeOld()[0]
	f.claim(held)
	n := entryOf(maybeOld()[1], ledger.Retry)
	f.write(f.ledger.Store(f.ctx, n))
	for _, c := range []ledger.NewClaim{held, free} {
		f.decide(c.ID, ledger.NotReceived)
		f.own(Again(c, 20_000*time.Hour))
	}
	for _, c := range []ledger.NewClaim{waiting, Taking(n, 0)} {
		f.decide(c.ID, ledger.NotReceived)
		f.isDue(c.ID, true)
		c = Again(c, 20_000*time.Hour)
		f.take(c)
		f.settle(Ack(c, 20_001*time.Hour), true)
		f.kept(c.ID, false)
	}
	other := maybeOld()[0]
	f.claim(other)
	f.decide(other.ID, ledger.Received)
	f.refuse(Again(other, 20_000*time.Hour))
}

func restoreEnds(f *fixture) {
	f.pending(false)
	end := restoration(restoredAt + 48*time.Hour)
	if err := f.ledger.EndRestored(f.ctx, end); !errors.Is(err, ledger.ErrNotRestored) {
		f.Fatalf("%v", err)
	}
	f.restore(0)
	held := maybeOld()[0]
	f.claim(held)
	f.must(f.ledger.EndRestored(f.ctx, end))
	f.pending(false)
	if err := f.ledger.EndRestored(f.ctx, end); !errors.Is(err, ledger.ErrNotRestored) {
		f.Fatalf("%v", err)
	}
	f.refuse(Again(held, 20_000*time.Hour)) // it is a person's still
	for _, c := range maybeOld() {
		f.own(c)
	}
	f.store(entryOf(claimOf(uuid.New(), restoredAt), ledger.Queue))
	f.story(uuid.Nil, ledger.EventRestored, ledger.EventRestoreEnded)
	f.restore(len(maybeOld()) + 1)
	f.refuse(claimOf(held.ID, restoredAt))
}

// Whoever had claimed a row before, in the time that the copy does not know or
// earlier, leaves it before the operator.
func claimsBeforeRestore(f *fixture) {
	c, taken := f.fresh(), f.taken(ledger.Queue)
	f.restore(2)
	for _, c := range []ledger.NewClaim{c, taken} {
		before := f.row(c.ID)
		f.doubt(End(c, "timeout/dot", restoredAt+time.Hour), false)
		f.release(End(c, "refused/rcpt", restoredAt+time.Hour), false)
		f.lapse(At(restoredAt+time.Hour), 0)
		f.same(before)
		f.settle(Ack(c, restoredAt+time.Hour), false)
		f.lastEvent(c, ledger.EventDisputed, Ack(c, 0).Receipt)
		if row := f.row(c.ID); row.Status != ledger.Uncertain || row.Needs != ledger.NeedsDisputed {
			f.Errorf("%+v", row)
		}
		f.decide(c.ID, ledger.Received)
	}
}

func repeatsAfterRestore(f *fixture) {
	accepted, faulty := f.accepted(), NewFaulty(f.ledger)
	f.restore(0)
	f.refuse(Again(accepted, restoredAt))
	for _, when := range []When{Before, After} {
		c, n := claimOf(uuid.New(), restoredAt), entryOf(claimOf(uuid.New(), restoredAt), ledger.Queue)
		faulty.Fail("Claim", when, 1)
		faulty.Fail("Store", when, 1)
		for range 2 {
			_, _ = faulty.Claim(f.ctx, c)
			_, _ = faulty.Store(f.ctx, n)
		}
		f.story(c.ID, ledger.EventRestored)
		f.story(n.ID, ledger.EventRestored)
	}
}
