//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"formledger/ledger"
)

// silent fails if the doctor says something of a subject.
func silent(t *testing.T, found []finding, subject string) {
	t.Helper()
	for _, f := range found {
		if f.Subject == subject {
			t.Errorf("it says %+v", f)
		}
	}
}

func TestTheDoctorLooksAtKeptWords(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	about(t, s.diagnosis(fakeDNS(nil)), "outbox keys").says(t, "ok", "in "+s.outboxFile()+"; no words are kept; keep a copy")
	s.stores(ledger.Queue)
	id := strings.TrimSuffix(states(t, s.outboxFile()), " use")
	s.unchanged(func() {
		found := s.diagnosis(fakeDNS(nil))
		about(t, found, "outbox keys").says(t, "ok", id+" holds the words of 1 message")
		about(t, found, "form contact, policy").says(t, "ok", "queue: ", "8 attempts within 48h36m", "none after an unknown outcome")
		silent(t, found, "removed forms")
	})
	must(t, os.Chmod(s.outboxFile(), 0o644))
	about(t, s.diagnosis(fakeDNS(nil)), "outbox keys").says(t, "fail", "the outbox keys in "+s.outboxFile()+" can be read by others", "0644")
	must(t, os.Remove(s.outboxFile()))
	about(t, s.diagnosis(fakeDNS(nil)), "outbox keys").says(t, "fail", "sealed under the outbox key "+id, "back from its copy")
	s.form = strings.Replace(s.form, "name = \"contact\"", "name = \"booking\"", 1)
	s.configure(patient)
	about(t, s.diagnosis(fakeDNS(nil)), "removed forms").says(t, "fail", `the form "contact" is not in the configuration any more`, "1 message of it", "resolve REFERENCE --close")
}

func TestTheDoctorOfAFormThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	found := s.diagnosis(fakeDNS(nil))
	for _, subject := range []string{"outbox keys", "form contact, policy"} {
		silent(t, found, subject)
	}
	s.inPolicy("retry")
	found = s.diagnosis(fakeDNS(nil))
	about(t, found, "outbox keys").says(t, "ok", "not made yet")
	about(t, found, "form contact, policy").says(t, "ok", "duplicates are possible, and stops after 8 failures or 16 claims, so a message may be missing")
}
