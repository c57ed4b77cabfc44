//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay/desk"
)

// uncertain is a server with an enquiry of which nobody knows: the process died
// at the step.
func uncertain(t *testing.T, step string) (*site, *process, words) {
	t.Helper()
	s, w := newSite(t, quick), newWords()
	s.diesAt(step, w)
	p := s.start("")
	p.becomes(w.ID, "uncertain")
	return s, p, w
}

func TestResolvedAsReceived(t *testing.T) {
	t.Parallel()
	s, p, w := uncertain(t, "maildir.after-rename")
	ref := string(s.row(w.ID).Reference)
	s.command("show", ref).check(t, exitDone, ref, "may or may not", "lease_lapsed", w.ID.String())
	spoken := strings.ToLower(strings.ReplaceAll(ref, "-", " "))
	s.command("resolve", spoken, "--received", "--by", "eve", "--note", "it is in the mailbox").
		check(t, exitDone, "An operator recorded", "operator:eve", "it is in the mailbox")
	if a := p.receipt(w.ID); !a.is(http.StatusOK, "accepted") {
		t.Errorf("the receipt says %v", a)
	}
	if page := p.get("/receipts/"+w.ID.String(), "text/html"); !strings.Contains(page.Text, "Your message has been received") {
		t.Errorf("the page says %s", page.Text)
	}
	p.replay(w)
	s.wantMails(1)
	s.needsNobody()
	if row := s.row(w.ID); row.AcceptedBy != ledger.Operator("eve") {
		t.Errorf("accepted by %q", row.AcceptedBy)
	}
	s.command("resolve", ref, "--not-received", "--note", "changed my mind").check(t, exitFailed, "final")
	p.replay(w)
	s.wantMails(1)
}

func TestResolvedAsNotReceived(t *testing.T) {
	t.Parallel()
	s, p, w := uncertain(t, "maildir.before-rename")
	ref := string(s.row(w.ID).Reference)
	s.command("resolve", ref, "--not-received").check(t, exitFailed, "needs a note")
	p.post(w, http.StatusConflict, "uncertain")
	s.wantMails(0)
	s.command("resolve", ref, "--not-received", "--note", "searched, nothing there").check(t, exitDone, "Nothing was sent", "searched, nothing there")
	if a := p.receipt(w.ID); !a.is(http.StatusOK, "not_sent") || !a.Retryable {
		t.Errorf("the receipt says %v", a)
	}
	page := p.get("/receipts/"+w.ID.String(), "text/html")
	if link := "/f/contact?submission_id=" + w.ID.String(); !strings.Contains(page.Text, link) {
		t.Errorf("the page does not offer to send again: %s", page.Text)
	}
	p.post(w, http.StatusCreated, "accepted")
	p.replay(w)
	s.wantMails(1)
	s.command("resolve", ref, "--not-received", "--note", "again").check(t, exitFailed, "accepted by relay", "final")
	s.needsNobody()
}

func TestClosedCasesAreNotSent(t *testing.T) {
	t.Parallel()
	s, p, w := uncertain(t, "maildir.before-rename")
	ref := string(s.row(w.ID).Reference)
	s.command("resolve", ref, "--close").check(t, exitFailed, "needs a note")
	s.command("resolve", ref, "--close", "--note", "they called").check(t, exitDone, "closed")
	s.needsNobody()
	p.post(w, http.StatusConflict, "uncertain")
	s.wantMails(0)
}

func TestASendUnderWayCannotBeDecided(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	s.stopsAt("maildir.before-rename", w.json())
	ref := string(s.row(w.ID).Reference)
	for _, decision := range []string{"--received", "--not-received", "--close"} {
		s.command("resolve", ref, decision, "--note", "impatient").check(t, exitFailed, ref+" is being sent right now", "lease ends")
	}
	s.command("show", ref).check(t, exitDone, "being sent right now, or its sender died")
	s.command("list").check(t, exitDone, ref, "processing")
}

func TestReferencesThatNameNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	s.command("list").check(t, exitFailed, "there is no ledger at "+s.ledgerFile(), "--data")
	p := s.start("")
	a := p.post(newWords(), http.StatusCreated, "accepted")
	unknown := newWords().ID
	mistyped := []byte(a.Reference)
	mistyped[0] = "01"[(mistyped[0]+1)%2]
	for _, verb := range [][]string{{"show"}, {"resolve", "--received"}} {
		name := func(ref string) result { return s.command(append(verb, ref)...) }
		name(string(ledger.ReferenceOf(unknown))).check(t, exitNoMatch, "no submission with this reference")
		name(unknown.String()).check(t, exitNoMatch, "no submission with this reference")
		name(string(mistyped)).check(t, exitNoMatch, "mistyped", "compare")
		name("7K3M").check(t, exitNoMatch, "4 symbols instead of 12")
		name("7K3M-Q9PX-2DH!").check(t, exitNoMatch, "'!'", "looks like YYH9-FP7R-Y5A9")
	}
	s.command("show", a.Reference).check(t, exitDone, "The mail system took this message")
	s.command("show", a.ID).check(t, exitDone, a.Reference)
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"bogus"}, {"--bogus"}, {"serve", "x"}, {"serve", "--bogus"}, {"list", "x"}, {"list", "--limit", "many"}, {"list", "--needs", "all"}, {"list", "--status", "x"}, {"queue", "x"}, {"show"}, {"show", "a", "b"},
		{"evidence"}, {"note", "a"}, {"events", "x"}, {"events", "--since", "soon"}, {"export", "--needs", "x"}, {"resolve", "-", "a", "--received"}, {"resolve", "a", "b", "--received", "--seen", "x"},
		{"resolve"}, {"resolve", "YYH9-FP7R-Y5A9"}, {"resolve", "YYH9-FP7R-Y5A9", "--received", "--not-received"},
		{"resolve", "YYH9-FP7R-Y5A9", "--received", "--close"}, {"config", "bogus"}, {"version", "x"},
	} {
		if r := command(nil, args...); r.code != exitUsage || !strings.Contains(r.err, "formledger: ") {
			t.Errorf("%v: exit code %d, want %d: %s", args, r.code, exitUsage, r.err)
		}
	}
	command(nil, "version").check(t, exitDone, "formledger "+version)
	command(nil).check(t, exitDone, "Start with: formledger serve")
}

func TestWhyADecisionWasNotTaken(t *testing.T) {
	k := desk.Case{Row: ledger.Submission{Reference: "YYH9-FP7R-Y5A9", AcceptedBy: "relay", LeaseUntil: time.Unix(1, 0)}}
	for cause, want := range map[error]string{
		ledger.ErrClaimed: "is being sent right now; once its lease ends (1970-01-01 00:00:01Z)",
		ledger.ErrFinal:   "was accepted by relay, and that is final",
		ledger.ErrStale:   "changed while you decided; look at it again with formledger show YYH9-FP7R-Y5A9",
	} {
		if got := unresolved(k, fmt.Errorf("deciding: %w", cause)).Error(); !strings.HasPrefix(got, "YYH9-FP7R-Y5A9 "+want) {
			t.Errorf("%v: %q", cause, got)
		}
	}
	if other := errors.New("other"); unresolved(k, other) != other {
		t.Error("another error is not passed on")
	}
}

// Two operators decide at the same time, while the visitor sends again: one
// mail at most, and the row says what became of it.
func TestDecisionsAndRepeatsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s, p, w := uncertain(t, "maildir.before-rename")
	ref := string(s.row(w.ID).Reference)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { s.command("resolve", ref, "--not-received", "--note", "one") })
		all.Go(func() { s.command("resolve", ref, "--received", "--note", "two") })
		all.Go(func() { _, _ = try(p.base, w.json()) })
	}
	all.Wait()
	row, mails := s.row(w.ID), len(s.mails())
	if mails > 1 || (mails == 1) != (row.Claims == 2) {
		t.Errorf("%d mails, and the row is %+v", mails, row)
	}
}
