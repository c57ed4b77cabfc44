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

var stopped = desk.Alert{Reference: "YYH9-FP7R-Y5A9", Form: "contact", Needs: "stopped", Cause: "for_good:smtp_550@rcpt", At: time.Unix(1_800_000_000, 0)}

func newHook(t *testing.T, url string) *desk.Webhook {
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
	var body struct {
		Type, Timestamp string
		Data            map[string]string
	}
	must(t, json.Unmarshal([]byte(r.got()[0]), &body))
	if body.Type != "formledger.needs_somebody" || body.Timestamp != "2027-01-15T08:00:00Z" || len(body.Data) != 4 ||
		body.Data["reference"] != stopped.Reference || body.Data["form"] != "contact" || body.Data["needs"] != "stopped" || body.Data["cause"] != stopped.Cause {
		t.Errorf("%s", r.got()[0])
	}
	if r.ids[0] != r.ids[1] || !strings.Contains(r.ids[0], stopped.Reference) {
		t.Errorf("the same alert came as %v", r.ids)
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
