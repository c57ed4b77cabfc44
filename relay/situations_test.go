package relay_test

import (
	"context"
	"sync/atomic"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

// situations are the rows of the table in docs/guarantees.md.
var situations = []situation{
	{"the mail is taken, and that cannot be recorded", theMarkerFails},
	{"the mail is taken, and the process dies before it has recorded that", diesAfterTheMail},
	{"the mail is taken, and its answer comes after the lease, while the next attempt is under way", outlivesItsLease},
	{"the mail is taken, and its answer comes after the lease, when the row is free again", answersAFreeRow},
	{"the lease ends before the dot", lapsesBeforeTheDot},
	{"the process dies after storing", diesStored},
	{"the process dies after claiming", func(s *scene) []ledger.Submission { return s.sweptUp(s.diesClaimed()) }},
	{"the relay cannot be reached for an hour, in which 500 enquiries come", isDownForAnHour},
	{"the mail server refuses for now, every time", refusesForNow},
	{"the mail server refuses for good", refusesForGood},
	{"every process that claims dies", everybodyDies},
	{"the line breaks after the dot, once, and the mail had been taken", breaksOnce},
	{"the line breaks after the dot, every time, and the mail had been taken", breaksAlways},
}

// sweptUp is what becomes of a row once a process runs.
func (s *scene) sweptUp(row ledger.Submission) []ledger.Submission {
	s.starts()
	s.passes()
	return one(row)
}

func theMarkerFails(s *scene) []ledger.Submission {
	s.ledger.Fail("Settle", ledgertest.Before, -1)
	s.starts()
	row := s.requests() // until the lease ends
	s.ledger.Heal()
	s.passes()
	return one(row)
}

func diesAfterTheMail(s *scene) []ledger.Submission {
	row := s.diesClaimed()
	s.mail.takes(relay.Mail{Message: relay.Message{SubmissionID: row.ID}})
	return s.sweptUp(row)
}

func outlivesItsLease(s *scene) []ledger.Submission {
	late := make(chan struct{})
	slow := func(m relay.Mail, _ relay.Lease) relay.Verdict {
		v := s.mail.takes(m)
		<-late
		return v
	}
	next := func(m relay.Mail, _ relay.Lease) relay.Verdict {
		time.Sleep(10 * time.Second)
		return s.mail.takes(m)
	}
	s.first(slow, next)
	s.starts()
	row, done := s.begins()
	s.overdue()
	again := s.again(row)
	time.Sleep(time.Second)
	close(late)
	<-done
	<-again
	s.passes()
	return one(row)
}

// Under hold and queue a row that is overdue is free only after a person's decision.
func answersAFreeRow(s *scene) []ledger.Submission {
	late := make(chan struct{})
	s.first(func(m relay.Mail, _ relay.Lease) relay.Verdict {
		v := s.mail.takes(m)
		<-late
		return v
	})
	s.starts()
	row, done := s.begins()
	s.overdue()
	if now := s.row(row.ID); now.Status == ledger.Uncertain {
		must(s.t, s.ledger.Decide(context.Background(), ledger.Decision{Seen: now, Kind: ledger.NotReceived, By: "eve", Note: "looked", At: s.now()}))
	}
	close(late)
	<-done
	s.passes()
	return one(row)
}

func lapsesBeforeTheDot(s *scene) []ledger.Submission {
	s.first(func(m relay.Mail, lease relay.Lease) relay.Verdict {
		s.overdue()
		if lease.Held() {
			s.t.Error("the lease is held past its end")
		}
		return relay.ProvenNotSent(relay.CodeLapsed, "dot")
	})
	s.starts()
	row := s.requests()
	s.passes()
	return one(row)
}

// Under hold nothing is stored that is not claimed.
func diesStored(s *scene) []ledger.Submission {
	if s.policy == ledger.Hold {
		return nil
	}
	return s.sweptUp(s.stores(s.newCourier(), s.policy))
}

func isDownForAnHour(s *scene) []ledger.Submission {
	var isUp atomic.Bool
	s.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
		if isUp.Load() {
			return s.mail.takes(m)
		}
		return down
	})
	s.starts()
	var rows []ledger.Submission
	for range 500 {
		rows = append(rows, s.requests())
		time.Sleep(7200 * time.Millisecond)
	}
	isUp.Store(true)
	s.passes()
	return rows
}

func refusesForNow(s *scene) []ledger.Submission {
	s.far.says(refusal)
	s.leisurely().starts()
	row := s.requests()
	for range 7 {
		if s.policy == ledger.Hold {
			<-s.again(row) // the visitor was told, and tries again
		}
	}
	s.daysPass()
	return one(row)
}

func refusesForGood(s *scene) []ledger.Submission {
	v := relay.ProvenNotSent("smtp_550", "rcpt")
	v.Permanent = true
	s.far.says(v)
	s.leisurely().starts()
	row := s.requests()
	s.daysPass()
	return one(row)
}

func everybodyDies(s *scene) []ledger.Submission {
	row := s.diesClaimed()
	for range 30 {
		time.Sleep(s.lease() + time.Second)
		_, err := s.ledger.Lapse(context.Background(), s.now(), s.now())
		must(s.t, err)
		if row = s.row(row.ID); !row.Waiting() {
			break
		}
		s.claimedByTheDead(row, s.lease())
	}
	return s.sweptUp(row)
}

func breaksOnce(s *scene) []ledger.Submission {
	s.first(s.breaks)
	s.starts()
	row := s.requests()
	s.passes()
	return one(row)
}

func breaksAlways(s *scene) []ledger.Submission {
	s.far.does(func(_ context.Context, m relay.Mail, lease relay.Lease) relay.Verdict { return s.breaks(m, lease) })
	s.leisurely().starts()
	row := s.requests()
	s.daysPass()
	return one(row)
}

// breaks is a mail server that takes a mail, and whose answer is lost.
func (s *scene) breaks(m relay.Mail, _ relay.Lease) relay.Verdict {
	s.mail.takes(m)
	return relay.UnknownAfter("closed", "dot")
}
