//go:build linux

package main

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The visitor hangs up while the server stands still, so that the server goes
// on knowing nobody who waits.
func TestAVisitorWhoHangsUpCancelsNothing(t *testing.T) {
	for _, step := range []string{"hold.before-claim", "maildir.before-rename", "maildir.after-sync"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s, w := newSite(t, patient), newWords()
			p := s.start(step + "=stop")
			p.alive()
			hangUp := p.half(w.json())
			p.stopped()
			hangUp()
			// the ledger takes no write until the server has had time to see it
			unlock := s.lock()
			p.signal(syscall.SIGCONT)
			p.alive()
			unlock()
			p.becomes(w.ID, "accepted")
			s.wantMails(1)
			p.replay(w)
			s.needsNobody()
		})
	}
}

// half sends a whole request on a connection of its own, and gives the means to
// close it before any answer.
func (p *process) half(r request) (hangUp func()) {
	p.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	must(p.t, err)
	_, err = io.WriteString(c, "POST /f/contact HTTP/1.1\r\nHost: forms.example\r\nContent-Type: "+r.contentType+
		"\r\nContent-Length: "+strconv.Itoa(len(r.body))+"\r\n\r\n"+r.body)
	must(p.t, err)
	return func() {
		p.t.Helper()
		must(p.t, c.(*net.TCPConn).SetLinger(0)) // a reset, which nobody can overlook
		must(p.t, c.Close())
	}
}

// A visitor who hangs up in the middle of the request has sent nothing.
func TestHalfARequestIsNoEnquiry(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	p := s.start("")
	r := w.json()
	whole := r.body
	c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	must(t, err)
	_, err = io.WriteString(c, "POST /f/contact HTTP/1.1\r\nHost: forms.example\r\nContent-Type: application/json\r\nContent-Length: "+
		strconv.Itoa(len(whole))+"\r\n\r\n"+whole[:len(whole)-1])
	must(t, err)
	must(t, c.Close())
	p.logged(`"status":400`)
	if a := p.receipt(w.ID); !a.is(http.StatusNotFound, "unseen") {
		t.Errorf("the receipt says %v", a)
	}
	s.wantMails(0)
	p.post(w, http.StatusCreated, "accepted")
}
