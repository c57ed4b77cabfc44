package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger"
	"formledger/relay/desk"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// receiver takes alerts, and checks them as their reader would.
type receiver struct {
	*httptest.Server
	t      *testing.T
	status int

	mu     sync.Mutex
	bodies []string
	ids    []string
}

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	r := &receiver{t: t, status: status}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	hook, _ := standardwebhooks.NewWebhook(hookSecret)
	if err = errors.Join(err, hook.Verify(body, q.Header)); err != nil || q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" {
		r.t.Errorf("%s with %v: %v", q.Method, q.Header, err)
	}
	r.mu.Lock()
	r.bodies, r.ids = append(r.bodies, string(body)), append(r.ids, q.Header.Get("webhook-id"))
	r.mu.Unlock()
	if r.status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte("what it says is of no interest"))
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies
}

// posted is what a receiver reads.
type posted struct {
	Type      string
	Timestamp time.Time
	Data      struct {
		References []postedReference
		Count      int
		Oldest     *time.Time
		Relay      *struct {
			FailingSince time.Time `json:"failing_since"`
			Cause        string
		}
	}
}

type postedReference struct {
	Reference, Form, Needs, Cause, Link string
	Since                               time.Time
}

// last reads the newest of so many alerts.
func (r *receiver) last(count int) posted {
	r.t.Helper()
	var p posted
	all := r.got()
	if len(all) != count {
		r.t.Fatalf("%d alerts, want %d: %v", len(all), count, all)
	}
	must(r.t, json.Unmarshal([]byte(all[len(all)-1]), &p))
	return p
}

var stopped = desk.Alert{
	ID: "alert_1", Kind: desk.NeedsSomebody, At: time.Unix(1_800_000_000, 0), Count: 1, Oldest: time.Unix(1_799_999_900, 0),
	References: []desk.AlertReference{{Reference: "YYH9-FP7R-Y5A9", Form: "contact", Needs: ledger.NeedsStopped, Cause: "for_good:smtp_550@rcpt",
		Since: time.Unix(1_799_999_900, 0), Link: "https://desk.example.com/r/YYH9-FP7R-Y5A9"}},
}

func newHook(t *testing.T, url string) desk.Channel {
	t.Helper()
	hook, err := desk.NewWebhook(url, hookSecret)
	must(t, err)
	return hook
}

func TestAnAlertIsSignedAndHoldsWhatIsNeeded(t *testing.T) {
	r := newReceiver(t, http.StatusNoContent)
	hook := newHook(t, r.URL+"/alerts?team=ops")
	must(t, hook.Raise(context.Background(), stopped))
	must(t, hook.Raise(context.Background(), stopped))
	want := `{"type":"formledger.needs_somebody","timestamp":"2027-01-15T08:00:00Z","data":{"references":[{"reference":"YYH9-FP7R-Y5A9","form":"contact",` +
		`"needs":"stopped","cause":"for_good:smtp_550@rcpt","since":"2027-01-15T07:58:20Z","link":"https://desk.example.com/r/YYH9-FP7R-Y5A9"}],` +
		`"count":1,"oldest":"2027-01-15T07:58:20Z"}}`
	if got := r.got()[0]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.ids[0] != "alert_1" || r.ids[0] != r.ids[1] {
		t.Errorf("the same alert came as %v", r.ids)
	}
	failing := desk.Alert{ID: "x", Kind: desk.RelayFailing, At: time.Unix(1_800_000_000, 0), Relay: ledger.RelayState{FailingSince: time.Unix(1_799_999_000, 0), Cause: "dns@connect"}}
	must(t, hook.Raise(context.Background(), failing))
	want = `{"type":"formledger.relay_failing","timestamp":"2027-01-15T08:00:00Z","data":{"references":[],"count":0,"oldest":null,"relay":{"failing_since":"2027-01-15T07:43:20Z","cause":"dns@connect"}}}`
	if got := r.got()[2]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOnlyA2xxIsAnAlert(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusForbidden, http.StatusInternalServerError} {
		r := newReceiver(t, status)
		err := newHook(t, r.URL+"/?token=hush").Raise(context.Background(), stopped)
		if known, ok := errors.AsType[*desk.AlertError](err); !ok || known.Code != "alert_refused" || !strings.Contains(known.Why, "answered ") {
			t.Errorf("%d: %v", status, err)
		}
		if n := len(r.got()); n != 1 {
			t.Errorf("%d: %d requests", status, n)
		}
	}
}

func TestWhyAnAlertDidNotArriveHoldsNoSecret(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	for url, code := range map[string]string{
		"http://" + listener.Addr().String() + "/hush": "connect_refused",
		"http://hush.invalid/hush":                     "dns",
		"https://127.0.0.1:1/hush":                     "connect_refused",
	} {
		err := newHook(t, url).Raise(context.Background(), stopped)
		if known, ok := errors.AsType[*desk.AlertError](err); !ok || known.Code != code {
			t.Errorf("%s: %#v", url, err)
		}
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("the address is in %q", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	r := newReceiver(t, http.StatusOK)
	<-ctx.Done()
	if err := newHook(t, r.URL).Raise(ctx, stopped); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("an end of patience: %v", err)
	}
}

// The environment of the process may name a proxy for everything else.
func TestAnAlertGoesThroughNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	r := newReceiver(t, http.StatusOK)
	must(t, newHook(t, r.URL).Raise(context.Background(), stopped))
}

func TestWebhooksThatCannotWork(t *testing.T) {
	for name, c := range map[string][2]string{
		"no scheme": {"alerts.example.com", hookSecret}, "another scheme": {"ftp://alerts.example.com", hookSecret}, "no host": {"https:///x", hookSecret},
		"a user": {"https://u:p@alerts.example.com", hookSecret}, "no secret": {"https://alerts.example.com", ""},
		"no base64": {"https://alerts.example.com", "whsec_!"}, "too short": {"https://alerts.example.com", "aGVsbG8="},
	} {
		if hook, err := desk.NewWebhook(c[0], c[1]); err == nil || hook != nil || c[1] != "" && strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if host := desk.HostOf("https://alerts.example.com/hush"); host != "alerts.example.com" {
		t.Errorf("the host is %q", host)
	}
}

func TestAnAlertInPlainWords(t *testing.T) {
	many := stopped
	many.Count, many.Kind, many.At = 500, desk.StillOpen, many.Oldest.Add(5*time.Hour)
	for range 19 {
		many.References = append(many.References, stopped.References[0])
	}
	one := stopped
	one.Kind = desk.StillOpen
	failing := desk.Alert{Kind: desk.RelayFailing, Relay: ledger.RelayState{FailingSince: stopped.At, Cause: "dns@connect"}}
	for _, c := range []struct {
		a           desk.Alert
		most        int
		title, says string
	}{
		{stopped, 3500, "1 reference needs you", "YYH9-FP7R-Y5A9, form contact: sending has stopped (for_good:smtp_550@rcpt), since 15 Jan 07:58 UTC\nhttps://desk.example.com/r/YYH9-FP7R-Y5A9\n\nformledger queue shows"},
		{one, 3500, "1 reference still needs you; it has waited a minute", "still needs you"},
		{many, 3500, "500 references still need you; the oldest has waited 5 h", "and 480 more\n"},
		{many, 1000, "500 references still need you; the oldest has waited 5 h", "and 495 more\n"},
		{failing, 1000, "The mail system is not reached", "since 15 Jan 08:00 UTC (dns@connect)"},
		{desk.Alert{Kind: desk.RelayRecovered}, 1000, "The mail system is reached again", "reaches the mail system again"},
		{desk.Alert{Kind: desk.TestAlert}, 1000, "This is a test of formledger's alerts", "Nothing has happened"},
	} {
		text := c.a.Text(c.most)
		if c.a.Title() != c.title || !strings.Contains(text, c.says) || len(text) > c.most {
			t.Errorf("%q, %d bytes:\n%s", c.a.Title(), len(text), text)
		}
	}
}
