//go:build linux

package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// A process is paused in the middle of a send, past its lease. Its row is
// decided and sent by another one. Then it wakes up, and sends nothing.
func TestAPausedSenderThatWakesUpSendsNothing(t *testing.T) {
	for _, step := range []string{"hold.after-claim", "maildir.before-write", "maildir.before-rename"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s, w := newSite(t, resting), newWords()
			paused, done := s.stopsAt(step, w.json())
			s.configure(quick)
			other := s.start("")
			other.becomes(w.ID, "uncertain")
			s.command("resolve", string(s.row(w.ID).Reference), "--not-received", "--note", "not in the mailbox").check(t, exitDone)
			other.post(w, http.StatusCreated, "accepted")
			s.wantMails(1)

			paused.signal(syscall.SIGCONT)
			if a := paused.answers(done); a.Outcome != "accepted" && a.Outcome != "processing" {
				t.Errorf("the paused process answered %v", a)
			}
			paused.logged("lease_lapsed@")
			s.wantMails(1)
			s.leftNothingUnfinished()
			row := s.row(w.ID)
			if row.Status != "accepted" || row.AcceptedBy != "relay" || row.Needs != "" || row.Claims != 2 {
				t.Errorf("the row is %+v", row)
			}
			s.needsNobody()
			paused.replay(w)
		})
	}
}

// Without anybody's decision, a paused sender that wakes up proves that it sent
// nothing, and the visitor may send again.
func TestPromise6APausedSenderProvesThatNothingWasSent(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, resting), newWords()
	paused, done := s.stopsAt("maildir.before-rename", w.json())
	s.configure(quick)
	other := s.start("")
	other.becomes(w.ID, "uncertain")
	paused.signal(syscall.SIGCONT)
	paused.answers(done)
	other.becomes(w.ID, "not_sent")
	s.wantMails(0)
	other.post(w, http.StatusCreated, "accepted")
	s.wantMails(1)
	s.needsNobody()
}

// Paused before it has claimed anything: whoever comes meanwhile owns the send.
func TestPausedBeforeItsClaim(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	paused, done := s.stopsAt("hold.before-claim", w.json())
	other := s.start("")
	if a := other.receipt(w.ID); !a.is(http.StatusNotFound, "unseen") {
		t.Errorf("before the claim: %v", a)
	}
	other.post(w, http.StatusCreated, "accepted")
	paused.signal(syscall.SIGCONT)
	if a := paused.answers(done); a.Outcome != "accepted" {
		t.Errorf("the paused process answered %v", a)
	}
	s.wantMails(1)
	s.needsNobody()
}

// leftNothingUnfinished waits until tmp is empty.
func (s *site) leftNothingUnfinished() {
	s.t.Helper()
	eventually(s.t, func() error {
		if n := len(s.folder("tmp")); n > 0 {
			return fmt.Errorf("tmp holds %d files", n)
		}
		return nil
	})
}
