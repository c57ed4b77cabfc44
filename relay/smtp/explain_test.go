package smtp

import (
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

// Each mistake in a configuration ends in one sentence that says what to change.
func TestAMistakeIsExplained(t *testing.T) {
	for _, c := range []struct {
		name    string
		speaks  TLSMode
		prepare func(*smtptest.Server, *Config)
		cause   string
		says    []string
	}{
		{"implicit TLS on a plain port", StartTLS, func(_ *smtptest.Server, c *Config) { c.TLS = Implicit }, "not_tls@tls", []string{"TLS mode", `"starttls"`}},
		{"STARTTLS on a TLS port", Implicit, func(_ *smtptest.Server, c *Config) { c.TLS, c.Deadlines.Greeting = StartTLS, short }, "timeout@banner", []string{"TLS mode", `"implicit"`}},
		{"a server that says nothing after the message", StartTLS, func(f *smtptest.Server, c *Config) { f.Ends(stageDot, "close") }, "closed@dot", []string{"did not answer for it", "look for the reference in the mailbox"}},
		{"a port where nobody listens", StartTLS, func(f *smtptest.Server, _ *Config) { f.Refuse() }, "connect_refused@connect", []string{"Nothing listens", "port"}},
		{"a wrong password", StartTLS, func(f *smtptest.Server, _ *Config) { f.Ends(stageAuth, "5xx") }, "auth_refused@auth", []string{"user name and password"}},
		{"an unknown authority", StartTLS, func(_ *smtptest.Server, c *Config) { c.RootCAs = nil }, "certificate_untrusted@tls", []string{"certificate", "authority"}},
		{"an unknown authority", Implicit, func(_ *smtptest.Server, c *Config) { c.RootCAs = nil }, "certificate_untrusted@tls", []string{"certificate", "authority"}},
		{"a certificate for another name", StartTLS, func(f *smtptest.Server, _ *Config) { f.Cert = smtptest.PKI(t).Other }, "certificate_name@tls", []string{"another name", "set the host"}},
		{"a certificate of yesterday", Implicit, func(f *smtptest.Server, _ *Config) { f.Cert = smtptest.PKI(t).Expired }, "certificate_expired@tls", []string{"not valid today"}},
		{"a server without STARTTLS", Plain, func(_ *smtptest.Server, c *Config) { c.TLS = StartTLS }, "starttls_missing@starttls", []string{"does not offer STARTTLS"}},
		{"a server without AUTH", Implicit, func(f *smtptest.Server, _ *Config) { f.Offers = []string{"SIZE"} }, "auth_unsupported@auth", []string{"no login"}},
		{"a server with other mechanisms", Implicit, func(f *smtptest.Server, _ *Config) { f.Offers = []string{"AUTH GSSAPI"} }, "auth_unsupported@auth", []string{"no login"}},
		{"a mechanism that is not offered", StartTLS, func(_ *smtptest.Server, c *Config) { c.Auth = "cram-md5" }, "auth_unsupported@auth", []string{"mechanism"}},
		{"a name that does not exist", StartTLS, func(_ *smtptest.Server, c *Config) { c.Host = "mail.invalid" }, "dns@connect", []string{"mail.invalid", "DNS"}},
		{"no login", Plain, func(f *smtptest.Server, _ *Config) { f.Patch = instead("MAIL", "530 5.7.0 no\r\n") }, "smtp_530@mail", []string{"wants a login"}},
		{"a foreign sender", Plain, func(f *smtptest.Server, _ *Config) { f.Patch = instead("MAIL", "553 5.7.1 no\r\n") }, "smtp_553@mail", []string{"refuses the sender"}},
		{"no relaying", Plain, func(f *smtptest.Server, _ *Config) { f.Patch = instead("RCPT", "554 5.7.1 no\r\n") }, "smtp_554@rcpt", []string{"refuses the recipient"}},
	} {
		f := newFake(t, c.speaks)
		config := configOf(t, f)
		c.prepare(f, &config)
		f.Start()
		s, _ := newSender(t, config)
		v := send(s)
		if v.Cause.String() != c.cause || v.Permanent != strings.Contains(c.cause, "smtp_55") {
			t.Errorf("%s: %s, want %s\n%s", c.name, terse(v), c.cause, v.Conversation)
		}
		text := Explain(v.Cause, config)
		for _, word := range c.says {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q does not say %q", c.name, text, word)
			}
		}
		if strings.Contains(text, "\n") || !strings.HasSuffix(text, ".") || strings.Contains(text, password) {
			t.Errorf("%s: %q is not one sentence", c.name, text)
		}
	}
}

// The call's own end hides which deadline would have passed. Before the greeting
// the TLS mode is the likely reason; at the dot it is not said that the server
// had the message, because the dot may not have been written.
func TestTheEndOfTheCallIsExplained(t *testing.T) {
	c := Config{Host: "mail.example"}
	for stage, want := range map[string]string{stageBanner: `set the TLS mode to "implicit"`, stageMail: "The call's own time ran out", stageDot: "The call's own time ran out"} {
		if text := Explain(relay.Cause{Code: codeDeadline, Stage: stage}, c); !strings.Contains(text, want) {
			t.Errorf("%s: %q does not say %q", stage, text, want)
		}
	}
}

func TestEveryCauseOfTheTableIsExplained(t *testing.T) {
	for _, row := range verdicts {
		for _, cell := range row {
			if _, cause, ok := strings.Cut(cell, " "); ok {
				code, stage, _ := strings.Cut(cause, "@")
				if text := Explain(relay.Cause{Code: code, Stage: stage}, Config{Host: "mail.example"}); !strings.HasSuffix(text, ".") {
					t.Errorf("%s: %q", cause, text)
				}
			}
		}
	}
}

func TestAConfigurationThatCannotWork(t *testing.T) {
	good := Config{Host: "mail.example", Username: "u", Password: "p"}
	for name, spoil := range map[string]func(*Config){
		"no host":                   func(c *Config) { c.Host = "" },
		"a URL":                     func(c *Config) { c.Host = "unix://tmp" },
		"a mode":                    func(c *Config) { c.TLS = "ssl" },
		"a port":                    func(c *Config) { c.Port = 65536 },
		"a name":                    func(c *Config) { c.HelloName = "a b" },
		"no password":               func(c *Config) { c.Password = "" },
		"no user":                   func(c *Config) { c.Username = "" },
		"a NUL":                     func(c *Config) { c.Password = "a\x00b" },
		"a mechanism":               func(c *Config) { c.Auth = "magic" },
		"a clear password":          func(c *Config) { c.TLS = Plain },
		"a token in the clear":      func(c *Config) { c.TLS, c.Host, c.Auth = Plain, "localhost", "scram-sha-256-plus" },
		"a deadline":                func(c *Config) { c.Deadlines.Dot = -1 },
		"a mechanism and no log-in": func(c *Config) { c.Username, c.Password, c.Auth = "", "", "plain" },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil || strings.Contains(err.Error(), "\n\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for mode, port := range ports() {
		s, err := New(Config{Host: "localhost", TLS: mode, Username: "u", Password: "p"})
		if err != nil || s.config.Port != port {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestTheTotalOfTheDefaults(t *testing.T) {
	total := DefaultDeadlines().Total()
	if want := 347*time.Second + glance; total != want {
		t.Errorf("%s, want %s", total, want)
	}
	if s, err := New(Config{Host: "mail.example", Deadlines: Deadlines{Dot: time.Second}}); err != nil || s.config.Deadlines.Total() != total-119*time.Second {
		t.Errorf("%v", err)
	}
}

func TestALoginInTheClearStaysOnThisMachine(t *testing.T) {
	f := newFake(t, Plain)
	f.Start()
	c := configOf(t, f)
	c.Username, c.Password = user, password
	s, _ := newSender(t, c)
	if v := send(s); terse(v) != "accepted" {
		t.Errorf("%s\n%s", terse(v), v.Conversation)
	}
	c.Host = "192.0.2.1"
	if _, err := New(c); err == nil {
		t.Error("a password for another machine without TLS")
	}
}
