//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"formledger/relay/smtp/smtptest"
)

// diagnosis is what the doctor finds, apart from the machine's own clock and disk.
func (s *site) diagnosis(dns txtLooker) []finding {
	s.t.Helper()
	var found []finding
	for _, f := range examine(context.Background(), places{s.config, s.data}, s.environ, dns) {
		if (f.State == "ok") != (f.Remedy == "") || f.Subject == "" || f.Detail == "" {
			s.t.Errorf("not a whole finding: %+v", f)
		}
		if f.Subject != "clock" && f.Subject != "disk" {
			found = append(found, f)
		}
	}
	return found
}

// about is the finding about a subject.
func about(t *testing.T, found []finding, subject string) finding {
	t.Helper()
	for _, f := range found {
		if f.Subject == subject {
			return f
		}
	}
	t.Fatalf("nothing is said about %s: %+v", subject, found)
	return finding{}
}

func (f finding) says(t *testing.T, state string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(f.Detail+"\n"+f.Remedy, text) {
			t.Errorf("%s: %q is not in %+v", f.Subject, text, f)
		}
	}
	if f.State != state {
		t.Errorf("want %s: %+v", state, f)
	}
}

// snapshot is every file and folder below the site, with its mode and text. The
// shared memory of SQLite's connections belongs to them, not to the ledger.
func (s *site) snapshot() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	must(s.t, filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() && !strings.HasSuffix(path, "-shm") {
			text, err = os.ReadFile(path)
		}
		all[path] = info.Mode().String() + " " + string(text)
		return err
	}))
	return all
}

// unchanged fails if what is done changes a file.
func (s *site) unchanged(do func()) {
	s.t.Helper()
	before := s.snapshot()
	do()
	after := s.snapshot()
	for path := range after {
		if _, there := before[path]; !there {
			s.t.Errorf("%s was made", path)
		}
	}
	for path, text := range before {
		if now, there := after[path]; !there || now != text {
			s.t.Errorf("%s has changed (still there: %v)", path, there)
		}
	}
}

// stocked is a site with a mail server that has taken one enquiry, and whose
// process has ended in order.
func stocked(t *testing.T) *site {
	t.Helper()
	s := withLogin(t, brief, smtptest.StartTLS)
	s.environ = append(s.environ, "FORMLEDGER_ALERT_SERVICES=ntfy://ntfy.sh/hush")
	s.form = strings.Replace(contactForm, "contact = ", "origins = [\"https://www.shop.example\"]\ncontact = ", 1)
	s.configure(brief)
	s.command("test-send", "contact").check(t, exitDone)
	s.left()
	return s
}

func TestTheDoctorFindsNothingWrong(t *testing.T) {
	t.Parallel()
	s := stocked(t)
	s.unchanged(func() {
		found := s.diagnosis(goodDNS())
		for _, f := range found {
			f.says(t, "ok")
		}
		for subject, detail := range map[string]string{
			"configuration": "forms: contact", "keys": "1 in " + s.keyFile(), "ledger": "durable settings", "mail server": "takes the login",
			"SPF of shop.example": "v=spf1 mx", "DMARC of shop.example": "p=none", "DKIM of shop.example": "k1._domainkey", "form contact": "4 fields, policy hold, to 1 recipients",
		} {
			about(t, found, subject).says(t, "ok", detail)
		}
		if err := verdictOf(found); err != nil {
			t.Errorf("nothing fails: %v", err)
		}
	})
	s.sessions(2, 1) // it logs in, and sends nothing
}

// Each set-up that is broken, and the one line that says so.
func TestTheDoctorFindsWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(*site)
		subject string
		state   string
		says    []string
	}{
		{"a misspelt setting", func(s *site) { s.form += "\nfoo = 1\n"; s.configure(brief) }, "configuration", "fail", []string{"line ", "there is no setting", "config example"}},
		{"no configuration", func(s *site) { s.config += "x" }, "configuration", "fail", []string{"no such file"}},
		{"a password that others can read", func(s *site) { must(s.t, os.Chmod(filepath.Join(s.dir, "password"), 0o644)) }, "configuration", "fail", []string{"mail server's password", "0644", "chmod 600"}},
		{"keys that others can read", func(s *site) { must(s.t, os.Chmod(s.keyFile(), 0o644)) }, "keys", "fail", []string{"0644", "chmod 600 ", "back from its copy"}},
		{"keys that are gone", func(s *site) { must(s.t, os.Remove(s.keyFile())) }, "keys", "fail", []string{"no such file", "back from its copy"}},
		{"keys that are none", func(s *site) { must(s.t, os.WriteFile(s.keyFile(), nil, 0o600)) }, "keys", "fail", []string{"no key is in use"}},
		{"another program's ledger", func(s *site) { s.foreign() }, "ledger", "fail", []string{"another program's tables", "another folder as data"}},
		{"a ledger that is none", func(s *site) { must(s.t, os.WriteFile(s.ledgerFile(), make([]byte, 5000), 0o600)) }, "ledger", "fail", []string{"not a database"}},
		{"no server", func(s *site) { s.server.Refuse() }, "mail server", "fail", []string{"connect_refused@connect", "Nothing listens", "check host and port"}},
		{"a wrong password", func(s *site) {
			must(s.t, os.WriteFile(filepath.Join(s.dir, "password"), []byte("incorrect"), 0o600))
		}, "mail server", "fail", []string{"auth_refused@auth", "check user name and password"}},
		{"no password", func(s *site) {
			s.setSMTP(brief, smtptest.StartTLS, s.server.Port(), s.login()[0])
		}, "mail server", "fail", []string{"a username and no password", "FORMLEDGER_SMTP_PASSWORD"}},
		{"no authority", func(s *site) { must(s.t, os.Remove(filepath.Join(s.dir, "ca.pem"))) }, "mail server", "fail", []string{"ca_file", "no such file", "table [smtp]"}},
		{"an authority that is none", func(s *site) { must(s.t, os.WriteFile(filepath.Join(s.dir, "ca.pem"), []byte("x"), 0o600)) }, "mail server", "fail", []string{"no certificate in PEM form"}},
		{"no number to call", func(s *site) { s.inForm("Call us on 01234 567890.", "Call us.") }, "form contact, contact", "warn", []string{`"Call us."`, "where a visitor can ask"}},
		{"everybody's origin", func(s *site) { s.inForm("https://www.shop.example", "*") }, "form contact, origins", "warn", []string{`"*"`, "https://"}},
		{"an origin in the clear", func(s *site) { s.inForm("https://www", "http://www") }, "form contact, origins", "warn", []string{"http://www.shop.example", "https://"}},
		{"no origin", func(s *site) { s.inForm("origins = [", "origins = []\n#") }, "form contact, origins", "warn", []string{"none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stocked(t)
			s.t = t
			c.spoil(s)
			s.unchanged(func() { s.onlyThis(c.subject, c.state, c.says) })
		})
	}
}

// onlyThis fails unless everything else is in order, and the exit says what is
// not.
func (s *site) onlyThis(subject, state string, says []string) {
	s.t.Helper()
	found := s.diagnosis(goodDNS())
	about(s.t, found, subject).says(s.t, state, says...)
	for _, f := range found {
		if f.Subject != subject {
			f.says(s.t, "ok")
		}
	}
	if err := verdictOf(found); (err != nil) != (state == "fail") {
		s.t.Errorf("the exit: %v", err)
	}
}

func (s *site) inForm(old, new string) {
	s.t.Helper()
	s.form = strings.Replace(s.form, old, new, 1)
	s.configure(brief)
}

// foreign puts another program's database in the ledger's place.
func (s *site) foreign() {
	s.t.Helper()
	must(s.t, os.Remove(s.ledgerFile()))
	db, err := sql.Open("sqlite3", "file:"+s.ledgerFile())
	must(s.t, err)
	_, err = db.Exec(`CREATE TABLE recipes (name TEXT)`)
	must(s.t, errors.Join(err, db.Close()))
}

func TestTheDoctorAndTheMailFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	mail := func() finding { return about(t, s.diagnosis(fakeDNS(nil)), "mail folder") }
	s.unchanged(func() { mail().says(t, "ok", "not made yet") })
	must(t, os.MkdirAll(filepath.Join(s.data, "mail"), 0o700))
	s.unchanged(func() { mail().says(t, "ok", "not made yet") })
	must(t, os.WriteFile(filepath.Join(s.data, "mail", "new"), nil, 0o600))
	s.unchanged(func() { mail().says(t, "fail", "not a folder", "name another one as maildir") })
	must(t, os.RemoveAll(filepath.Join(s.data, "mail")))
	must(t, os.WriteFile(filepath.Join(s.data, "mail"), nil, 0o600))
	s.unchanged(func() { mail().says(t, "fail", "not a directory", "name another one as maildir") })
	must(t, os.RemoveAll(s.data))
	must(t, os.WriteFile(s.data, nil, 0o600))
	for _, f := range s.diagnosis(fakeDNS(nil)) {
		if f.Subject == "keys" || f.Subject == "ledger" || f.Subject == "mail folder" {
			f.says(t, "fail", "not a")
		}
	}
}

// As a user who may not write, and with the command itself: its exit code, and
// the same findings as text and as JSON.
func TestTheDoctorsCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	first := s.command("doctor")
	first.check(t, exitDone, "ok    configuration: "+s.config, "ok    ledger: not made yet", "warn  form contact, origins: none", "      → name the site")
	if exists(s.data) {
		t.Error("the doctor made the data folder")
	}
	s.sameAsJSON(first)
	s.command("test-send", "contact").check(t, exitDone)
	s.sameAsJSON(s.command("doctor"))
	must(t, os.Chmod(s.keyFile(), 0o644))
	r := s.command("doctor")
	r.check(t, exitFailed, "fail  keys: ", "formledger: 1 thing fails; what to do stands beneath it")
	s.sameAsJSON(r)
	must(t, os.RemoveAll(filepath.Join(s.data, "mail", "new")))
	must(t, os.WriteFile(filepath.Join(s.data, "mail", "new"), nil, 0o600))
	s.command("doctor").check(t, exitFailed, "2 things fail; what to do stands beneath each")
	s.command("doctor", "x").check(t, exitUsage)
}

// sameAsJSON fails unless the findings in JSON are those of the text.
func (s *site) sameAsJSON(text result) {
	s.t.Helper()
	r := s.command("doctor", "--json")
	r.check(s.t, text.code)
	var found []finding
	must(s.t, json.Unmarshal([]byte(r.out), &found))
	var again strings.Builder
	must(s.t, printFindings(&again, found, false))
	// the free space and the time go on
	if one, two := without(text.out), without(again.String()); one != two || len(found) < 6 {
		s.t.Errorf("text:\n%s\nJSON:\n%s", one, two)
	}
}

func without(text string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, " disk: ") && !strings.Contains(line, " clock: ") {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

func TestTheDoctorOfAUserWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: a doctor without permission. The test takes another user's place, which only root can do.")
	}
	s := newSite(t, patient)
	s.command("test-send", "contact").check(t, exitDone)
	for dir := s.data; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	for _, dir := range []string{"ledger", "mail", "mail/new", "mail/tmp"} {
		must(t, os.Chmod(filepath.Join(s.data, dir), 0o755))
	}
	must(t, os.Chmod(s.ledgerFile(), 0o644))
	must(t, os.Chmod(s.config, 0o644))
	file, err := program()
	must(t, err)
	c := exec.Command(file, "doctor", "--config", s.config, "--data", s.data)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	s.unchanged(func() {
		said, _ := c.CombinedOutput() // how it ended is in ProcessState
		result{c.ProcessState.ExitCode(), string(said), ""}.check(t, exitFailed,
			"fail  ledger: "+filepath.Dir(s.ledgerFile())+" cannot be written to: permission denied", "fail  mail folder: ", "cannot be written to", "fail  keys: ", "belongs to the user who runs formledger")
	})
}

// Beside a server, and beside what a server left that was killed: the doctor
// writes nothing either way.
func TestTheDoctorRecoversNothing(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	p := s.start("")
	p.post(w, http.StatusCreated, "accepted")
	s.unchanged(func() { about(t, s.diagnosis(fakeDNS(nil)), "ledger").says(t, "ok") })
	p.kill()
	if !exists(s.ledgerFile() + "-wal") {
		t.Error("nothing was left to recover; the test means nothing")
	}
	s.unchanged(func() { about(t, s.diagnosis(fakeDNS(nil)), "ledger").says(t, "ok") })
	s.start("").replay(w)
}
