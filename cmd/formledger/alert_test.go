//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"formledger/relay/smtp/smtptest"
)

// alerting writes the table [alert], and the addresses of its services.
func (s *site) alerting(lines string, services ...string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.dir, "alert-secret"), []byte("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=\n"), 0o600))
	must(s.t, os.WriteFile(filepath.Join(s.dir, "alert-services"), []byte("# one a line\n\n"+strings.Join(services, "\n")+"\n"), 0o600))
	s.form = "\n[alert]\n" + lines + contactForm
	s.configure(patient)
}

func TestTheChannelsOfAlerts(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	secret, services := filepath.Join(s.dir, "alert-secret"), filepath.Join(s.dir, "alert-services")
	line := func() finding { return about(t, s.diagnosis(fakeDNS(nil)), "alert") }
	line().says(t, "warn", "nobody is told when a reference needs you", "services_file", "queue every day")
	s.alerting("url = \"https://alerts.example.com/hush\"\nsecret_file = \"alert-secret\"\nservices_file = \"alert-services\"\n", "ntfy://ntfy.sh/hush", "smtp://mail.shop.example/?from=a@shop.example&to=b@shop.example")
	s.command("config", "check").check(t, exitDone)
	found := line()
	found.says(t, "ok", "goes to alerts.example.com, signed; ntfy; smtp; it holds no word", "formledger alert test")
	if strings.Contains(found.Detail, "hush") {
		t.Errorf("the address is told: %+v", found)
	}
	s.alerting("url = \"http://alerts.example.com\"\nsecret_file = \"alert-secret\"\n")
	line().says(t, "warn", "alerts.example.com without https")
	s.alerting("services_file = \"alert-services\"\n", "ntfy://push.shop.example/hush?scheme=http")
	line().says(t, "warn", "it goes to ntfy without TLS")
	s.alerting("services_file = \"alert-services\"\n", "ntfy://push.shop.example/hush", "carrier-pigeon://hush")
	for _, r := range []result{s.command("config", "check"), s.command("serve"), s.command("alert", "test")} {
		r.check(t, exitFailed, `number 2 of the alert's services: alert: there is no service "carrier-pigeon"; there are googlechat`)
		if strings.Contains(r.err, "hush") {
			t.Errorf("the address is told: %s", r.err)
		}
	}
	s.alerting("url = \"https://alerts.example.com\"\n")
	s.command("config", "check").check(t, exitFailed, "[alert] has no secret", "FORMLEDGER_ALERT_SECRET")
	line().says(t, "fail", "[alert] has no secret")
	s.environ = []string{"FORMLEDGER_ALERT_SECRET=short"}
	s.command("config", "check").check(t, exitFailed, "base64 of 24 bytes or more")
	s.environ = []string{"FORMLEDGER_ALERT_SECRET_FILE=" + secret, "FORMLEDGER_ALERT_SERVICES_FILE=" + services}
	s.command("config", "check").check(t, exitDone)
	for file, what := range map[string]string{secret: "the alert's secret in ", services: "the addresses of the alert's services in "} {
		must(t, os.Chmod(file, 0o644))
		s.command("config", "check").check(t, exitFailed, what+file+" can be read by others")
		must(t, os.Chmod(file, 0o600))
	}
}

// A mail server that fails cannot tell that it does.
func TestTheDoctorOfAlertsThroughTheFormsMailServer(t *testing.T) {
	t.Parallel()
	s := newMailSite(t, patient, smtptest.New(t, smtptest.Plain))
	s.server.Start()
	mail := "FORMLEDGER_ALERT_SERVICES=smtp://127.0.0.1:2525/?from=a@shop.example&to=b@shop.example"
	s.environ = []string{mail}
	about(t, s.diagnosis(fakeDNS(nil)), "alert").says(t, "warn", "only through 127.0.0.1, the mail server of the forms", "no mail, or another")
	for _, other := range []string{"\nntfy://ntfy.sh/hush", "\nsmtp://mail.shop.example/?from=a@shop.example&to=b@shop.example"} {
		s.environ = []string{mail + other}
		about(t, s.diagnosis(fakeDNS(nil)), "alert").says(t, "ok", "goes to smtp; ")
	}
}

func TestTryingTheAlerts(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	push := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hook" && !strings.HasPrefix(r.Header.Get("webhook-id"), "alert_test_") {
			t.Errorf("%v", r.Header)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(push.Close)
	mail := smtptest.New(t, smtptest.Plain)
	mail.Start()
	s := newSite(t, patient)
	s.command("alert", "test").check(t, exitFailed, "nobody is told")
	s.alerting(fmt.Sprintf("url = \"%s/hook\"\nsecret_file = \"alert-secret\"\nservices_file = \"alert-services\"\n", push.URL),
		"ntfy://"+strings.TrimPrefix(push.URL, "http://")+"/hush?scheme=http",
		"smtp://"+mail.Address()+"/?from=a@shop.example&to=b@shop.example&starttls=no")
	s.command("alert", "test").check(t, exitDone, "webhook     took the message\n", "ntfy        took the message\n", "smtp        took the message\n")
	if mails := mail.Mails(); len(mails) != 1 || !strings.Contains(mails[0], "Subject: This is a test of formledger's alerts") {
		t.Errorf("%q", mails)
	}
	status = http.StatusBadGateway
	r := s.command("alert", "test")
	r.check(t, exitFailed, "webhook     failed: the receiver answered 502 (alert_refused)\n", "ntfy        failed: the receiver answered 502 (alert_refused)\n",
		"smtp        took the message\n", "2 of 3 channels failed")
	if exists(s.ledgerFile()) || strings.Contains(r.out+r.err, "hush") {
		t.Errorf("%s%s", r.out, r.err)
	}
	s.command("alert").check(t, exitDone, "Send a test message")
	s.command("alert", "test", "x").check(t, exitUsage)
}

func TestSettingsOfAlerts(t *testing.T) {
	t.Parallel()
	of := func(text string, environ ...string) config {
		t.Helper()
		c, err := load(places{config: written(t, text+twoForms[strings.Index(twoForms, "[timing]"):])}, "", environ)
		must(t, err)
		return c
	}
	plain := of("")
	w, err := plain.watcher(nil, nil)
	if must(t, err); plain.Alert != nil || w.Gather != 2*time.Minute || w.Older != 4*time.Hour || len(w.Channels) != 0 || w.Holder.IsZero() {
		t.Errorf("%+v", w)
	}
	w, err = of("[alert]\ngather = \"30s\"\nolder = \"1h\"\n[console]\nurl = \"https://desk.example.com/forms/\"\n", "FORMLEDGER_ALERT_SERVICES=ntfy://a/b\n# no\n\n ntfy://c/d").watcher(nil, nil)
	if must(t, err); w.Gather != 30*time.Second || w.Older != time.Hour || len(w.Channels) != 2 || w.Console != "https://desk.example.com/forms" {
		t.Errorf("%+v", w)
	}
	w, err = of("", "FORMLEDGER_ALERT_SERVICES=ntfy://a/b ntfy://c/d").watcher(nil, nil)
	if must(t, err); w.Gather != 2*time.Minute || w.Older != 4*time.Hour || len(w.Channels) != 2 {
		t.Errorf("%+v", w)
	}
}
