package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func decisionChecks() []check {
	return []check{
		{"Promise5_AnOperatorDecidesFromEveryState", decideFromEvery},
		{"Promise4_ReceivedSaysWhoVouches", receivedSaysWho},
		{"NotReceivedLetsTheVisitorSendAgain", notReceivedFrees},
		{"ClosedIsNeverFree", closedIsNeverFree},
		{"ADecisionOnAStaleRowIsRefused", decideStale},
		{"ADecisionWithinOneMillisecondMakesTheRowStale", decideSameMillisecond},
		{"ADecisionUnderABackwardClockMakesTheRowStale", decideBackwards},
		{"ADecisionOnAnUnseenRowIsRefused", decideUnseen},
		{"AnUnknownDecisionIsRefused", decideUnknown},
	}
}

// outcome is what a decision makes of a row: an error, or the fields below.
type outcome struct {
	Err     error
	Status  ledger.Status
	Needs   ledger.Need
	Free    bool
	Waiting bool
	Closed  bool
}

func decideFromEvery(f *fixture) {
	for _, s := range allStates() {
		for kind, event := range decisionEvents {
			c := s.reach(f)
			before := f.row(c.ID)
			d := decision(before, kind)
			f.Logf("%s: %s", s.name, kind)
			want := wantOutcome(before, kind, false)
			if want.Err != nil {
				f.decideFails(d, want.Err)
				continue
			}
			f.must(f.ledger.Decide(f.ctx, d))
			f.decided(d, event, want)
		}
	}
}

// wantOutcome is the table of decisions, by what is known of the row and whether
// its words are kept.
func wantOutcome(s ledger.Submission, kind ledger.DecisionKind, words bool) outcome {
	closed, hold := !s.ClosedAt.IsZero(), s.Policy == ledger.Hold
	stopped := s.Status == ledger.Processing && s.Needs == ledger.NeedsStopped && !closed
	switch {
	case s.Status == ledger.Processing && !s.Claim.IsZero():
		return outcome{Err: ledger.ErrClaimed}
	case s.Status == ledger.Accepted && kind == ledger.NotReceived:
		return outcome{Err: ledger.ErrFinal}
	case kind == ledger.SendAgain && (hold || !stopped):
		return outcome{Err: ledger.ErrNotStopped}
	case kind == ledger.Received:
		return outcome{Status: ledger.Accepted, Closed: closed}
	case kind == ledger.Close:
		return outcome{Status: s.Status, Closed: true}
	case !hold && !words:
		return outcome{Err: ledger.ErrNoWords}
	default:
		return outcome{Status: ledger.Processing, Free: hold, Waiting: !hold} // a closed case is opened again
	}
}

// decided checks the row and the one event of a decision.
func (f *fixture) decided(d ledger.Decision, kind ledger.EventKind, want outcome) {
	f.Helper()
	row := f.row(d.Seen.ID)
	got := outcome{Status: row.Status, Needs: row.Needs, Free: row.Free(), Waiting: row.Waiting(), Closed: !row.ClosedAt.IsZero()}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("the row (-want +got):\n%s", diff)
	}
	if !row.UpdatedAt.After(d.Seen.UpdatedAt) {
		f.Error("updated_at has not grown")
	}
	events := f.events(d.Seen.ID)
	last := events[len(events)-1]
	wanted := ledger.Event{ID: last.ID, Submission: row.ID, At: toMillis(d.At), Kind: kind, Actor: "operator:ada",
		Claim: d.Seen.Claim, Note: "asked by phone", Times: 1, LastAt: toMillis(d.At)}
	if diff := cmp.Diff(wanted, last); diff != "" {
		f.Errorf("the event (-want +got):\n%s", diff)
	}
}

func receivedSaysWho(f *fixture) {
	if row := f.row(f.received().ID); row.AcceptedBy != ledger.Operator("ada") || row.Claim.IsZero() {
		f.Errorf("accepted by %q under %v", row.AcceptedBy, row.Claim)
	}
	disputed := f.acceptedTwice()
	f.decide(disputed.ID, ledger.Received)
	if row := f.row(disputed.ID); row.AcceptedBy != ledger.AcceptedByRelay || row.Needs != "" {
		f.Errorf("accepted by %q, needs %q", row.AcceptedBy, row.Needs)
	}
}

func notReceivedFrees(f *fixture) {
	c := f.doubted()
	f.decide(c.ID, ledger.NotReceived)
	f.doubt(End(c, "timeout/dot", 2*time.Hour), false)
	again := Again(c, 2*time.Hour)
	f.own(again)
	f.refuse(Again(c, 2*time.Hour))
	f.settle(Ack(again, 2*time.Hour), true)
	f.story(c.ID, ledger.EventDoubted, ledger.EventNotReceived)
}

func closedIsNeverFree(f *fixture) {
	for _, s := range []state{{"uncertain", (*fixture).closedUncertain}, {"released", (*fixture).closedReleased}} {
		c := s.reach(f)
		closed := f.row(c.ID).ClosedAt
		f.Log(s.name)
		f.refuse(c)
		f.refuse(Again(c, 2*time.Hour))
		f.sweeps(c.ID)
		f.refuse(Again(c, 2*time.Hour))
		if row := f.row(c.ID); row.Needs != "" || row.ClosedAt.IsZero() || row.ClosedAt != closed {
			f.Errorf("closed at %v, needs %q", row.ClosedAt, row.Needs)
		}
	}
}

func decideStale(f *fixture) {
	c := f.doubted()
	row := f.row(c.ID)
	for what, edit := range map[string]func(*ledger.Submission){
		"updated later":   func(s *ledger.Submission) { s.UpdatedAt = s.UpdatedAt.Add(time.Millisecond) },
		"updated earlier": func(s *ledger.Submission) { s.UpdatedAt = s.UpdatedAt.Add(-time.Millisecond) },
		"another status":  func(s *ledger.Submission) { s.Status = ledger.Processing },
		"another claim":   func(s *ledger.Submission) { s.Claim = NewToken() },
		"no claim":        func(s *ledger.Submission) { s.Claim = ledger.Token{} },
	} {
		for _, kind := range []ledger.DecisionKind{ledger.Received, ledger.NotReceived, ledger.Close} {
			seen := row
			edit(&seen)
			f.Log(what, kind)
			f.decideFails(decision(seen, kind), ledger.ErrStale)
		}
	}
	f.settle(Ack(c, time.Hour), true)
	f.decideFails(decision(row, ledger.NotReceived), ledger.ErrStale)
}

// Two looks at a row in one millisecond are still told apart.
func decideSameMillisecond(f *fixture) {
	c := f.doubted()
	first := decision(f.row(c.ID), ledger.NotReceived)
	first.At = first.Seen.UpdatedAt
	f.must(f.ledger.Decide(f.ctx, first))
	second := decision(f.row(c.ID), ledger.Close)
	second.At = first.At
	f.decideFails(first, ledger.ErrStale)
	f.must(f.ledger.Decide(f.ctx, second))
	third := decision(second.Seen, ledger.Received)
	third.At = first.At
	f.decideFails(third, ledger.ErrStale)
	f.story(c.ID, ledger.EventDoubted, ledger.EventNotReceived, ledger.EventClosed)
}

func decideBackwards(f *fixture) {
	c := f.doubted()
	d := decision(f.row(c.ID), ledger.NotReceived)
	d.At = At(-time.Hour)
	f.must(f.ledger.Decide(f.ctx, d))
	if now := f.row(c.ID).UpdatedAt; !now.After(d.Seen.UpdatedAt) {
		f.Errorf("updated_at went from %v to %v", d.Seen.UpdatedAt, now)
	}
	f.decideFails(d, ledger.ErrStale)
}

func decideUnseen(f *fixture) {
	id := NewClaim().ID
	d := decision(ledger.Submission{ID: id, Status: ledger.Uncertain, UpdatedAt: At(0)}, ledger.Received)
	f.unseen(f.ledger.Decide(f.ctx, d))
	f.story(id)
}

func decideUnknown(f *fixture) {
	c := f.doubted()
	before := f.row(c.ID)
	if err := f.ledger.Decide(f.ctx, decision(before, "as you like")); err == nil {
		f.Error("no error")
	}
	f.same(before)
	f.story(c.ID, ledger.EventDoubted)
}
