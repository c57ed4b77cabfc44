//go:build linux

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"formledger/ledger"
)

// The steps of the journey, and what is left when the process dies at each.
func TestKilledAtEachStepThereIsNeverASecondMail(t *testing.T) {
	for _, at := range []struct {
		step  string
		mails int
		then  func(*site, *process, words, int)
	}{
		{"hold.before-claim", 0, (*site).wasNeverSeen},
		{"hold.after-claim", 0, (*site).isUncertain},
		{"maildir.before-write", 0, (*site).isUncertain},
		{"maildir.before-rename", 0, (*site).isUncertain},
		{"maildir.after-rename", 1, (*site).isUncertain},
		{"maildir.after-sync", 1, (*site).isUncertain},
		{"hold.before-settle", 1, (*site).isUncertain},
		{"hold.after-settle", 1, (*site).wasAccepted},
	} {
		t.Run(at.step, func(t *testing.T) {
			t.Parallel()
			s, w := newSite(t, quick), newWords()
			s.diesAt(at.step, w)
			s.wantMails(at.mails)
			at.then(s, s.start(""), w, at.mails)
		})
	}
}

// diesAt posts to a process that kills itself at the step.
func (s *site) diesAt(step string, w words) {
	s.t.Helper()
	p := s.start(step + "=kill")
	if a, err := try(p.base, w.json()); err == nil {
		s.t.Fatalf("the process answered %v, and should have died at %s", a, step)
	}
	p.killedItself()
}

// isUncertain: what was open is called uncertain, not before its lease is over,
// and stays so whatever a visitor repeats and however often the server starts.
func (s *site) isUncertain(p *process, w words, mails int) {
	s.t.Helper()
	if a := p.send(w.json()); a.Outcome != "processing" && a.Outcome != "uncertain" {
		s.t.Fatalf("a repeat right after the start: %v", a)
	}
	p.becomes(w.ID, "uncertain")
	row := s.row(w.ID)
	if row.UpdatedAt.Before(row.LeaseUntil) || !row.Doubted || row.LastError != "lease_lapsed" {
		s.t.Errorf("not lapsed after its lease: %+v", row)
	}
	for range 2 {
		a := p.post(w, http.StatusConflict, "uncertain")
		if a.Retryable || a.SafeNewID || a.Header.Get("Retry-After") != "" || a.Contact == "" || a.Reference == "" {
			s.t.Errorf("the answer does not send the visitor to us: %v %v", a, a.Header)
		}
		p.stop()
		p = s.start("")
	}
	p.becomes(w.ID, "uncertain")
	s.needs(string(row.Reference), ledger.NeedsUncertain)
	s.wantMails(mails)
}

func (s *site) wasNeverSeen(p *process, w words, _ int) {
	s.t.Helper()
	if a := p.receipt(w.ID); !a.is(http.StatusNotFound, "unseen") {
		s.t.Fatalf("the receipt says %v, want unseen", a)
	}
	p.post(w, http.StatusCreated, "accepted")
	p.replay(w)
	s.wantMails(1)
}

func (s *site) wasAccepted(p *process, w words, _ int) {
	s.t.Helper()
	if a := p.receipt(w.ID); !a.is(http.StatusOK, "accepted") {
		s.t.Fatalf("the receipt says %v, want accepted", a)
	}
	p.replay(w)
	s.needsNobody()
}

// While the ledger takes no write, nothing is sent; once it does, the same ID
// is sent once.
func TestPromise1RecordedFirst(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, quick), newWords()
	p := s.start("")
	unlock := s.lock()
	a := p.post(w, http.StatusServiceUnavailable, "not_sent")
	if !a.Retryable || a.Header.Get("Retry-After") == "" {
		t.Errorf("the visitor is not asked to try again: %v", a)
	}
	s.wantMails(0)
	unlock()
	p.sendsAtLast(w)
	s.wantMails(1)
	p.replay(w)
	s.needsNobody()
}

// Somebody is told of a message that was not sent and that its visitor left.
func TestPromise7SomebodyIsToldOfAVisitorWhoLeft(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, quick+"unsent = \"100ms\"\n"), newWords()
	p, done := s.stopsAt("maildir.before-rename", w.json())
	must(t, os.RemoveAll(filepath.Join(s.data, "mail", "new")))
	p.signal(syscall.SIGCONT)
	a := p.answers(done)
	if !a.is(http.StatusServiceUnavailable, "not_sent") || !a.Retryable {
		t.Fatalf("got %v, want not_sent", a)
	}
	p.logged(`"unsent":1`)
	s.needs(a.Reference, ledger.NeedsUnsent)
	p.stop()
	s.start("").post(w, http.StatusCreated, "accepted")
	s.wantMails(1)
	s.needsNobody()
}
