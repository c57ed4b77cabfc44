//go:build linux

package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

const (
	mailUser     = "website@shop.example"
	mailPassword = "correct horse battery staple"
	brief        = "\n[timing]\ncall = \"4s\"\n" // how long a silent server is waited for
)

// loggedIn answers a login by what it says, and MAIL with the address.
func loggedIn(line, usual string) string {
	right := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00"+mailUser+"\x00"+mailPassword))
	switch {
	case strings.HasPrefix(line, "AUTH ") && line != right:
		return "535 5.7.8 " + mailUser + " is not let in\r\n"
	case strings.HasPrefix(line, "MAIL "):
		return "250 sender <form@shop.example> ok\r\n"
	}
	return usual
}

// withLogin is a site whose mail server wants a login and has a certificate of
// its own authority.
func withLogin(t *testing.T, timing, mode string) *site {
	t.Helper()
	server := smtptest.New(t, mode)
	server.Patch = loggedIn
	s := newMailSite(t, timing, server)
	must(t, os.WriteFile(filepath.Join(s.dir, "ca.pem"), smtptest.PKI(t).PEM, 0o600))
	must(t, os.WriteFile(filepath.Join(s.dir, "password"), []byte(mailPassword+"\n"), 0o600))
	s.setSMTP(timing, mode, server.Port(), s.login()...)
	server.Start()
	return s
}

// login are the settings of the site's mail server.
func (s *site) login() []string {
	return []string{fmt.Sprintf("username = %q", mailUser), `password_file = "password"`, `ca_file = "ca.pem"`}
}

func TestTestSendGoesTheWholeWay(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{smtptest.StartTLS, smtptest.Implicit} {
		s := withLogin(t, patient, mode)
		r := s.command("test-send", "contact")
		r.check(t, exitDone, "C: AUTH [redacted]", "MAIL FROM:<f***@shop.example>", "RCPT TO:<o***@shop.example>",
			"accepted. The mail system took the message.", "Receipt: smtp:250 2.0.0 Ok: queued as 4F2A", "Reference ")
		for _, secret := range []string{mailPassword, base64.StdEncoding.EncodeToString([]byte("\x00" + mailUser + "\x00" + mailPassword)), "form@", "office@", mailUser} {
			if strings.Contains(r.out+r.err, secret) {
				t.Errorf("%q is shown:\n%s%s", secret, r.out, r.err)
			}
		}
		s.sessions(1, 1)
		mail := s.mails()[0]
		for _, mark := range []string{"Subject: Test: ", "This is a test, made by formledger test-send."} {
			if !strings.Contains(mail, mark) {
				t.Errorf("%q is not in\n%s", mark, mail)
			}
		}
		s.needsNobody()
		s.command("list").check(t, exitDone, "contact", "accepted")
	}
}

// sentence fails unless a command ended in one sentence that names what to
// change, and printed no secret.
func (r result) sentence(t *testing.T, name string, says ...string) {
	t.Helper()
	text := strings.TrimSuffix(r.err, "\n")
	if r.code != exitFailed || strings.Contains(text, "\n") || !strings.HasPrefix(text, "formledger: ") || !strings.HasSuffix(text, ".") || strings.Contains(text, ". ") {
		t.Errorf("%s: exit code %d, and not one sentence: %q", name, r.code, r.err)
	}
	for _, want := range says {
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q is not in %q", name, want, text)
		}
	}
	if strings.Contains(r.out+r.err, mailPassword) {
		t.Errorf("%s: the password is shown:\n%s%s", name, r.out, r.err)
	}
}

func TestATestSendThatFailsSaysWhatToChange(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		spoil      func(*site)
		says       []string
	}{
		{"a wrong password", smtptest.StartTLS, func(s *site) {
			must(s.t, os.WriteFile(filepath.Join(s.dir, "password"), []byte("incorrect\n"), 0o600))
		}, []string{"refuses the login", mailUser, "check user name and password"}},
		{"implicit TLS on a port with STARTTLS", smtptest.StartTLS, func(s *site) {
			s.setSMTP(brief, smtptest.Implicit, s.server.Port(), s.login()...)
		}, []string{"does not speak TLS from the first byte", `set the TLS mode to "starttls"`}},
		{"STARTTLS on a port with implicit TLS", smtptest.Implicit, func(s *site) {
			s.setSMTP(brief, smtptest.StartTLS, s.server.Port(), s.login()...)
		}, []string{"does not greet", `set the TLS mode to "implicit"`}},
		{"no TLS where there is some", smtptest.Implicit, func(s *site) {
			s.setSMTP(brief, smtptest.Plain, s.server.Port())
		}, []string{"does not greet", `set the TLS mode to "implicit"`}},
		{"a wrong port", smtptest.StartTLS, func(s *site) { s.server.Refuse() }, []string{"Nothing listens", "check host and port"}},
		{"a certificate that nobody vouches for", smtptest.StartTLS, func(s *site) {
			s.setSMTP(brief, smtptest.StartTLS, s.server.Port(), s.login()[:2]...)
		}, []string{"not signed by an authority that this machine trusts", "give the file of its own authority"}},
		{"a sender that is not theirs", smtptest.StartTLS, func(s *site) { s.server.Ends(smtptest.Mail, "5xx") }, []string{"refuses the sender", "From address"}},
		{"a refused recipient", smtptest.StartTLS, func(s *site) { s.server.Ends(smtptest.Rcpt, "5xx") }, []string{"refuses the recipient", "To address"}},
		{"a refused message", smtptest.StartTLS, func(s *site) { s.server.Ends(smtptest.Dot, "5xx") }, []string{"refuses (550 at DOT)"}},
		{"not for now", smtptest.StartTLS, func(s *site) { s.server.Ends(smtptest.Dot, "4xx") }, []string{"try again later"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := withLogin(t, brief, c.mode)
			s.t = t
			c.spoil(s)
			r := s.command("test-send", "contact")
			r.sentence(t, c.name, c.says...)
			r.check(t, exitFailed, "Reference ", "Nothing")
			s.needsNobody() // and nobody is asked about it later
			s.command("list").check(t, exitDone, "contact", "processing")
		})
	}
}

// A test of which nobody knows is like any other enquiry: somebody has to look.
func TestATestSendThatIsUnknown(t *testing.T) {
	t.Parallel()
	s := withLogin(t, patient, smtptest.StartTLS)
	s.server.Ends(smtptest.Dot, "close")
	r := s.command("test-send", "contact")
	r.sentence(t, "unknown", "did not answer for it", "look for the reference in the mailbox")
	r.check(t, exitFailed, "unknown. It may or may not have been sent", "C: .\n-- unknown: closed@dot")
	_, rest, _ := strings.Cut(r.out, "Reference ")
	ref, _, _ := strings.Cut(rest, ":")
	s.needs(ref, ledger.NeedsUncertain)
	s.command("resolve", ref, "--received").check(t, exitDone)
	s.needsNobody()
	s.sessions(1, 1)
}

func TestATestSendBesideAServer(t *testing.T) {
	t.Parallel()
	s, w := withLogin(t, patient, smtptest.StartTLS), newWords()
	p := s.start("")
	s.command("test-send", "contact").check(t, exitDone, "accepted")
	p.post(w, http.StatusCreated, "accepted")
	s.sessions(2, 2)
}

func TestATestSendOfNoForm(t *testing.T) {
	t.Parallel()
	s := withLogin(t, patient, smtptest.StartTLS)
	s.command("test-send", "booking").check(t, exitUsage, `there is no form "booking"`, "contact")
	s.command("test-send").check(t, exitUsage, "test-send --help")
	s.sessions(0, 0)
	if exists(s.data) {
		t.Error("something was made")
	}
}

func TestATestSendIntoTheFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	s.command("test-send", "contact").check(t, exitDone, "accepted", "Receipt: maildir:")
	s.wantMails(1)
	s.needsNobody()
}
