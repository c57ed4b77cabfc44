//go:build linux

package main

import (
	"os"
	"path/filepath"
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
	for _, subject := range []string{"outbox keys", "alert", "form contact, policy"} {
		silent(t, found, subject)
	}
	s.inPolicy("retry")
	found = s.diagnosis(fakeDNS(nil))
	about(t, found, "outbox keys").says(t, "ok", "not made yet")
	about(t, found, "form contact, policy").says(t, "ok", "duplicates are possible, and stops after 8 failures or 16 claims, so a message may be missing")
	about(t, found, "alert").says(t, "warn", "nobody is told when sending has stopped", "[alert]")
}

func TestTheChannelOfAlerts(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	secret := filepath.Join(s.dir, "alert-secret")
	must(t, os.WriteFile(secret, []byte("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=\n"), 0o600))
	with := func(url string, lines ...string) {
		s.form = "\n[alert]\nurl = \"" + url + "\"\n" + strings.Join(lines, "\n") + contactForm
		s.configure(patient)
	}
	file := "secret_file = \"alert-secret\""
	with("https://alerts.example.com/hush", file)
	s.command("config", "check").check(t, exitDone)
	line := about(t, s.diagnosis(fakeDNS(nil)), "alert")
	line.says(t, "ok", "goes to alerts.example.com, signed")
	if strings.Contains(line.Detail, "hush") {
		t.Errorf("the address is told: %+v", line)
	}
	with("http://alerts.example.com", file)
	about(t, s.diagnosis(fakeDNS(nil)), "alert").says(t, "warn", "without https")
	with("https://alerts.example.com")
	s.command("config", "check").check(t, exitFailed, "[alert] has no secret", "FORMLEDGER_ALERT_SECRET")
	about(t, s.diagnosis(fakeDNS(nil)), "alert").says(t, "fail", "[alert] has no secret")
	s.environ = []string{"FORMLEDGER_ALERT_SECRET=short"}
	s.command("config", "check").check(t, exitFailed, "base64 of 24 bytes or more")
	s.environ = []string{"FORMLEDGER_ALERT_SECRET_FILE=" + secret}
	s.command("config", "check").check(t, exitDone)
	must(t, os.Chmod(secret, 0o644))
	s.command("config", "check").check(t, exitFailed, "the alert's secret in "+secret+" can be read by others")
}
