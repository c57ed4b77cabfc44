//go:build linux

package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

// outage is how many enquiries come while the mail server is down.
const outage = 60

// sung are enquiries whose words stand nowhere else.
func sung() (all []words) {
	for range outage {
		w := newWords()
		w.Name, w.Email, w.Message = canaryName, canaryMail, canaryMessage
		all = append(all, w)
	}
	return all
}

// allAre posts the enquiries to the processes in turn, and fails unless each answer is this one.
func allAre(t *testing.T, on []*process, all []words, status int, outcome string) {
	t.Helper()
	for i, w := range all {
		r := w.json().with("X-Forwarded-For", canaryAddress).with("User-Agent", canaryBrowser)
		if a := on[i%len(on)].send(r); !a.is(status, outcome) {
			t.Fatalf("enquiry %d: got %v, want %d %s", i, a, status, outcome)
		}
	}
}

// The mail server is down while enquiries come to two processes: under queue each
// visitor is told that the words are safe, and once it is back all arrive, each
// once, by themselves, and no attempt was used up. The words can be read nowhere.
func TestAnOutageUnderQueueLosesNothingAndTellsNobodysWords(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Queue)
	on, all := s.two(), sung()
	allAre(t, on, all, http.StatusAccepted, "queued")
	s.cannotRead(on, all)
	s.command("list", "--waiting").check(t, exitDone, "The relay is failing since", "connect_refused@connect")
	s.needsNobody()
	returns()
	s.haveArrived(all)
	for _, row := range s.rows() {
		if row.Status != ledger.Accepted || row.Attempts != 0 || row.Doubted {
			t.Errorf("the row is %+v", row)
		}
	}
	s.keepsNothing()
	s.cannotRead(on, all)
	for i, w := range all {
		on[(i+1)%2].replay(w)
	}
	stopAll(on)
	s.cannotRead(on, all)
	s.sessions(outage, outage)
}

// cannotRead looks for the canaries in every file of the data folder and in the
// logs, as they are and in base64, and makes sure that it would find what is there.
func (s *site) cannotRead(on []*process, all []words) {
	s.t.Helper()
	hidden, everything := spellings(canaryName, canaryMessage, canaryMail, canaryBrowser, canaryAddress), ""
	for _, p := range on {
		wantWithout(s.t, "a log", p.log.String()+p.out.String(), hidden...)
	}
	for path, text := range files(s.t, s.data) {
		wantWithout(s.t, path, text, hidden...)
		everything += text
	}
	if !strings.Contains(everything, all[0].ID.String()) || !strings.Contains(everything, all[len(all)-1].ID.String()) {
		s.t.Error("the search does not even find the IDs")
	}
}

// haveArrived waits until all messages are there, and fails unless each is there
// once. The longer the server was away, the longer is the pause before the next probe.
func (s *site) haveArrived(all []words) {
	s.t.Helper()
	eventuallyWithin(s.t, 3*time.Minute, func() error {
		if n := len(s.mails()); n < len(all) {
			return fmt.Errorf("%d of %d mails have arrived", n, len(all))
		}
		return nil
	})
	s.haveBeenAccepted(all)
	s.left()
	mails := strings.Join(s.mails(), "\n")
	s.wantMails(len(all))
	for _, w := range all {
		header := fmt.Sprintf("X-Submission-Reference: %s\r\n", ledger.ReferenceOf(w.ID))
		if n := strings.Count(mails, header); n != 1 {
			s.t.Errorf("%s has arrived %d times", ledger.ReferenceOf(w.ID), n)
		}
	}
	if !strings.Contains(mails, canaryMessage) && !strings.Contains(mails, base64.StdEncoding.EncodeToString([]byte(canaryMessage))) {
		s.t.Error("the words are not even in the mails")
	}
}

// haveBeenAccepted waits for the records.
func (s *site) haveBeenAccepted(all []words) {
	s.t.Helper()
	eventually(s.t, func() error {
		accepted := 0
		for _, row := range s.rows() {
			if row.Status == ledger.Accepted {
				accepted++
			}
		}
		if accepted < len(all) {
			return fmt.Errorf("%d of %d are accepted", accepted, len(all))
		}
		return nil
	})
}

// Under hold the same outage is told to every visitor, nothing is kept and nothing
// is sent by itself; whoever comes again is sent once.
func TestAnOutageUnderHoldIsToldToEverybody(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Hold)
	on, all := s.two(), sung()
	allAre(t, on, all, http.StatusServiceUnavailable, "not_sent")
	s.keepsNothing()
	s.cannotRead(on, all)
	returns()
	stopAll(on)
	on = s.two()
	s.sessions(0, 0)
	allAre(t, on, all, http.StatusCreated, "accepted")
	s.haveArrived(all)
	s.cannotRead(on, all)
	s.needsNobody()
}

// Under retry an outage uses up neither attempts nor claims.
func TestAnOutageUnderRetryUsesUpNothing(t *testing.T) {
	t.Parallel()
	s, returns := newCutOff(t, hasty, ledger.Retry)
	on, w := s.two(), newWords()
	on[0].post(w, http.StatusAccepted, "queued")
	on[1].post(w, http.StatusAccepted, "queued")
	for _, p := range on {
		p.logged(`"reached":false`)
	}
	returns()
	row := s.becomesAccepted(w.ID)
	if row.Attempts != 0 || row.ClaimCap != 16+row.Claims-1 || row.Doubted {
		t.Errorf("the row is %+v", row)
	}
	s.wantSettled(on, w, 1)
	s.sessions(1, 1)
}

// The mail server is there, but lets nobody in: that speaks of no message either.
func TestAServerThatLetsNobodyInCostsNoAttempt(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, w := newKept(t, hasty, policy), newWords()
		s.server.Ends(smtptest.Banner, "5xx")
		on := s.two()
		on[0].post(w, http.StatusAccepted, "queued")
		on[1].post(w, http.StatusAccepted, "queued")
		s.server.Ends("", "")
		if row := s.becomesAccepted(w.ID); row.Attempts != 0 {
			t.Errorf("the row is %+v", row)
		}
		s.wantSettled(on, w, 1)
	}, ledger.Queue, ledger.Retry)
}
