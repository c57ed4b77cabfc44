package ledgertest

import (
	"strings"
	"time"

	"formledger/ledger"
)

func lateChecks() []check {
	return []check{
		{"Promise5_ALateAcknowledgmentSettlesAnUncertainRow", lateOnUncertain},
		{"ALateAcknowledgmentSettlesAReleasedRow", lateOnReleased},
		{"ALateAcknowledgmentSettlesAClosedRow", lateOnClosed},
		{"ALateAcknowledgmentBesideAnotherClaimOnlyDisputes", lateBesideAnother},
		{"AnAcknowledgmentOfAnEarlierClaimSettlesAndSaysSo", earlierSettles},
		{"AnAcknowledgmentOfAnEarlierClaimContradictsAnOperator", earlierContradicts},
		{"ADisputeIsRaisedAgainByNewEvidenceOnly", disputedOnce},
	}
}

func lateOnUncertain(f *fixture) {
	for _, s := range []state{{"doubted", (*fixture).doubted}, {"lapsed", (*fixture).lapsed}} {
		c := s.reach(f)
		before := f.row(c.ID)
		f.settle(Ack(c, 2*time.Hour), true)
		now := f.changed(before, func(s *ledger.Submission) {
			s.Status, s.AcceptedBy, s.Receipt, s.Needs = ledger.Accepted, ledger.AcceptedByRelay, Ack(c, 0).Receipt, ""
		})
		if !now.Doubted {
			f.Error("that it was doubted is forgotten")
		}
		f.lastEvent(c, ledger.EventLateAcknowledged, Ack(c, 0).Receipt)
	}
}

// Nobody has claimed it since, so the claim that proved itself is the row's.
func lateOnReleased(f *fixture) {
	for _, s := range []state{{"released", (*fixture).released}, {"unsent", (*fixture).unsent}} {
		c := s.reach(f)
		f.settle(Ack(c, 2*time.Hour), true)
		row := f.row(c.ID)
		if row.Status != ledger.Accepted || row.Claim != c.Token || row.Needs != "" || row.AcceptedBy != ledger.AcceptedByRelay {
			f.Errorf("%s: %+v", s.name, row)
		}
		f.lastEvent(c, ledger.EventLateAcknowledged, Ack(c, 0).Receipt)
		f.refuse(Again(c, 3*time.Hour))
		f.settle(Ack(c, 3*time.Hour), true)
	}
}

func lateOnClosed(f *fixture) {
	for _, s := range []state{{"uncertain", (*fixture).closedUncertain}, {"released", (*fixture).closedReleased}} {
		c := s.reach(f)
		closed := f.row(c.ID).ClosedAt
		f.settle(Ack(c, 2*time.Hour), true)
		row := f.row(c.ID)
		if row.Status != ledger.Accepted || row.Needs != "" || row.ClosedAt != closed {
			f.Errorf("%s: %+v", s.name, row)
		}
		f.lastEvent(c, ledger.EventLateAcknowledged, Ack(c, 0).Receipt)
	}
}

// earlierAck is what a far end says that had taken the content under an earlier
// claim.
func earlierAck(c, earlier ledger.NewClaim, after time.Duration) ledger.Acknowledgment {
	a := Ack(c, after)
	a.Earlier = earlier.Token
	return a
}

func earlierSettles(f *fixture) {
	for _, doubted := range []bool{false, true} {
		first := f.released()
		c := Again(first, time.Minute)
		f.own(c)
		if doubted {
			f.doubt(End(c, "timeout/answer", 2*time.Minute), true)
		}
		for range 2 { // the second repeats what errored and happened
			f.settle(earlierAck(c, first, time.Hour), true)
		}
		row := f.row(c.ID)
		if row.Status != ledger.Accepted || row.AcceptedBy != ledger.AcceptedByRelay || row.Needs != "" {
			f.Errorf("%+v", row)
		}
		events := f.events(c.ID)
		if last := events[len(events)-1]; last.Kind != ledger.EventLateAcknowledged || !strings.Contains(last.Note, first.Token.String()) {
			f.Errorf("%+v", last)
		}
	}
}

func earlierContradicts(f *fixture) {
	for _, doubted := range []bool{false, true} {
		first := f.doubted()
		f.decide(first.ID, ledger.NotReceived)
		c := Again(first, 2*time.Hour)
		f.own(c)
		if doubted {
			f.doubt(End(c, "timeout/answer", 3*time.Hour), true)
		}
		for range 2 {
			f.settle(earlierAck(c, first, 4*time.Hour), true)
		}
		row := f.row(c.ID)
		if row.Status != ledger.Accepted || row.AcceptedBy != ledger.AcceptedByRelay || row.Needs != ledger.NeedsDisputed {
			f.Errorf("%+v", row)
		}
		events := f.events(c.ID)
		if last := events[len(events)-1]; last.Kind != ledger.EventDisputed || !strings.Contains(last.Note, first.Token.String()) {
			f.Errorf("%+v", last)
		}
		f.decide(c.ID, ledger.Received)
		if row := f.row(c.ID); row.Needs != "" || row.AcceptedBy != ledger.AcceptedByRelay {
			f.Errorf("%+v", row)
		}
	}
}

func lateBesideAnother(f *fixture) {
	for _, ended := range []struct {
		name string
		end  func(c ledger.NewClaim)
	}{
		{"at work", func(ledger.NewClaim) {}},
		{"doubted", func(c ledger.NewClaim) { f.doubt(End(c, "timeout/dot", time.Minute), true) }},
		{"lapsed", func(c ledger.NewClaim) { f.lapseClaims([]ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, 1) }},
		{"accepted", func(c ledger.NewClaim) { f.settle(Ack(c, time.Minute), true) }},
	} {
		stale := f.released()
		standing := Again(stale, time.Minute)
		f.own(standing)
		ended.end(standing)
		before := f.row(stale.ID)
		f.Log(ended.name)
		f.settle(Ack(stale, 2*time.Hour), false)
		f.changed(before, func(s *ledger.Submission) { s.Needs = ledger.NeedsDisputed })
		f.lastEvent(stale, ledger.EventDisputed, Ack(stale, 0).Receipt)
	}
}

// A repeat of errored writes leaves one event; after a person's decision the
// same evidence counts anew.
func disputedOnce(f *fixture) {
	stale := f.released()
	standing := Again(stale, time.Minute)
	f.own(standing)
	f.settle(Ack(standing, time.Minute), true)
	for range 3 {
		f.settle(Ack(stale, time.Hour), false)
	}
	f.story(stale.ID, ledger.EventReleased, ledger.EventDisputed)
	third := Again(stale, time.Hour)
	f.settle(Ack(third, time.Hour), false)
	f.story(stale.ID, ledger.EventReleased, ledger.EventDisputed, ledger.EventDisputed)
	f.decide(stale.ID, ledger.Received)
	f.settle(Ack(stale, 5*time.Hour), false)
	if row := f.row(stale.ID); row.Needs != ledger.NeedsDisputed {
		f.Errorf("needs %q", row.Needs)
	}
	f.lastEvent(stale, ledger.EventDisputed, Ack(stale, 0).Receipt)
}

// lastEvent checks the newest event of a claim's row.
func (f *fixture) lastEvent(c ledger.NewClaim, kind ledger.EventKind, note string) {
	f.Helper()
	events := f.events(c.ID)
	last := events[len(events)-1]
	if last.Kind != kind || last.Claim != c.Token || last.Note != note || last.Actor != ledger.ActorSystem || last.Times != 1 {
		f.Errorf("the last event: %+v", last)
	}
}
