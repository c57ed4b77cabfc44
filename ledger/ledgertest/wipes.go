package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func wipeChecks() []check {
	return []check{
		{"Promise8_AcceptedWipesTheWords", acceptedWipes},
		{"Promise8_AClosedCaseIsWiped", closedWipes},
		{"Promise8_ASettleThatErroredHasWiped", erroredSettleWipes},
		{"NothingElseWipesTheWords", nothingElseWipes},
		{"Promise4_ALateAcknowledgmentSettlesWhatRetryReleased", lateOnRetry},
		{"AStaleAcknowledgmentBesideAnotherTakeOnlyDisputes", lateBesideATake},
		{"Promise4_AcceptedIsFinalWhateverThePolicy", keptAcceptedIsFinal},
	}
}

func acceptedWipes(f *fixture) {
	for _, p := range keeping {
		for what, accept := range map[string]func() ledger.NewClaim{
			"by its claim": func() ledger.NewClaim { return f.keptAccepted(p) },
			"by a caller that knows the policy": func() ledger.NewClaim {
				c := f.taken(p)
				a := Ack(c, time.Second)
				a.Policy, a.Note = p, "refused: b***@example.org"
				f.settle(a, true)
				return c
			},
			"late, uncertain":     func() ledger.NewClaim { return f.settledLate(f.keptUncertain(p)) },
			"late, released":      func() ledger.NewClaim { return f.settledLate(f.notSent(p)) },
			"late, stopped":       func() ledger.NewClaim { return f.settledLate(f.stoppedAtCap(p)) },
			"by an earlier claim": func() ledger.NewClaim { return f.acceptedEarlier(p) },
			"by an operator":      func() ledger.NewClaim { return f.keptReceived(p) },
			"by an operator, unclaimed": func() ledger.NewClaim {
				c := f.notSent(p)
				f.decide(c.ID, ledger.Received)
				return c
			},
			"by an operator, disputed": func() ledger.NewClaim {
				c := f.keptDisputed(p)
				f.decide(c.ID, ledger.Received)
				return c
			},
		} {
			c := accept()
			f.Log(p, what)
			f.kept(c.ID, false)
			if row := f.row(c.ID); row.Status != ledger.Accepted || row.Needs != "" {
				f.Errorf("%+v", row)
			}
			f.isDue(c.ID, false)
		}
	}
}

func (f *fixture) settledLate(c ledger.NewClaim) ledger.NewClaim {
	f.Helper()
	f.settle(Ack(c, 10*time.Hour), true)
	f.lastEvent(c, ledger.EventLateAcknowledged, Ack(c, 0).Receipt)
	return c
}

func (f *fixture) acceptedEarlier(p ledger.Policy) ledger.NewClaim {
	first := f.notSent(p)
	c := Again(first, time.Minute)
	f.take(c)
	f.settle(earlierAck(c, first, time.Hour), true)
	return c
}

func closedWipes(f *fixture) {
	f.fromEachKept(append(keptStates(), keptState{"disputed", (*fixture).keptDisputed}), func(c ledger.NewClaim) {
		if before := f.row(c.ID); before.Status == ledger.Processing && !before.Claim.IsZero() {
			return // nobody can close it yet
		}
		f.decide(c.ID, ledger.Close)
		f.kept(c.ID, false)
		f.isDue(c.ID, false)
		f.refuseTake(Again(c, 5*time.Hour))
	})
}

func erroredSettleWipes(f *fixture) {
	c, faulty := f.taken(ledger.Queue), NewFaulty(f.ledger)
	faulty.Fail("Settle", Before, 1)
	if _, err := faulty.Settle(f.ctx, Ack(c, time.Second)); err == nil {
		f.Fatal("no error")
	}
	f.kept(c.ID, true)
	faulty.Fail("Settle", After, 1)
	if _, err := faulty.Settle(f.ctx, Ack(c, time.Second)); err == nil {
		f.Fatal("no error")
	}
	f.kept(c.ID, false)
	f.settle(Ack(c, 2*time.Second), true)
	f.story(c.ID)
}

// Whatever becomes of a row that stays open, its words stay.
func nothingElseWipes(f *fixture) {
	f.fromEachKept(append(keptStates(), keptDisputes()...), func(c ledger.NewClaim) {
		row := f.row(c.ID)
		f.kept(c.ID, row.Open())
		stranger := Again(c, 3*time.Hour)
		f.write(f.ledger.Doubt(f.ctx, End(stranger, "timeout/dot", 3*time.Hour)))
		f.write(f.ledger.Release(f.ctx, End(stranger, "refused/rcpt", 3*time.Hour)))
		stranger.PayloadHash = Hash("other words")
		f.settle(Ack(stranger, 3*time.Hour), false)
		f.settle(Ack(stranger, 3*time.Hour), false)
		f.write(f.ledger.Doubt(f.ctx, End(c, "timeout/dot", 3*time.Hour)))
		f.write(f.ledger.Release(f.ctx, End(c, "refused/rcpt", 3*time.Hour)))
		f.sweeps(c.ID)
		f.kept(c.ID, row.Open())
	})
}

func lateOnRetry(f *fixture) {
	for _, reach := range []func(*fixture, ledger.Policy) ledger.NewClaim{(*fixture).keptDoubted, (*fixture).keptLapsed} {
		c := reach(f, ledger.Retry)
		f.isDue(c.ID, true)
		f.settledLate(c)
		row := f.row(c.ID)
		if row.Status != ledger.Accepted || row.Claim != c.Token || row.AcceptedBy != ledger.AcceptedByRelay {
			f.Errorf("%+v", row)
		}
		f.kept(c.ID, false)
		f.refuseTake(Again(c, 2*time.Hour))
	}
}

func lateBesideATake(f *fixture) {
	for _, p := range keeping {
		for _, reach := range []func(*fixture, ledger.Policy) ledger.NewClaim{(*fixture).notSent, (*fixture).keptDoubted, (*fixture).keptLapsed} {
			stale := reach(f, p)
			if !f.row(stale.ID).Waiting() {
				continue
			}
			f.take(Again(stale, time.Minute))
			before, words := f.row(stale.ID), f.words(stale.ID)
			for range 2 {
				f.settle(Ack(stale, 2*time.Hour), false)
			}
			f.changed(before, func(s *ledger.Submission) { s.Needs = ledger.NeedsDisputed })
			f.sameWords(stale.ID, words)
			f.lastEvent(stale, ledger.EventDisputed, Ack(stale, 0).Receipt)
			if n := len(f.events(stale.ID)); n != 2 {
				f.Errorf("%d events", n)
			}
		}
	}
}

func keptAcceptedIsFinal(f *fixture) {
	f.fromEachKept([]keptState{{"accepted", (*fixture).keptAccepted}, {"by an operator", (*fixture).keptReceived}}, func(c ledger.NewClaim) {
		before := f.row(c.ID)
		f.machineWrites(c)
		f.refuseTake(c)
		f.refuseTake(Again(c, time.Hour))
		f.decideFails(decision(f.row(c.ID), ledger.NotReceived), ledger.ErrFinal)
		now := f.row(c.ID)
		if diff := cmp.Diff([]any{before.Status, before.AcceptedBy, before.Receipt, before.Claims}, []any{now.Status, now.AcceptedBy, now.Receipt, now.Claims}); diff != "" {
			f.Errorf("(-before +now):\n%s", diff)
		}
	})
}
