package ledgertest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

func settleChecks() []check {
	return []check{
		{"Promise4_AnAcknowledgmentOfTheClaimSettles", settleNormal},
		{"Promise4_ASettleIsIdempotent", settleRepeated},
		{"Promise4_ASettleThatErroredIsRepeated", settleErrored},
		{"Promise4_AnAcknowledgmentOfOtherContentSettlesNothing", settleOtherHash},
		{"Promise4_AnAcknowledgmentOfAnUnseenIDSettlesNothing", settleUnseen},
		{"Promise4_AcceptedIsFinal", acceptedIsFinal},
		{"Promise4_AnOperatorsWordIsConfirmed", settleAfterReceived},
		{"Promise7_WhatTheFarEndSaidIsOnRecord", notesAreKept},
	}
}

func settleNormal(f *fixture) {
	c := f.fresh()
	before := f.row(c.ID)
	ack := Ack(c, time.Second)
	f.settle(ack, true)
	f.changed(before, func(s *ledger.Submission) {
		s.Status, s.AcceptedBy, s.Receipt = ledger.Accepted, ledger.AcceptedByRelay, ack.Receipt
	})
	f.story(c.ID)
}

// notesAreKept: what a far end said of a partial refusal, a doubt or a release
// is in the record; and a repeat adds nothing.
func notesAreKept(f *fixture) {
	c := f.fresh()
	ack := Ack(c, time.Second)
	ack.Note = "refused: b***@example.org"
	f.settle(ack, true)
	f.settle(ack, true)
	f.lastEvent(c, ledger.EventPartlyRefused, ack.Receipt+"\n"+ack.Note)
	f.story(c.ID, ledger.EventPartlyRefused)
	for kind, end := range map[ledger.EventKind]func(*fixture, ledger.Ended){
		ledger.EventDoubted:  func(f *fixture, e ledger.Ended) { f.doubt(e, true) },
		ledger.EventReleased: func(f *fixture, e ledger.Ended) { f.release(e, true) },
	} {
		c := f.fresh()
		ended := End(c, "smtp_451@rcpt", time.Second)
		ended.Note = "S: 451 later"
		end(f, ended)
		f.lastEvent(c, kind, ended.Note)
	}
}

func settleRepeated(f *fixture) {
	for _, s := range []state{{"accepted", (*fixture).accepted}, {"accepted late", (*fixture).acceptedLate}} {
		c := s.reach(f)
		before, events := f.row(c.ID), f.events(c.ID)
		for range 3 {
			f.settle(Ack(c, time.Hour), true)
		}
		f.same(before)
		if diff := cmp.Diff(events, f.events(c.ID)); diff != "" {
			f.Errorf("%s: a repeat left an event:\n%s", s.name, diff)
		}
	}
}

func settleErrored(f *fixture) {
	c := f.fresh()
	faulty := NewFaulty(f.ledger)
	for _, when := range []When{Before, After} {
		faulty.Fail("Settle", when, 1)
		if settled, err := faulty.Settle(f.ctx, Ack(c, time.Second)); err == nil || settled {
			f.Fatalf("got %v, %v", settled, err)
		}
		f.settle(Ack(c, 2*time.Second), true)
	}
	if row := f.row(c.ID); row.Status != ledger.Accepted {
		f.Errorf("the row is %s", row.Status)
	}
	f.story(c.ID)
}

func settleOtherHash(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before, events := f.row(c.ID), len(f.events(c.ID))
		c.PayloadHash = Hash("other words")
		f.Log(s.name)
		f.settle(Ack(c, time.Hour), false)
		f.same(before)
		if n := len(f.events(c.ID)); n != events {
			f.Errorf("%d events became %d", events, n)
		}
	}
}

func settleUnseen(f *fixture) {
	c := NewClaim()
	f.settle(Ack(c, time.Hour), false)
	f.doubt(End(c, "timeout/dot", time.Hour), false)
	f.release(End(c, "refused/rcpt", time.Hour), false)
	if rows, err := f.ledger.List(f.ctx, ledger.Filter{}); err != nil || len(rows) != 0 {
		f.Errorf("%d rows, %v", len(rows), err)
	}
	f.story(c.ID)
}

func acceptedIsFinal(f *fixture) {
	for _, s := range allStates() {
		c := s.reach(f)
		before := f.row(c.ID)
		if before.Status != ledger.Accepted {
			continue
		}
		f.Log(s.name)
		f.machineWrites(c)
		f.decideFails(decision(f.row(c.ID), ledger.NotReceived), ledger.ErrFinal)
		f.decide(c.ID, ledger.Received)
		f.decide(c.ID, ledger.Close)
		f.machineWrites(c)
		now := f.row(c.ID)
		if now.Status != ledger.Accepted || now.AcceptedBy != before.AcceptedBy || now.Receipt != before.Receipt {
			f.Errorf("from %s by %s (%q) to %s by %s (%q)", before.Status, before.AcceptedBy, before.Receipt,
				now.Status, now.AcceptedBy, now.Receipt)
		}
	}
}

// The record says that the relay confirmed, once, and who had vouched before.
func settleAfterReceived(f *fixture) {
	for _, s := range []state{{"under its claim", (*fixture).received}, {"unclaimed", (*fixture).receivedUnclaimed}} {
		c := s.reach(f)
		before, events := f.row(c.ID), len(f.events(c.ID))
		f.Log(s.name)
		for range 3 {
			f.settle(Ack(c, 2*time.Hour), true)
		}
		f.same(before)
		late := f.events(c.ID)[events:]
		if len(late) != 1 || late[0].Kind != ledger.EventConfirmed || late[0].Note != Ack(c, 0).Receipt || late[0].Claim != c.Token {
			f.Errorf("events: %+v", late)
		}
	}
}
