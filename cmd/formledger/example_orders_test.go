//go:build linux

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

const (
	exampleFolder = topLevel + "/docs/examples/order-delivery"
	exampleLink   = "https://shop.example.com/d/ord_5Jb2kQ/field-recordings-2.zip"
)

// newOrders is a copy of the example, with the secrets that its README makes.
func newOrders(t *testing.T) *site {
	t.Helper()
	for _, tool := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			untested(t, fmt.Sprintf("NOT TESTED: the example of a shop: %v; make deps installs it", err))
		}
	}
	dir := filepath.Join(t.TempDir(), "order-delivery")
	must(t, os.CopyFS(dir, os.DirFS(exampleFolder)))
	s := &site{t: t, dir: dir, config: filepath.Join(dir, "formledger.toml"), data: filepath.Join(dir, "formledger-data")}
	for line := range strings.Lines(s.exampleText("README.md")) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok && strings.Contains(command, "openssl") {
			s.runs("sh", "-c", command)
		}
	}
	return s
}

func untested(t *testing.T, said string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(said)
	}
	t.Skip(said)
}

func (s *site) exampleText(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.t, err)
	return string(text)
}

// runs a program in the example's folder, and returns what it prints.
func (s *site) runs(name string, args ...string) string {
	s.t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), "NO_PROXY=127.0.0.1")
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// orderAnswer is what the example's script prints of the server's answer.
type orderAnswer struct {
	Outcome, Reference string
	status             string
}

// reports an order by the example's script. changes turn the sample into another
// webhook; none is the sample itself.
func (s *site) reports(p *process, changes ...string) (a orderAnswer) {
	s.t.Helper()
	args := []string{p.base + "/hooks/orders"}
	if len(changes) > 0 {
		other := strings.NewReplacer(changes...).Replace(s.exampleText("paid.json"))
		must(s.t, os.WriteFile(filepath.Join(s.dir, "other.json"), []byte(other), 0o600))
		args = append(args, "other.json")
	}
	said, status, _ := strings.Cut(strings.TrimSpace(s.runs(filepath.Join(s.dir, "send-paid.sh"), args...)), "\n")
	must(s.t, json.Unmarshal([]byte(said), &a))
	a.status = status
	return a
}

func (a orderAnswer) is(t *testing.T, status int, outcome string) {
	t.Helper()
	if a.status != fmt.Sprint(status) || a.Outcome != outcome || a.Reference == "" {
		t.Errorf("got %+v, want %d %s", a, status, outcome)
	}
}

// The example's files as they stand, and what its README says of them.
func TestTheExampleOfAShop(t *testing.T) {
	t.Parallel()
	s := newOrders(t)
	s.command("config", "check").check(t, exitDone, "orders")
	p := s.start("")
	first := s.reports(p)
	first.is(t, http.StatusOK, "accepted")
	s.reports(p).is(t, http.StatusOK, "accepted")
	s.reports(p, "evt_1001", "evt_1002", "order.paid", "order.completed").is(t, http.StatusOK, "accepted")
	s.wantMails(1)
	for _, want := range []string{"To: <grace@example.org>", "Hello Grace Hopper,", exampleLink, "FR2-7741-9035", "[" + first.Reference + "]"} {
		if !strings.Contains(s.mails()[0], want) {
			t.Errorf("%q is not in the mail:\n%s", want, s.mails()[0])
		}
	}
	s.needsNobody()
	s.reports(p, "grace@", "mallory@").is(t, http.StatusConflict, "conflict")
	s.wantMails(1)
	s.needs(first.Reference, ledger.NeedsDisputed)
	s.neverCommitted()
}

// neverCommitted fails if git would take a secret of the example's.
func (s *site) neverCommitted() {
	s.t.Helper()
	for _, ignored := range []string{"*.secret", "formledger-data/"} {
		if !strings.Contains(s.exampleText(".gitignore"), ignored+"\n") {
			s.t.Errorf("git does not ignore %s", ignored)
		}
	}
	if found, err := filepath.Glob(exampleFolder + "/*.secret"); err != nil || len(found) > 0 && os.Getenv("CI") != "" {
		s.t.Errorf("secrets stand beside the example: %v, %v", found, err)
	}
}

// unhurriedCalls are deadlines that no call reaches, on a loaded machine either.
const unhurriedCalls = "[timing]\nanswer = \"9s\"\ncall = \"12s\"\nsettle = \"4s\"\nlease = \"40s\"\nsweep = \"50ms\"\n"

// hurry changes the example's configuration: it sends through a mail server, tries
// again soon, stops soon, and alerts the receiver.
func (s *site) hurry(server *smtptest.Server, receiver string) {
	s.t.Helper()
	s.server = server
	host, _, err := net.SplitHostPort(server.Address())
	must(s.t, err)
	text := strings.NewReplacer(
		`"10m"`, `"200ms"`, "attempts = 8", "attempts = 3\nlease = \"30s\"", "http://127.0.0.1:9000/alerts", receiver,
		"[alert]", fmt.Sprintf("[smtp]\nhost = %q\nport = %d\ntls = \"none\"\n%s\n[alert]", host, server.Port(), unhurriedCalls),
	).Replace(s.exampleText("formledger.toml"))
	must(s.t, os.WriteFile(s.config, []byte(text), 0o600))
}

// alerted is a receiver of alerts that checks their signatures.
type alerted struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	faults []error
}

func newAlerted(t *testing.T, secret string) *alerted {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(secret))
	must(t, err)
	hook, err := standardwebhooks.NewWebhookRaw(key)
	must(t, err)
	a := &alerted{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.bodies, a.faults = append(a.bodies, string(body)), append(a.faults, errors.Join(err, hook.Verify(body, r.Header)))
	}))
	t.Cleanup(a.Close)
	return a
}

// tells waits for the one alert, and fails unless it says all texts.
func (a *alerted) tells(t *testing.T, texts ...string) {
	t.Helper()
	eventually(t, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.bodies) == 0 {
			return errors.New("no alert has come")
		}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range texts {
		if len(a.bodies) != 1 || errors.Join(a.faults...) != nil || !strings.Contains(a.bodies[0], text) {
			t.Errorf("%q is not in the one alert: %v, %v", text, a.bodies, a.faults)
		}
	}
	if strings.Contains(a.bodies[0], "grace") || strings.Contains(a.bodies[0], "shop.example.com/d/") {
		t.Errorf("the alert tells of the order: %s", a.bodies[0])
	}
}

// The mail server is not there: the sweep sends the order once it is.
func TestTheExamplesSweepDelivers(t *testing.T) {
	t.Parallel()
	s, gone := newOrders(t), smtptest.At(t, smtptest.Plain, "127.0.0.2:0")
	gone.Refuse()
	s.hurry(gone, "http://127.0.0.1:9/alerts")
	p := s.start("")
	s.reports(p).is(t, http.StatusServiceUnavailable, "queued")
	s.server = smtptest.At(t, smtptest.Plain, gone.Address())
	s.server.Start()
	eventually(t, func() error {
		if len(s.mails()) == 0 {
			return errors.New("no mail has come")
		}
		return nil
	})
	s.isDelivered(p)
	s.needsNobody()
}

// isDelivered waits until the provider is told that all is well, and looks at the
// one mail.
func (s *site) isDelivered(p *process) {
	s.t.Helper()
	eventually(s.t, func() error {
		if a := s.reports(p); a.status != "200" {
			return fmt.Errorf("the provider is told %+v", a)
		}
		return nil
	})
	s.wantMails(1)
	if !strings.Contains(s.mails()[0], exampleLink) {
		s.t.Errorf("the link is not in the mail:\n%s", s.mails()[0])
	}
}

// It refuses, again and again: at the cap there is an alert, and one attempt more is the
// operator's to allow.
func TestTheExampleAlertsAtTheCap(t *testing.T) {
	t.Parallel()
	s, server := newOrders(t), smtptest.New(t, smtptest.Plain)
	server.Ends(smtptest.Rcpt, "4xx")
	server.Start()
	receiver := newAlerted(t, s.exampleText("alert.secret"))
	s.hurry(server, receiver.URL)
	p := s.start("")
	ref := s.reports(p).Reference
	receiver.tells(t, `"reference":"`+ref+`"`, `"needs":"stopped"`, `"form":"orders"`, "smtp_451@rcpt")
	s.reports(p).is(t, http.StatusBadGateway, "not_sent")
	s.wantMails(0)
	s.needs(ref, ledger.NeedsStopped)
	server.Ends("", "")
	s.command("resolve", ref, "--send-again", "--note", "the mail server works").check(t, exitDone, "failures")
	s.isDelivered(p)
}
