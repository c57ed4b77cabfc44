//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

// left waits until nobody is on the line to the mail server: what it has now is
// all that it gets.
func (s *site) left() {
	s.t.Helper()
	eventually(s.t, func() error {
		if n := s.server.Busy(); n > 0 {
			return fmt.Errorf("%d connections to the mail server are open", n)
		}
		return nil
	})
}

// sessions fails unless the mail server has had so many connections, and that
// many whole messages.
func (s *site) sessions(n, mails int) {
	s.t.Helper()
	s.left()
	if got := s.server.Connections(); got != n {
		s.t.Errorf("the mail server had %d connections, want %d", got, n)
	}
	s.wantMails(mails)
}

// Nobody knows what became of a message whose dot was not answered: neither a
// repeat nor a restart changes that, and nothing is sent again.
func TestUnknownIsUncertainForGood(t *testing.T) {
	for _, c := range []struct{ ending, cause string }{
		{"close", "closed@dot"}, {"reset", "reset@dot"}, {"half", "closed@dot"}, {"garbage", "garbage@dot"}, {"silence", "deadline@dot"},
	} {
		t.Run(c.ending, func(t *testing.T) {
			t.Parallel()
			server := smtptest.New(t, smtptest.Plain)
			s, w := newMailSite(t, quick, server), newWords()
			server.Ends(smtptest.Dot, c.ending)
			server.Start()
			p := s.start("")
			if a := p.send(w.json()); a.Status != http.StatusConflict || a.Outcome != "uncertain" && c.ending != "silence" {
				t.Errorf("got %v, want uncertain", a)
			}
			p.becomes(w.ID, "uncertain")
			server.Ends("", "") // from now on it would take everything
			row := s.row(w.ID)
			if row.LastError != c.cause || !row.Doubted || row.Claims != 1 {
				t.Errorf("the row is %+v, want %s", row, c.cause)
			}
			s.staysUncertain(p, w, row)
			s.sessions(1, 1)
			s.command("show", string(row.Reference)).check(t, exitDone, "may or may not", c.cause, "C: .\n")
		})
	}
}

// staysUncertain repeats and restarts.
func (s *site) staysUncertain(p *process, w words, row ledger.Submission) {
	s.t.Helper()
	for range 2 {
		a := p.post(w, http.StatusConflict, "uncertain")
		if a.Retryable || a.SafeNewID || a.Header.Get("Retry-After") != "" || a.Contact == "" || a.Reference != string(row.Reference) {
			s.t.Errorf("the answer does not send the visitor to us: %v %v", a, a.Header)
		}
		if now := s.row(w.ID); !reflect.DeepEqual(now, row) {
			s.t.Errorf("the row was\n%+v\nand is\n%+v", row, now)
		}
		p.stop()
		p = s.start("")
		if a := p.receipt(w.ID); !a.is(http.StatusOK, "uncertain") {
			s.t.Errorf("the receipt says %v", a)
		}
	}
	s.needs(string(row.Reference), ledger.NeedsUncertain)
}

// What was not sent for good is 502, and what may be sent later 503. Either way
// nothing is held against the ID.
func TestRefusedMessages(t *testing.T) {
	for _, c := range []struct {
		stage, ending, cause string
		status, dots         int
	}{
		{smtptest.Dot, "5xx", "smtp_550@dot", http.StatusBadGateway, 1},
		{smtptest.Mail, "5xx", "smtp_550@mail", http.StatusBadGateway, 0},
		{smtptest.Rcpt, "5xx", "smtp_550@rcpt", http.StatusBadGateway, 0},
		{smtptest.Dot, "4xx", "smtp_451@dot", http.StatusServiceUnavailable, 1},
		{smtptest.Data, "close", "closed@data", http.StatusServiceUnavailable, 0},
		{smtptest.Banner, "5xx", "smtp_550@banner", http.StatusServiceUnavailable, 0},
	} {
		t.Run(c.cause, func(t *testing.T) {
			t.Parallel()
			server := smtptest.New(t, smtptest.Plain)
			s, w := newMailSite(t, patient, server), newWords()
			server.Ends(c.stage, c.ending)
			server.Start()
			p := s.start("")
			a := p.post(w, c.status, "not_sent")
			if later := a.Header.Get("Retry-After") != ""; later != (c.status == http.StatusServiceUnavailable) || a.Contact == "" {
				t.Errorf("got %v %v", a, a.Header)
			}
			row, forGood := s.row(w.ID), c.status == http.StatusBadGateway
			if !strings.HasSuffix(row.LastError, c.cause) || row.RefusedForGood() != forGood || row.Doubted || !row.Free() {
				t.Errorf("the row is %+v, want %s", row, c.cause)
			}
			s.sessions(1, c.dots)
			server.Ends("", "")
			p.post(w, http.StatusCreated, "accepted")
			p.replay(w)
			s.sessions(2, c.dots+1)
			s.needsNobody()
		})
	}
}

// Nobody listens at first. The visitor's second try finds the server, and
// arrives once.
func TestARefusedConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	gone := smtptest.At(t, smtptest.Plain, "127.0.0.2:0")
	gone.Refuse()
	s, w := newMailSite(t, patient, gone), newWords()
	p := s.start("")
	for range 2 {
		a := p.post(w, http.StatusServiceUnavailable, "not_sent")
		if !a.Retryable || a.Header.Get("Retry-After") == "" || a.Contact == "" {
			t.Errorf("the visitor is not asked to try again: %v %v", a, a.Header)
		}
	}
	if row := s.row(w.ID); row.LastError != "connect_refused@connect" || !row.Free() {
		t.Errorf("the row is %+v", row)
	}
	s.server = smtptest.At(t, smtptest.Plain, gone.Address())
	s.server.Start()
	a := p.post(w, http.StatusCreated, "accepted")
	if again := p.replay(w); again.Reference != a.Reference || a.Header.Get("Location") == "" {
		t.Errorf("first %v, then %v", a, again)
	}
	s.sessions(1, 1)
	s.needsNobody()
}

func TestOneOfTwoRecipientsIsRefused(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Plain)
	server.Patch = func(line, usual string) string {
		if strings.HasPrefix(line, "RCPT TO:<gone@") {
			return "550 5.1.1 <gone@shop.example> is unknown\r\n"
		}
		return usual
	}
	server.Start()
	s, w := newMailSite(t, patient, server), newWords()
	s.form = strings.Replace(contactForm, `to = "office@shop.example"`, `to = ["gone@shop.example", "office@shop.example"]`, 1)
	s.configure(patient)
	p := s.start("")
	a := p.post(w, http.StatusCreated, "accepted")
	s.command("show", a.Reference).check(t, exitDone, "partly_refused by system", "refused: g***@shop.example (550)", "550 5.1.1 <g***@shop.example> is unknown")
	p.logged(`"partly_refused":true`)
	p.replay(w)
	if strings.Contains(a.Text+p.receipt(w.ID).Text, "gone@") || strings.Contains(p.log.String(), "gone@") {
		t.Error("the recipient's address is told to a visitor, or logged")
	}
	s.sessions(1, 1)
}

// identity is what a mailbox recognises a copy by.
func identity(t *testing.T, text string) (messageID, date string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	must(t, err)
	messageID, date = m.Header.Get("Message-ID"), m.Header.Get("Date")
	if messageID == "" || date == "" {
		t.Errorf("no Message-ID or Date in\n%s", text)
	}
	return messageID, date
}

// A mailbox can recognise the copy of a message, whoever sends it, and never
// takes another message for one.
func TestOneContentHasOneIdentity(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.StartTLS)
	server.Ends(smtptest.Dot, "close")
	server.Start()
	ca := written(t, string(smtptest.PKI(t).PEM))
	s, w := newMailSite(t, patient, server, fmt.Sprintf("ca_file = %q", ca)), newWords()
	s.environ = []string{"FORMLEDGER_PAYLOAD_KEYS=" + key("k1", "use", newSecret())}
	p := s.start("")
	p.post(w, http.StatusConflict, "uncertain")
	p.stop()
	server.Ends("", "")
	s.command("resolve", string(s.row(w.ID).Reference), "--not-received", "--note", "looked").check(t, exitDone)
	p = s.start("")
	p.post(w, http.StatusCreated, "accepted")
	renamed, reworded := w, w
	renamed.ID, reworded.Message = newWords().ID, "other words"
	p.post(renamed, http.StatusCreated, "accepted")
	p.post(reworded, http.StatusConflict, "conflict")
	p.stop()
	s.data += "-other" // another ledger under the same key has never seen the ID
	s.start("").post(reworded, http.StatusCreated, "accepted")
	s.sessions(4, 4)
	mails := s.mails()
	first, date := identity(t, mails[0])
	if again, when := identity(t, mails[1]); again != first || when != date {
		t.Errorf("%s of %s, then %s of %s", first, date, again, when)
	}
	for _, other := range mails[2:] {
		if id, _ := identity(t, other); id == first {
			t.Errorf("two messages have the Message-ID %s:\n%s", id, other)
		}
	}
}

// The process dies in the middle of the conversation. Whatever the mail server
// made of it, there is no second one.
func TestKilledInAConversation(t *testing.T) {
	for step, mails := range map[string]int{"smtp.before-connect": 0, "smtp.before-dot": 0, "smtp.after-dot": 1, "smtp.after-reply": 1} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			server := smtptest.New(t, smtptest.Plain)
			server.Start()
			s, w := newMailSite(t, quick, server), newWords()
			s.diesAt(step, w)
			s.left()
			s.wantMails(mails)
			before := server.Connections()
			s.isUncertain(s.start(""), w, mails)
			s.sessions(before, mails)
		})
	}
}

// A sender sleeps before the dot. Its message is decided and sent by another
// one; it wakes up, and does not finish its own.
func TestASenderThatWakesUpBeforeItsDot(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Plain)
	server.Start()
	s, w := newMailSite(t, resting, server), newWords()
	paused, done := s.stopsAt("smtp.before-dot", w.json())
	s.configure(quick)
	other := s.start("")
	other.becomes(w.ID, "uncertain")
	s.command("resolve", string(s.row(w.ID).Reference), "--not-received", "--note", "not in the mailbox").check(t, exitDone)
	other.post(w, http.StatusCreated, "accepted")
	paused.signal(syscall.SIGCONT)
	if a := paused.answers(done); a.Outcome != "accepted" && a.Outcome != "processing" {
		t.Errorf("the paused process answered %v", a)
	}
	paused.logged("lease_lapsed@dot")
	s.sessions(2, 1)
	if halves := server.Halves(); len(halves) != 1 || !strings.Contains(halves[0], "Subject:") || server.Quits() != 1 {
		t.Errorf("%d messages without a dot, %d QUITs; want 1 and 1", len(halves), server.Quits())
	}
	if row := s.row(w.ID); row.Status != ledger.Accepted || row.Needs != "" || row.Claims != 2 {
		t.Errorf("the row is %+v", row)
	}
	paused.replay(w)
	s.needsNobody()
}

// While a conversation is under way, a graceful stop waits for its end.
func TestAGracefulStopFinishesAConversation(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Plain)
	goOn := make(chan struct{})
	server.Patch = func(line, usual string) string {
		if line == "." {
			<-goOn
		}
		return usual
	}
	server.Start()
	s, w := newMailSite(t, patient, server), newWords()
	p := s.start("")
	done := inBackground(p.base, w.json())
	eventually(t, func() error {
		if len(server.Mails()) == 0 {
			return errors.New("the mail server has no message")
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.logged("stopping")
	close(goOn)
	if a := p.answers(done); !a.is(http.StatusCreated, "accepted") {
		t.Errorf("got %v", a)
	}
	if end := p.wait(); end.ExitStatus() != exitDone {
		t.Errorf("the process ended with %v:\n%s", end, p.log)
	}
	s.sessions(1, 1)
	s.needsNobody()
}
