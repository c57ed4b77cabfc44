package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func allowanceChecks() []check {
	return []check{
		{"Promise5_AnOperatorDecidesFromEveryStateOfAKeptRow", decideFromEveryKept},
		{"SendAgainAllowsOneMoreAttempt", sendAgainOnce},
		{"SendAgainRaisesTheCapOfClaimsToo", sendAgainClaims},
		{"NotReceivedAllowsOneMoreAttempt", notReceivedOnce},
		{"CapsAreRaisedAboveAllThatWasCounted", capsAboveCounts},
		{"CapsThatAreNotReachedStay", capsStay},
		{"SendAgainIsForRowsThatStopped", sendAgainOthers},
		{"ADecisionToSendOnAStaleRowIsRefused", sendAgainStale},
		{"WithoutItsWordsNothingIsSentAgain", noWordsNoMore},
	}
}

var decisionEvents = map[ledger.DecisionKind]ledger.EventKind{
	ledger.Received: ledger.EventReceived, ledger.NotReceived: ledger.EventNotReceived,
	ledger.Close: ledger.EventClosed, ledger.SendAgain: ledger.EventSendAgain,
}

func decideFromEveryKept(f *fixture) {
	for kind := range decisionEvents {
		f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) { f.decideAsTheTableSays(c, kind) })
	}
}

func (f *fixture) decideAsTheTableSays(c ledger.NewClaim, kind ledger.DecisionKind) {
	f.Helper()
	before, words := f.row(c.ID), f.words(c.ID)
	want := wantOutcome(before, kind, words != nil)
	d := decision(before, kind)
	f.Log(kind)
	if want.Err != nil {
		f.decideFails(d, want.Err)
		f.sameWords(c.ID, words)
		return
	}
	f.must(f.ledger.Decide(f.ctx, d))
	f.decided(d, decisionEvents[kind], want)
	if want.Waiting {
		f.isDue(c.ID, true)
		f.sameWords(c.ID, &ledger.Entry{Words: words.Words, Next: toMillis(d.At)})
	} else {
		f.kept(c.ID, false)
	}
}

func sendAgainOnce(f *fixture) {
	for _, p := range keeping {
		for _, reach := range []func(*fixture, ledger.Policy) ledger.NewClaim{(*fixture).stoppedAtCap, (*fixture).refusedForGood} {
			c := reach(f, p)
			before := f.row(c.ID)
			f.decide(c.ID, ledger.SendAgain)
			f.changed(before, func(s *ledger.Submission) {
				s.Needs, s.AttemptCap = ledger.NeedsNobody, max(AttemptCap, before.Attempts+1)
			})
			f.fail(c, ledger.ForGood("refused/rcpt"), 2*time.Hour)
			if row := f.row(c.ID); row.Needs != ledger.NeedsStopped || row.Attempts != before.Attempts+1 {
				f.Errorf("after one more: %+v", row)
			}
			f.decide(c.ID, ledger.SendAgain)
			again := Again(c, 3*time.Hour)
			f.take(again)
			f.settle(Ack(again, 3*time.Hour), true)
		}
	}
}

// A row can also be at its cap of claims alone.
func sendAgainClaims(f *fixture) {
	for _, p := range keeping {
		n := NewEntry(p)
		n.ClaimCap = 2
		f.store(n)
		c := f.fail(f.fail(Taking(n, 0), "refused/rcpt", time.Second), "refused/rcpt", time.Minute)
		before := f.row(c.ID)
		if before.Needs != ledger.NeedsStopped {
			f.Fatalf("%+v", before)
		}
		f.decide(c.ID, ledger.SendAgain)
		f.changed(before, func(s *ledger.Submission) { s.Needs, s.ClaimCap = ledger.NeedsNobody, 3 })
		f.fail(c, "refused/rcpt", time.Hour)
		if row := f.row(c.ID); row.Needs != ledger.NeedsStopped || row.Claims != 3 {
			f.Errorf("%+v", row)
		}
	}
}

func notReceivedOnce(f *fixture) {
	c := f.keptUncertain(ledger.Retry) // at its cap
	before := f.row(c.ID)
	f.decide(c.ID, ledger.NotReceived)
	f.changed(before, func(s *ledger.Submission) {
		s.Status, s.Needs, s.Claim, s.LeaseUntil = ledger.Processing, ledger.NeedsNobody, ledger.Token{}, time.Time{}
		s.LastError, s.AttemptCap = "operator.not_received", AttemptCap+1
	})
	f.isDue(c.ID, true)
	again := Again(c, 2*time.Hour)
	f.take(again)
	f.doubt(End(again, "timeout/dot", 2*time.Hour), true)
	if row := f.row(c.ID); row.Status != ledger.Uncertain || row.Attempts != AttemptCap+1 {
		f.Errorf("%+v", row)
	}
}

// A proof that comes after the last doubt is one more failure on record.
func capsAboveCounts(f *fixture) {
	c := f.keptUncertain(ledger.Retry)
	f.release(End(c, "sealed/inquiry", time.Hour), true)
	if row := f.row(c.ID); row.Attempts != AttemptCap+1 || row.Status != ledger.Uncertain {
		f.Fatalf("%+v", row)
	}
	f.decide(c.ID, ledger.NotReceived)
	if row := f.row(c.ID); row.AttemptCap != AttemptCap+2 {
		f.Errorf("%+v", row)
	}
	f.isDue(c.ID, true)
}

func capsStay(f *fixture) {
	for _, p := range keeping {
		n := NewEntry(p)
		n.AttemptCap, n.ClaimCap = 0, 0
		f.store(n)
		free := f.fail(Taking(n, 0), ledger.ForGood("refused/rcpt"), time.Second)
		f.decide(free.ID, ledger.SendAgain)
		if row := f.row(free.ID); row.AttemptCap != 0 || row.ClaimCap != 0 {
			f.Errorf("no cap became one: %+v", row)
		}
		capped := f.refusedForGood(p)
		f.decide(capped.ID, ledger.SendAgain)
		if row := f.row(capped.ID); row.AttemptCap != AttemptCap || row.ClaimCap != ClaimCap {
			f.Errorf("%+v", row)
		}
	}
}

// Nothing else is allowed one more attempt: not what waits by itself, and not
// what may have arrived.
func sendAgainOthers(f *fixture) {
	for _, s := range allStates() {
		row := f.row(s.reach(f).ID)
		want := ledger.ErrNotStopped
		if row.Status == ledger.Processing && !row.Claim.IsZero() {
			want = ledger.ErrClaimed
		}
		f.Log(s.name)
		f.decideFails(decision(row, ledger.SendAgain), want)
	}
}

func sendAgainStale(f *fixture) {
	c := f.stoppedAtCap(ledger.Queue)
	row := f.row(c.ID)
	for what, edit := range map[string]func(*ledger.Submission){
		"updated later":   func(s *ledger.Submission) { s.UpdatedAt = s.UpdatedAt.Add(time.Millisecond) },
		"updated earlier": func(s *ledger.Submission) { s.UpdatedAt = s.UpdatedAt.Add(-time.Millisecond) },
		"another status":  func(s *ledger.Submission) { s.Status = ledger.Uncertain },
		"another claim":   func(s *ledger.Submission) { s.Claim = NewToken() },
	} {
		seen := row
		edit(&seen)
		f.Log(what)
		f.decideFails(decision(seen, ledger.SendAgain), ledger.ErrStale)
	}
	first := decision(row, ledger.SendAgain)
	f.must(f.ledger.Decide(f.ctx, first))
	f.decideFails(first, ledger.ErrStale)
	f.decideFails(decision(f.row(c.ID), ledger.SendAgain), ledger.ErrNotStopped)
	f.take(Again(c, 2*time.Hour))
	f.decideFails(decision(f.row(c.ID), ledger.SendAgain), ledger.ErrClaimed)
}

// A closed case can be opened again under hold alone: where the words are gone,
// nothing could be sent.
func noWordsNoMore(f *fixture) {
	f.fromEachKept([]keptState{
		{"uncertain", (*fixture).keptUncertain}, {"stopped", (*fixture).stoppedAtCap}, {"waiting", (*fixture).notSent},
	}, func(c ledger.NewClaim) {
		f.decide(c.ID, ledger.Close)
		before, events := f.row(c.ID), f.events(c.ID)
		f.decideFails(decision(before, ledger.NotReceived), ledger.ErrNoWords)
		f.decideFails(decision(before, ledger.SendAgain), ledger.ErrNotStopped)
		f.same(before)
		f.kept(c.ID, false)
		if diff := cmp.Diff(events, f.events(c.ID)); diff != "" {
			f.Errorf("events (-before +now):\n%s", diff)
		}
	})
}
