//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

// The policy is copied into a row. Whatever the form's is later, old rows keep
// theirs, and new ones have the new one.
func TestOpenRowsKeepTheirPolicyWhenTheFormChanges(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Queue)
	queued, held, retried := newWords(), newWords(), newWords()
	on := s.two()
	on[0].post(queued, http.StatusAccepted, "queued")
	stopAll(on)
	s.under(hasty, ledger.Hold)
	on = s.two()
	on[0].post(held, http.StatusServiceUnavailable, "not_sent")
	on[1].post(queued, http.StatusAccepted, "queued")
	stopAll(on)
	s.under(hasty, ledger.Retry)
	on = s.two()
	on[1].post(retried, http.StatusAccepted, "queued")
	on[0].post(held, http.StatusServiceUnavailable, "not_sent")
	returns()
	s.becomesAccepted(queued.ID)
	s.becomesAccepted(retried.ID)
	if row := s.row(held.ID); row.Status != ledger.Processing || row.Policy != ledger.Hold {
		t.Errorf("the row is %+v", row)
	}
	on[1].post(held, http.StatusCreated, "accepted")
	for w, policy := range map[string]ledger.Policy{queued.ID.String(): ledger.Queue, held.ID.String(): ledger.Hold, retried.ID.String(): ledger.Retry} {
		s.command("show", w).squeezed().check(t, exitDone, "policy "+string(policy))
	}
	s.sessions(3, 3)
	s.keepsNothing()
}

// A form is not removed silently while messages of it wait: the start is refused,
// and its message names the ways out, which work.
func TestAFormWithWaitingMessagesCannotBeRemoved(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, returns := newCutOff(t, hasty, policy)
		on := s.two()
		first, second := newWords(), newWords()
		a := on[0].post(first, http.StatusAccepted, "queued")
		on[1].post(second, http.StatusAccepted, "queued")
		stopAll(on)
		kept := s.form
		s.form = strings.Replace(contactForm, `name = "contact"`, `name = "other"`, 1)
		s.configure(hasty)
		s.refusesToStart(`the form "contact" is not in the configuration any more`, "2 messages", "formledger list --form contact --waiting", "--close --wipe-words")
		s.command("list", "--form", "contact", "--waiting").check(t, exitDone, a.Reference)
		s.command("resolve", a.Reference, "--close", "--wipe-words", "--note", "they called").check(t, exitDone, "wiped")
		s.refusesToStart("1 message ")
		s.form = kept
		s.configure(hasty)
		s.start("")
		returns()
		s.becomesAccepted(second.ID)
		s.form = strings.Replace(contactForm, `name = "contact"`, `name = "other"`, 1)
		s.configure(hasty)
		s.start("").stop()
		s.sessions(1, 1)
	}, ledger.Queue, ledger.Retry)
}

// refusesToStart fails unless a server ends with an error that says all this.
func (s *site) refusesToStart(says ...string) {
	s.t.Helper()
	p := launch(s.t, s.dir, nil, "serve", "--config", s.config, "--data", s.data, "--listen", "127.0.0.1:0")
	end := p.wait()
	for _, text := range says {
		if end.ExitStatus() != exitFailed || !strings.Contains(p.log.String(), text) {
			s.t.Errorf("the start ended with %v, without %q:\n%s", end, text, p.log)
		}
	}
}

// A recipient who was mistyped is put right while messages wait.
func TestWaitingMessagesGoToTheRecipientsOfTheDay(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, returns := newCutOff(t, hasty, policy)
		on, w := s.two(), newWords()
		on[0].post(w, http.StatusAccepted, "queued")
		stopAll(on)
		s.form = strings.Replace(s.form, `to = "office@shop.example"`, `to = ["new@shop.example", "boss@shop.example"]`, 1)
		s.configure(hasty)
		on = s.two()
		returns()
		s.becomesAccepted(w.ID)
		s.wantSettled(on, w, 1)
		heard := strings.Join(append(s.server.Heard(), s.mails()...), "\n")
		if !strings.Contains(heard, "RCPT TO:<new@") || !strings.Contains(heard, "RCPT TO:<boss@") || strings.Contains(heard, "office@") {
			t.Errorf("the mail server heard\n%s", heard)
		}
	}, ledger.Queue, ledger.Retry)
}

// An operator allows one more attempt at a message that has stopped, and exactly
// one is made, whichever process makes it.
func TestSendAgainIsExactlyOneMoreAttempt(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, w := newKept(t, hasty, policy), newWords()
		w.Message = canaryMessage
		s.server.Ends(smtptest.Rcpt, "4xx")
		on := s.two()
		on[0].send(w.json())
		ref := string(s.becomesNeedy(w.ID, ledger.NeedsStopped).Reference)
		s.sessions(8, 0)
		s.command("show", ref, "--words", "--by", "eve").check(t, exitDone, canaryMessage, "reply to  "+w.Email)
		if shown := s.events(w.ID, ledger.EventWordsShown); len(shown) != 1 || shown[0].Actor != ledger.Operator("eve") {
			t.Errorf("the record says %+v", shown)
		}
		s.command("resolve", ref, "--send-again", "--note", "the mailbox was full").check(t, exitDone)
		row := s.becomes(w.ID, "stopped again", func(r ledger.Submission) bool { return r.Attempts == 9 })
		if row.Needs != ledger.NeedsStopped {
			t.Errorf("the row is %+v", row)
		}
		s.isPassedOverOnceTaken(row)
		s.command("resolve", ref, "--send-again", "--note", "they have tidied up").check(t, exitDone)
		s.becomesAccepted(w.ID)
		s.wantSettled(on, w, 2)
		s.sessions(11, 2)
		s.command("show", ref, "--words").check(t, exitFailed, "are not kept here")
	}, ledger.Queue, ledger.Retry)
}

// isPassedOverOnceTaken: nine sessions were all, though the server would take it now.
func (s *site) isPassedOverOnceTaken(row ledger.Submission) {
	s.t.Helper()
	s.sessions(9, 0)
	s.server.Ends("", "")
	s.isPassedOver(row, another)
}

// The keys are rotated while messages wait: after a restart of the servers old and
// new messages are sent, and nothing is lost.
func TestOutboxKeysAreRotatedWhileMessagesWait(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, returns := newCutOff(t, hasty, policy)
		on, all := s.two(), []words{newWords(), newWords(), newWords(), newWords()}
		first := strings.TrimSuffix(states(t, s.outboxFile()), " use")
		for i, w := range all[:3] {
			on[i%2].post(w, http.StatusAccepted, "queued")
		}
		s.command("keys", "list").squeezed().check(t, exitDone, first+" use 3 messages")
		s.command("keys", "rotate", "--outbox").tells(t, first+" goes on")
		on[0].post(all[0], http.StatusAccepted, "queued")
		stopAll(on)
		on = s.two()
		on[1].post(all[3], http.StatusAccepted, "queued")
		s.command("keys", "list").squeezed().check(t, exitDone, first+" verify 3 messages", " use 1 message")
		returns()
		for _, w := range all {
			s.becomesAccepted(w.ID)
		}
		s.command("keys", "list").squeezed().check(t, exitDone, first+" verify no message: it can go")
		s.wantSettled(on, all[0], 4)
		s.areDifferent(4)
	}, ledger.Queue, ledger.Retry)
}

// Of two processes, one is started again after a rotation and the other is not. If
// the key was prepared, the other can open what is sealed under it.
func TestAPreparedKeyIsKnownToAProcessThatStillRuns(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Queue)
	stopAll(s.two())
	s.command("keys", "rotate", "--outbox", "--prepare").tells(t, "is prepared")
	on, w := s.two(), newWords()
	s.command("keys", "rotate", "--outbox").tells(t, "will be in use")
	on[0].stop()
	fresh := s.start("")
	fresh.post(w, http.StatusAccepted, "queued")
	fresh.stop()
	s.command("keys", "list").squeezed().check(t, exitDone, " use 1 message")
	returns()
	row := s.becomesAccepted(w.ID)
	if row.Claims > row.ClaimCap && row.ClaimCap > 0 || row.Attempts != 0 {
		t.Errorf("the row is %+v", row)
	}
	s.wantSettled(on[1:], w, 1)
}

// If it was not, the other process gives up on the message. Its words are not
// lost: an operator has it sent once that process was started again.
func TestAProcessThatDoesNotKnowAKeyYetLosesNothing(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Queue)
	on, w := s.two(), newWords()
	s.command("keys", "rotate", "--outbox").tells(t, "at its next start")
	on[0].stop()
	fresh := s.start("")
	if a := fresh.send(w.json()); a.Outcome != "queued" && a.Outcome != "not_sent" { // the other may be quicker
		t.Errorf("got %v", a)
	}
	row := s.becomesNeedy(w.ID, ledger.NeedsStopped)
	if row.LastError != ledger.ForGood("words_unreadable@letter") {
		t.Errorf("the row is %+v", row)
	}
	on[1].stop()
	on[1] = s.start("")
	returns()
	s.command("resolve", string(row.Reference), "--send-again", "--note", "started again").check(t, exitDone)
	s.becomesAccepted(w.ID)
	s.wantSettled([]*process{fresh, on[1]}, w, 1)
	s.sessions(1, 1)
}

// areDifferent fails if two mails have one identity.
func (s *site) areDifferent(n int) {
	s.t.Helper()
	found := map[string]bool{}
	for _, text := range s.mails() {
		id, _ := identity(s.t, text)
		found[id] = true
	}
	if len(found) != n {
		s.t.Errorf("%d different mails, want %d", len(found), n)
	}
}

// Without the key that sealed what waits, no server starts: it could only give up
// on the words.
func TestNoServerStartsWithoutTheKeyOfWhatWaits(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Queue)
	p, w := s.start(""), newWords()
	p.post(w, http.StatusAccepted, "queued")
	p.stop()
	away := s.outboxFile() + ".away"
	must(t, os.Rename(s.outboxFile(), away))
	s.refusesToStart(fmt.Sprintf("which is not in %s", s.outboxFile()), "put the key back")
	must(t, os.Rename(away, s.outboxFile()))
	returns()
	on := s.two()
	s.becomesAccepted(w.ID)
	s.wantSettled(on, w, 1)
}
