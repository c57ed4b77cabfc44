package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp"
	"formledger/relay/smtp/smtptest"
)

// smtpForm is twoForms with a mail server, whose table begins on line 4.
func smtpForm(settings ...string) string {
	table := "[smtp]\nhost = \"smtp.example.com\"\n" + strings.Join(settings, "\n") + "\n\n"
	return strings.Replace(twoForms, "[timing]", table+"[timing]", 1)
}

func TestAFaultyMailServerNamesItsLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		line int
		says string
	}{
		"unknown key":        {smtpForm(`user = "website"`), 6, `there is no setting "smtp.user"`},
		"a password in it":   {smtpForm(`password = "x"`), 6, `there is no setting "smtp.password"`},
		"no such mode":       {smtpForm(`tls = "ssl"`), 4, `TLS mode "ssl": want starttls, implicit or none`},
		"no such port":       {smtpForm(`port = 70000`), 4, "port 70000: want 1 to 65535"},
		"a port in words":    {smtpForm(`port = "587"`), 6, "port"},
		"no such mechanism":  {smtpForm(`username = "u"`, `auth = "magic"`), 4, `mechanism "magic"`},
		"a mechanism alone":  {smtpForm(`auth = "PLAIN"`), 4, "needs a user name and a password"},
		"a clear password":   {smtpForm(`username = "u"`, `tls = "none"`), 4, "only for a server on this machine"},
		"a name with blanks": {smtpForm(`hello = "a b"`), 4, `EHLO name "a b"`},
		"no host":            {strings.Replace(smtpForm(), `host = "smtp.example.com"`, "", 1), 4, `host ""`},
		"a URL for a host":   {strings.Replace(smtpForm(), "smtp.example.com", "smtp://example.com", 1), 4, "want a name or an IP address"},
		"the dotted form":    {"smtp.host = \"a\"\nsmtp.tls = \"ssl\"\n" + twoForms, 1, "TLS mode"},
	} {
		for _, args := range [][]string{{"config", "check"}, {"serve", "--data", t.TempDir()}} {
			r := command(nil, append(args, "--config", written(t, c.text))...)
			complaint := regexp.MustCompile(fmt.Sprintf(`line %d\b.*%s`, c.line, regexp.QuoteMeta(c.says)))
			if r.code != exitFailed || !complaint.MatchString(r.err) {
				t.Errorf("%s: exit code %d, want %d, line %d and %q:\n%s", name, r.code, exitFailed, c.line, c.says, r.err)
			}
		}
	}
}

// secretFile writes a secret that only its owner may read, unless the mode says
// otherwise.
func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte(text), mode))
	return file
}

func TestWhereThePasswordComesFrom(t *testing.T) {
	t.Parallel()
	user, file, other := `username = "u"`, secretFile(t, "of file\n", 0o600), secretFile(t, "of other file\r\n", 0o600)
	inFile := fmt.Sprintf("password_file = %q", file)
	for name, c := range map[string]struct {
		settings []string
		environ  []string
		want     string
		says     string // instead of a password
	}{
		"the file":                        {[]string{user, inFile}, nil, "of file", ""},
		"a variable":                      {[]string{user}, []string{"FORMLEDGER_SMTP_PASSWORD=of variable"}, "of variable", ""},
		"a variable before the file":      {[]string{user, inFile}, []string{"FORMLEDGER_SMTP_PASSWORD=of variable"}, "of variable", ""},
		"a variable's file":               {[]string{user}, []string{"FORMLEDGER_SMTP_PASSWORD_FILE=" + other}, "of other file", ""},
		"a variable's file before it":     {[]string{user, inFile}, []string{"FORMLEDGER_SMTP_PASSWORD_FILE=" + other}, "of other file", ""},
		"both variables":                  {[]string{user}, []string{"FORMLEDGER_SMTP_PASSWORD=a", "FORMLEDGER_SMTP_PASSWORD_FILE=b"}, "", "both FORMLEDGER_SMTP_PASSWORD and FORMLEDGER_SMTP_PASSWORD_FILE are set; please set one"},
		"none":                            {[]string{user}, nil, "", "a username and no password: name its file as password_file, or set FORMLEDGER_SMTP_PASSWORD"},
		"an empty file":                   {[]string{user, fmt.Sprintf("password_file = %q", secretFile(t, "\n", 0o600))}, nil, "", "a username and no password"},
		"no username":                     {[]string{inFile}, nil, "", "user name and password: want both or neither"},
		"a file that others can read":     {[]string{user, fmt.Sprintf("password_file = %q", secretFile(t, "x", 0o644))}, nil, "", "can be read by others (mode 0644); please run: chmod 600 "},
		"a file that is not there":        {[]string{user, `password_file = "missing"`}, nil, "", "the mail server's password: stat "},
		"a file of two lines":             {[]string{user, fmt.Sprintf("password_file = %q", secretFile(t, "a\nb\n", 0o600))}, nil, "", "holds a control character"},
		"an authority that is missing":    {[]string{`ca_file = "missing.pem"`}, nil, "", "ca_file: open "},
		"an authority that is not PEM":    {[]string{fmt.Sprintf("ca_file = %q", file)}, nil, "", "holds no certificate in PEM form"},
		"no login, and its own authority": {[]string{fmt.Sprintf("ca_file = %q", secretFile(t, string(smtptest.PKI(t).PEM), 0o644))}, nil, "", ""},
	} {
		config := written(t, smtpForm(c.settings...))
		r := command(c.environ, "config", "check", "--config", config)
		if (r.code == exitDone) != (c.says == "") || !strings.Contains(r.err, c.says) || strings.Contains(r.out+r.err, "of file") {
			t.Errorf("%s: exit code %d, want %q:\n%s", name, r.code, c.says, r.err)
		}
		if c.says == "" {
			loaded, err := load(places{config: config}, "", c.environ)
			must(t, err)
			server, err := loaded.smtpServer()
			must(t, err)
			if server.Password != c.want || (server.RootCAs != nil) != strings.HasPrefix(c.settings[0], "ca_file") {
				t.Errorf("%s: the password is %q, want %q", name, server.Password, c.want)
			}
		}
		serve := command(c.environ, "serve", "--config", config, "--data", filepath.Join(t.TempDir(), "data"), "--listen", "nowhere")
		serve.check(t, exitFailed, firstOf(c.says, "cannot listen on nowhere"))
	}
}

// Whoever only looks at the ledger needs no password.
func TestTheDeskNeedsNoPassword(t *testing.T) {
	t.Parallel()
	file, data := written(t, smtpForm(`username = "u"`)), t.TempDir()
	command(nil, "list", "--config", file, "--data", data).check(t, exitFailed, "there is no ledger at")
}

// With a mail server the deadlines that the file leaves out are long enough for
// its conversation, and the lease outlasts them.
func TestTheDeadlinesStretchToTheMailServer(t *testing.T) {
	t.Parallel()
	timing := func(text string) relay.Timing {
		t.Helper()
		s, err := parse("a file", text)
		must(t, err)
		must(t, s.Timing.Check())
		return s.Timing
	}
	plain, through := timing(twoForms), timing(smtpForm())
	total := smtp.DefaultDeadlines().Total()
	if through.Call != total || through.Lease <= through.Answer+through.Call+through.Settle || plain.Call >= total {
		t.Errorf("without a mail server %+v, with one %+v, whose conversation may take %s", plain, through, total)
	}
	through.Call, through.Lease = plain.Call, plain.Lease
	if through != plain || plain.Sweep != time.Second {
		t.Errorf("more than call and lease differ: %+v, %+v", plain, through)
	}
	set := timing(strings.Replace(smtpForm(), "[timing]", "[timing]\ncall = \"20s\"", 1))
	if set.Call != 20*time.Second {
		t.Errorf("call is set to 20s: %+v", set)
	}
	_, err := parse("a file", strings.Replace(smtpForm(), "[timing]", "[timing]\nlease = \"2m\"", 1))
	if err == nil || !strings.Contains(err.Error(), "line 8: timing: lease is 2m0s; it has to be longer") {
		t.Errorf("a lease that is too short for the conversation: %v", err)
	}
}

// The example's mail server is well-formed, and shows what the usual one needs.
func TestTheExampleOfAMailServer(t *testing.T) {
	t.Parallel()
	text := command(nil, "config", "example").out
	for _, line := range []string{"[smtp]", "host = ", "tls = ", "username = ", "password_file = "} {
		set := strings.Replace(text, "# "+line, line, 1)
		if set == text {
			t.Errorf("the example does not show %s", line)
		}
		text = set
	}
	file := written(t, text)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(file), "smtp-password"), []byte("x\n"), 0o600))
	command(nil, "config", "check", "--config", file).check(t, exitDone, "The configuration is fine")
	c, err := load(places{config: file}, "", nil)
	must(t, err)
	if c.SMTP.TLS != string(smtp.StartTLS) || c.SMTP.password != "x" || c.mailGoes() != "through the mail server smtp.example.com" {
		t.Errorf("%+v", c.SMTP)
	}
}

// The page about mail servers has a row for every setting, and no other.
func TestThePageTellsEverySetting(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/smtp.md")
	must(t, err)
	_, table, _ := strings.Cut(string(page), "| setting | means | if left out |\n|---|---|---|\n")
	table, _, found := strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("no table of the settings")
	}
	var told []string
	for row := range strings.Lines(table) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			told = append(told, name[1])
		}
	}
	var taken []string
	for f := range reflect.TypeFor[smtpSettings]().Fields() {
		if tag := f.Tag.Get("toml"); tag != "" {
			taken = append(taken, tag)
		}
	}
	if !slices.Equal(told, taken) {
		t.Errorf("the page tells %v, the configuration takes %v", told, taken)
	}
}
