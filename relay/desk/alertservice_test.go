package desk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/relay/desk"
	"formledger/relay/smtp/smtptest"
)

const appToken = "AhushTokenhush1"

// post is a service such as ntfy or gotify, as far as alerts need it.
type post struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request)

	mu    sync.Mutex
	heard []string
}

func newPost(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *post {
	t.Helper()
	p := &post{answer: answer}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.heard = append(p.heard, fmt.Sprintf("%s %s %s\n%s", r.Method, r.URL, r.Header.Get("Title"), body))
	p.mu.Unlock()
	p.answer(w, r)
}

func (p *post) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}

func (p *post) host() string { return strings.TrimPrefix(p.URL, "http://") }

func takes(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":1,"ok":true}`) }

// services are addresses for all that this machine can play.
func services(host string) map[string]string {
	return map[string]string{
		"ntfy":       "ntfy://" + host + "/hush?scheme=http",
		"gotify":     "gotify://" + host + "/" + appToken + "?disabletls=yes",
		"mattermost": "mattermost://" + host + "/hushtoken?disabletls=yes",
		"telegram":   "telegram://123456789:" + strings.Repeat("hush", 9) + "@telegram?chats=7",
	}
}

func newService(t *testing.T, host, name string) desk.Channel {
	t.Helper()
	address := services(host)[name]
	if name == "telegram" {
		c, err := desk.TelegramAt("http://"+host, address)
		must(t, err)
		return c
	}
	c, err := desk.NewService(address)
	must(t, err)
	return c
}

func eachService(t *testing.T, try func(t *testing.T, name string)) {
	for name := range services("") {
		t.Run(name, func(t *testing.T) { try(t, name) })
	}
}

func TestServicesTakeAlerts(t *testing.T) {
	eachService(t, func(t *testing.T, name string) {
		p := newPost(t, takes)
		c := newService(t, p.host(), name)
		second := stopped
		second.Count = 2
		must(t, errors.Join(c.Raise(context.Background(), stopped), c.Raise(context.Background(), second)))
		got := p.got()
		if len(got) != 2 || c.Name() != name {
			t.Fatalf("%s: %v", c.Name(), got)
		}
		for i, title := range []string{"1 reference needs you", "2 references need you"} {
			if !strings.HasPrefix(got[i], "POST ") || !strings.Contains(got[i], "YYH9-FP7R-Y5A9, form contact") || !strings.Contains(got[i], title) {
				t.Errorf("%s", got[i])
			}
		}
	})
}

// Whatever a service answers, an alert that it did not take is none, and why holds
// no secret and nothing that it said.
func TestServicesThatDoNotTakeAlerts(t *testing.T) {
	answers := func(status int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"ok":true,"error":"hush"}`)
		}
	}
	eachService(t, func(t *testing.T, name string) {
		for _, status := range []int{302, 307, 401, 429, 500, 502} {
			p := newPost(t, answers(status))
			fails(t, newService(t, p.host(), name), "alert_refused", fmt.Sprintf("answered %d", status))
			if n := len(p.got()); n != 1 {
				t.Errorf("%d: %d requests", status, n)
			}
		}
		p := newPost(t, takes)
		p.Close()
		fails(t, newService(t, p.host(), name), "connect_refused", "could not be reached")
		fails(t, newService(t, "hush.invalid", name), "dns", "could not be reached")
	})
}

func fails(t *testing.T, c desk.Channel, code, why string) {
	t.Helper()
	err := c.Raise(context.Background(), stopped)
	known, ok := errors.AsType[*desk.AlertError](err)
	if !ok || known.Code != code || !strings.Contains(known.Why, why) || strings.Contains(err.Error(), "hush") {
		t.Errorf("%#v", err)
	}
}

// A service that hangs is given up, and one that has left several hanging is not
// tried for a while.
func TestAServiceThatHangs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var open sync.WaitGroup
	end := make(chan struct{})
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { <-end; conn.Close() })
		}
	})
	defer open.Wait()
	defer listener.Close()
	mail, err := desk.NewService("smtp://" + listener.Addr().String() + "/?from=form@shop.example&to=owner@shop.example")
	must(t, err)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if err := mail.Raise(ctx, stopped); err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("%v", err)
		}
		cancel()
	}
	fails(t, mail, "alert_busy", "earlier alerts hanging")
	close(end)
	eventually(t, func() error {
		if known, _ := errors.AsType[*desk.AlertError](mail.Raise(context.Background(), stopped)); known == nil || known.Code == "alert_busy" {
			return fmt.Errorf("still hanging: %v", known)
		}
		return nil
	})
}

func mailTo(s *smtptest.Server, more string) string {
	return fmt.Sprintf("smtp://%s/?from=form@shop.example&to=owner@shop.example%s", s.Address(), more)
}

func TestAlertsByMail(t *testing.T) {
	s := smtptest.New(t, smtptest.Plain)
	s.Start()
	mail, err := desk.NewService(mailTo(s, "&starttls=no"))
	must(t, err)
	must(t, mail.Raise(context.Background(), stopped))
	mails := s.Mails()
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, line := range []string{"Subject: 1 reference needs you\r\n", "To: owner@shop.example\r\n", "YYH9-FP7R-Y5A9, form contact: sending has stopped", "https://desk.example.com/r/YYH9-FP7R-Y5A9"} {
		if !strings.Contains(mails[0], line) {
			t.Errorf("%q is not in\n%s", line, mails[0])
		}
	}
	s.Ends(smtptest.Rcpt, "5xx")
	fails(t, mail, "alert_refused", "the mail server answered 550")
	s.Ends("", "")
	plain, err := desk.NewService(mailTo(s, "")) // which wants TLS, and there is none
	must(t, err)
	fails(t, plain, "not_tls", "offers no TLS; starttls=no")
	s.Refuse()
	fails(t, mail, "connect_refused", "could not be reached")
}

func TestServicesThatCannotWork(t *testing.T) {
	for address, says := range map[string]string{
		"discord://token@id":                     `no service "discord"; there are googlechat, gotify,`,
		"logger://":                              `no service "logger"`,
		"hush":                                   `no service ""`,
		"ntfy://h:p@ntfy.sh":                     "the address of the service ntfy is not as",
		"telegram://hush@telegram?chats=1":       "names no chats",
		"telegram://1:hush@telegram":             "names no chats",
		"telegram://telegram?chats=1":            "is not like",
		"smtp://mail.example.com/?from=a@hush.x": "the address of the service smtp is not as",
		"::hush":                                 `no service ""`,
	} {
		if c, err := desk.NewService(address); err == nil || c != nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, plain := range map[string]bool{
		"ntfy://ntfy.sh/t": false, "ntfy://h/t?scheme=http": true, "gotify://h/t?disabletls=yes": true, "gotify://h/t?DisableTLS=No": false,
		"smtp://h/?from=a&to=b": false, "smtp://h/?starttls=no": true, "smtp://h/?encryption=None": true, "smtp://h/?usestarttls=yes": false,
	} {
		if got := desk.PlainService(address); got != plain {
			t.Errorf("%s is plain: %v", address, got)
		}
	}
}
