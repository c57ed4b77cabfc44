//go:build linux

package main

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

// What a process leaves behind that dies at a step of the courier's, and what
// another one makes of it by itself.
func TestKilledAtEachStepOfTheCourier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step   string
		policy ledger.Policy
		mails  int // when it dies
		then   func(*site, words, int)
	}{
		{"courier.before-store", ledger.Queue, 0, (*site).wasNeverStored},
		{"courier.after-store", ledger.Queue, 0, (*site).isSentOnce},
		{"courier.after-store", ledger.Retry, 0, (*site).isSentOnce},
		{"courier.before-claim", ledger.Queue, 0, (*site).isSentOnce},
		{"courier.after-claim", ledger.Queue, 0, (*site).isHeld},
		{"courier.after-claim", ledger.Retry, 0, (*site).isSentAgain},
		{"smtp.after-dot", ledger.Retry, 1, (*site).isSentAgain},
		{"courier.before-settle", ledger.Queue, 1, (*site).isHeld},
		{"courier.before-settle", ledger.Retry, 1, (*site).isSentAgain},
		{"courier.after-settle", ledger.Retry, 1, (*site).wasSettled},
	} {
		t.Run(c.step+"/"+string(c.policy), func(t *testing.T) {
			t.Parallel()
			s, w := newKept(t, fading, c.policy), newWords()
			s.diesAt(c.step, w)
			s.left()
			s.wantMails(c.mails)
			s.configure(hasty)
			c.then(s, w, c.mails)
		})
	}
}

func (s *site) wasNeverStored(w words, _ int) {
	s.t.Helper()
	on := s.two()
	if a := on[0].receipt(w.ID); !a.is(http.StatusNotFound, "unseen") {
		s.t.Errorf("the receipt says %v, want unseen", a)
	}
	on[1].send(w.json())
	s.becomesAccepted(w.ID)
	s.wantMails(1)
}

// isSentOnce: nobody had claimed it, so nothing is in doubt.
func (s *site) isSentOnce(w words, _ int) {
	s.t.Helper()
	on := s.two()
	row := s.becomesAccepted(w.ID)
	if row.Claims != 1 || row.Doubted || row.Attempts != 0 {
		s.t.Errorf("the row is %+v", row)
	}
	s.wantSettled(on, w, 1)
}

// isSentAgain: once the lease is over, the message is sent, and a mailbox can
// recognise the second copy if there is one.
func (s *site) isSentAgain(w words, mails int) {
	s.t.Helper()
	claimed := s.row(w.ID)
	on := s.two()
	row := s.becomesAccepted(w.ID)
	if row.Claims != 2 || !row.Doubted || row.Attempts != 0 || row.Claim == claimed.Claim {
		s.t.Errorf("the row is %+v", row)
	}
	s.lapsedInTime(claimed)
	s.wantSettled(on, w, mails+1)
	s.areCopies(mails + 1)
}

// isHeld: it may have been sent, and so nobody sends it any more.
func (s *site) isHeld(w words, mails int) {
	s.t.Helper()
	claimed := s.row(w.ID)
	on := s.two()
	row := s.becomesNeedy(w.ID, ledger.NeedsUncertain)
	if row.Status != ledger.Uncertain || !row.Doubted || row.Claims != 1 || row.Claim != claimed.Claim || row.LastError != "lease_lapsed" {
		s.t.Errorf("the row is %+v", row)
	}
	s.lapsedInTime(claimed)
	for _, p := range on {
		p.post(w, http.StatusConflict, "uncertain")
	}
	s.left()
	s.wantMails(mails)
	s.isPassedOver(row, another)
	s.needs(string(row.Reference), ledger.NeedsUncertain)
}

func (s *site) wasSettled(w words, _ int) {
	s.t.Helper()
	s.wantSettled(s.two(), w, 1)
}

// wantSettled fails unless both processes know that it is accepted, and nothing is
// left to do.
func (s *site) wantSettled(on []*process, w words, mails int) {
	s.t.Helper()
	for _, p := range on {
		p.replay(w)
	}
	s.left()
	s.wantMails(mails)
	s.keepsNothing()
	s.needsNobody()
}

// lapsedInTime fails unless the claim was ended once, and not before its lease was over.
func (s *site) lapsedInTime(claimed ledger.Submission) {
	s.t.Helper()
	lapses := s.events(claimed.ID, ledger.EventLapsed)
	if len(lapses) != 1 || lapses[0].Claim != claimed.Claim || lapses[0].At.Before(claimed.LeaseUntil) {
		s.t.Errorf("the lease ended at %s, and the record says %+v", claimed.LeaseUntil, lapses)
	}
}

// A process dies between storing and claiming while another one looks for work.
func TestAMessageThatWasOnlyStoredIsSentByTheOtherProcess(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, w := newKept(t, hasty, policy), newWords()
		other := s.start("")
		s.configure(idle)
		s.diesAt("courier.after-store", w)
		s.becomesAccepted(w.ID)
		s.wantSettled([]*process{other}, w, 1)
		s.sessions(1, 1)
	}, ledger.Queue, ledger.Retry)
}

// A sender stands still with its claim. Nobody touches the row before the lease is
// over; then retry takes it over, and queue holds it. The sender wakes up, sends
// nothing, and proves it: then queue sends at last.
func TestAFreshClaimBlocksTheSweepOfTheOtherProcess(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, w := newKept(t, fading, policy), newWords()
		paused, done := s.stopsAt("courier.after-claim", w.json())
		claimed := s.row(w.ID)
		s.configure(hasty)
		other := s.start("")
		repeat := inBackground(other.base, w.json())
		s.isBlocked(claimed)
		s.lapsedInTime(claimed)
		if policy == ledger.Queue {
			s.becomesNeedy(w.ID, ledger.NeedsUncertain)
			other.post(w, http.StatusConflict, "uncertain")
			s.sessions(0, 0)
		} else {
			s.becomesAccepted(w.ID)
		}
		if a := other.answers(repeat); a.Outcome == "not_sent" || a.Outcome == "processing" {
			t.Errorf("the repeat got %v", a)
		}
		paused.signal(syscall.SIGCONT)
		<-done // its answer, or the client's own deadline
		paused.logged("lease_lapsed@connect")
		row := s.becomesAccepted(w.ID)
		if row.Claims != 2 || !row.Doubted {
			t.Errorf("the row is %+v", row)
		}
		s.wantSettled([]*process{paused, other}, w, 1)
		s.sessions(1, 1)
	}, ledger.Queue, ledger.Retry)
}

// isBlocked waits until the claim is over, and fails if somebody sends before.
func (s *site) isBlocked(claimed ledger.Submission) {
	s.t.Helper()
	sessions := 0 // as they were before the row was read
	s.becomes(claimed.ID, "without its claim", func(now ledger.Submission) bool {
		fresh := now.Claim == claimed.Claim && now.Status == ledger.Processing
		if fresh && (sessions > 0 || now.Claims != 1) {
			s.t.Errorf("%d sessions while the claim is fresh, the row is %+v", sessions, now)
		}
		sessions = s.server.Connections()
		return !fresh
	})
}

// A send outlives its lease under retry: both copies go out. The first sender's
// late acknowledgment meets the second claim; it is refused, and put before the
// operator.
func TestASendThatOutlivesItsLeaseIsTwoCopiesAndDisputed(t *testing.T) {
	t.Parallel()
	s, w := newKept(t, fading, ledger.Retry), newWords()
	paused, done := s.stopsAt("courier.before-settle", w.json())
	claimed := s.row(w.ID)
	s.wantMails(1)
	s.configure(hasty)
	other := s.start("")
	s.becomesAccepted(w.ID)
	s.areCopies(2)
	paused.signal(syscall.SIGCONT)
	<-done // its answer, or the client's own deadline
	row := s.becomesNeedy(w.ID, ledger.NeedsDisputed)
	if row.Status != ledger.Accepted || row.Claim == claimed.Claim || row.Claims != 2 {
		t.Errorf("the row is %+v", row)
	}
	s.wantDispute(row, claimed)
	other.replay(w)
	s.areCopies(2)
}

// wantDispute fails unless the record names the claim whose acknowledgment was refused.
func (s *site) wantDispute(row, refused ledger.Submission) {
	s.t.Helper()
	s.needs(string(row.Reference), ledger.NeedsDisputed)
	found := s.events(row.ID, ledger.EventDisputed)
	if len(found) == 0 || found[0].Claim != refused.Claim || !strings.Contains(found[0].Note, "queued as") {
		s.t.Errorf("the record says %+v, want the claim %s", found, refused.Claim)
	}
}

// Likewise, while the second sender still waits for its reply.
func TestALateAcknowledgmentBesideAnotherClaimIsRefused(t *testing.T) {
	t.Parallel()
	takesTurn(t)
	server, goOn := smtptest.New(t, smtptest.Plain), make(chan struct{})
	s, w := newMailSite(t, fading, server), newWords()
	s.under(fading, ledger.Retry)
	server.Patch = func(line, usual string) string {
		if line == "." && len(server.Mails()) > 1 {
			<-goOn
		}
		return usual
	}
	server.Start()
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	paused, done := s.stopsAt("courier.before-settle", w.json())
	claimed := s.row(w.ID)
	s.configure(hasty)
	other := s.start("")
	second := s.becomes(w.ID, "claimed again", func(r ledger.Submission) bool { return r.Claims == 2 })
	paused.signal(syscall.SIGCONT)
	<-done // its answer, or the client's own deadline
	row := s.becomesNeedy(w.ID, ledger.NeedsDisputed)
	if row.Status != ledger.Processing || row.Claim != second.Claim {
		t.Errorf("the row is %+v", row)
	}
	release()
	s.becomes(w.ID, "on record", func(ledger.Submission) bool { return len(s.events(w.ID, ledger.EventDisputed)) == 2 })
	s.wantDispute(row, claimed)
	other.post(w, http.StatusConflict, "uncertain")
	s.areCopies(2)
}

// A sender that slept between its dot and the reply does not know. Its record is
// refused likewise, and changes nothing.
func TestADoubtUnderAnEarlierClaimChangesNothing(t *testing.T) {
	t.Parallel()
	s, w := newKept(t, fading, ledger.Retry), newWords()
	s.server.Ends(smtptest.Dot, "silence") // a reply that waits might be read all the same
	paused, done := s.stopsAt("smtp.after-dot", w.json())
	claimed := s.row(w.ID)
	s.server.Ends("", "")
	s.configure(hasty)
	other := s.start("")
	row := s.becomesAccepted(w.ID)
	paused.signal(syscall.SIGCONT)
	<-done // its answer, or the client's own deadline
	paused.logged(`"msg":"relay call"`)
	s.stays(row)
	if row.Claim == claimed.Claim {
		t.Errorf("the row is %+v", row)
	}
	s.areCopies(2)
	s.wantSettled([]*process{paused, other}, w, 2)
}

// The mail server takes the message and answers too late: unknown. Under retry it
// is counted and sent again, a second copy; under queue it is held.
func TestAReplyThatComesTooLate(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, w := newKept(t, fading, policy), newWords()
		s.server.Ends(smtptest.Dot, "silence")
		first := s.start("")
		first.send(w.json())
		row := s.becomes(w.ID, "doubted", func(r ledger.Submission) bool { return r.Doubted })
		if row.LastError != "deadline@dot" || row.Attempts != 1 || row.Claims != 1 {
			t.Errorf("the row is %+v", row)
		}
		s.server.Ends("", "")
		s.configure(hasty)
		other := s.start("")
		if policy == ledger.Queue {
			other.post(w, http.StatusConflict, "uncertain")
			s.isPassedOver(row, another)
			return
		}
		row = s.becomesAccepted(w.ID)
		if row.Attempts != 1 || row.Claims != 2 {
			t.Errorf("the row is %+v", row)
		}
		s.areCopies(2)
		s.wantSettled([]*process{first, other}, w, 2)
	}, ledger.Queue, ledger.Retry)
}
