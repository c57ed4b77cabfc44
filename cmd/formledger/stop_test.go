//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"formledger/ledger"
)

// sending is a process whose mail has arrived, and that cannot record it until
// the ledger is unlocked.
func sending(s *site, w words) (p *process, done <-chan attempt, unlock func()) {
	s.t.Helper()
	p, done = s.stopsAt("maildir.after-sync", w.json())
	unlock = s.lock()
	p.signal(syscall.SIGCONT)
	return p, done, unlock
}

func TestAGracefulStopFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	p, done, unlock := sending(s, w)
	p.signal(syscall.SIGTERM)
	p.logged("stopping")
	p.takesNobody()
	select {
	case got := <-done:
		t.Fatalf("answered before it was recorded: %v", got)
	case <-p.ended:
		t.Fatalf("ended before it was recorded: %s", p.log)
	default:
	}
	unlock()
	if a := p.answers(done); !a.is(http.StatusCreated, "accepted") {
		t.Errorf("the visitor got %v", a)
	}
	if end := p.wait(); end.ExitStatus() != exitDone {
		t.Errorf("the process ended with %v:\n%s", end, p.log)
	}
	s.wantMails(1)
	if row := s.row(w.ID); row.Status != ledger.Accepted {
		t.Errorf("the row is %+v", row)
	}
	s.needsNobody()
}

// A second signal does not wait. Nothing is lost: what was open is uncertain.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s, w := newSite(t, resting), newWords()
			p, _, unlock := sending(s, w)
			p.signal(sig)
			p.logged("stopping")
			p.signal(sig)
			if end := p.wait(); !end.Signaled() || end.Signal() != sig {
				t.Errorf("the process ended with %v, want %v", end, sig)
			}
			unlock()
			s.configure(quick)
			p = s.start("")
			p.becomes(w.ID, "uncertain")
			p.post(w, http.StatusConflict, "uncertain")
			s.wantMails(1)
		})
	}
}

// Many visitors are on their way when the server stops: each gets a true answer
// or none, and whoever comes again afterwards is sent once.
func TestAStopAmongManyVisitors(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	p, first, unlock := sending(s, newWords())
	var all []words
	var answers []<-chan attempt
	for range 24 {
		w := newWords()
		all, answers = append(all, w), append(answers, inBackground(p.base, w.json()))
	}
	p.signal(syscall.SIGTERM)
	unlock()
	p.answers(first)
	if end := p.wait(); end.ExitStatus() != exitDone {
		t.Errorf("the process ended with %v:\n%s", end, p.log)
	}
	sent := 1
	for _, done := range answers {
		if got := <-done; got.err == nil && got.answer.is(http.StatusCreated, "accepted") {
			sent++
		} else if got.err == nil {
			t.Errorf("a visitor got %v", got.answer)
		}
	}
	s.wantMails(sent)
	s.needsNobody()
	p = s.start("")
	for _, w := range all {
		if a := p.send(w.json()); a.Outcome != "accepted" {
			t.Errorf("after the restart: %v", a)
		}
	}
	s.wantMails(1 + len(all))
}

// takesNobody waits until the process listens no more.
func (p *process) takesNobody() {
	p.t.Helper()
	eventually(p.t, func() error {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
		if err != nil {
			return nil
		}
		c.Close()
		return fmt.Errorf("%s still takes connections", p.base)
	})
}
