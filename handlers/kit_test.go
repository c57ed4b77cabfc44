package handlers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/maildir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a whole server on a real ledger and a real Maildir. Only what stands
// between the two can be told to misbehave.
type kit struct {
	t       *testing.T
	server  *Server
	url     string
	client  *http.Client
	ledger  *ledgertest.Faulty
	far     *farEnd
	hold    *relay.Hold
	courier *relay.Courier
	mail    string
	logs    *logBuffer
	clock   *clock

	waiting atomic.Int64 // requests that are being answered
	posts   atomic.Int64 // of enquiries, that have come so far
	weather atomic.Pointer[weather]
}

type options struct {
	timing relay.Timing
	form   enquiry.Definition
	keys   string
	ledger string // a ledger's file to go on with
	public string

	patience relay.Patience
	orders   enquiry.Definition // of a form that takes webhooks; none if it has no name
	template string             // of the orders' mail
}

func contactForm() enquiry.Definition {
	return enquiry.Definition{
		Name: "contact", Title: "Contact us", To: []string{"office@example.com", "boss@example.com"},
		From: "Website <website@example.com>", Subject: "Enquiry", Contact: "Call 030 901820",
		Origins: []string{"https://www.example.com"},
		Fields: []enquiry.Field{
			{Name: "name", Kind: enquiry.Text, Label: "Your name", Rules: "required"},
			{Name: "email", Kind: enquiry.Email, Label: "Your address", Rules: "required"},
			{Name: "services", Kind: enquiry.Multi, Label: "Services", Options: []string{"Advice", "Repair", "Other"}},
			{Name: "message", Kind: enquiry.Textarea, Label: "Message", Rules: "required"},
		},
	}
}

// oneOfEachKind are the kinds that contactForm does not have, on one line each.
var oneOfEachKind = []enquiry.Field{
	{Name: "phone", Kind: enquiry.Tel}, {Name: "site", Kind: enquiry.URL}, {Name: "day", Kind: enquiry.Date},
	{Name: "colour", Kind: enquiry.Select, Options: []string{"blue", "red"}}, {Name: "news", Kind: enquiry.Checkbox},
}

const (
	oneKey   = "k1 use MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"
	otherKey = "k2 verify QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY=\n"
)

func quickTiming() relay.Timing {
	return relay.Timing{Answer: 8 * time.Second, Call: 5 * time.Second, Settle: time.Second,
		Lease: 20 * time.Second, Sweep: time.Hour, Unsent: 15 * time.Minute}
}

func newKit(t *testing.T, change ...func(*options)) *kit {
	t.Helper()
	o := options{timing: quickTiming(), form: contactForm(), keys: oneKey, ledger: filepath.Join(t.TempDir(), "ledger.db"), patience: relay.DefaultPatience()}
	o.patience.Queue.Look = 20 * time.Millisecond
	for _, c := range change {
		c(&o)
	}
	k := &kit{t: t, mail: t.TempDir(), logs: &logBuffer{}, clock: &clock{}}
	k.openLedger(o)
	k.serve(o)
	return k
}

func (k *kit) openLedger(o options) {
	db, err := sqlledger.Open(context.Background(), o.ledger, sqlledger.Options{})
	must(k.t, err)
	k.t.Cleanup(func() { must(k.t, db.Close()) })
	k.ledger = ledgertest.NewFaulty(db)
}

func (k *kit) serve(o options) {
	log := slog.New(slog.NewJSONHandler(k.logs, nil))
	folder, err := maildir.New(k.mail)
	must(k.t, err)
	k.far = &farEnd{Sender: folder}
	form, faults := enquiry.Compile(o.form)
	if len(faults) > 0 {
		k.t.Fatal(faults)
	}
	keys, err := ledger.ParseKeyRing(o.keys)
	must(k.t, err)
	k.hold = relay.NewHold(k.ledger, k.far, o.timing, k.clock.now, rand.Reader, log)
	k.t.Cleanup(k.hold.Close)
	forms, hooks := []*enquiry.Form{form}, k.hooks(o)
	k.courier = k.opens(o, append(forms, formsOf(hooks)...), keys, log)
	_, loopback, _ := net.ParseCIDR("127.0.0.0/8")
	k.server, err = New(Config{Forms: forms, Hooks: hooks, Courier: k.courier, Ledger: k.ledger, Keys: keys, Hold: k.hold, Timing: o.timing,
		PublicURL: o.public, TrustedProxies: []*net.IPNet{loopback}, Now: k.clock.now, Log: log})
	must(k.t, err)
	k.listen()
}

func (k *kit) listen() {
	s := httptest.NewUnstartedServer(nil)
	s.Config = k.server.HTTPServer()
	s.Config.Handler = k.counting(s.Config.Handler)
	s.Start()
	k.t.Cleanup(func() {
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		must(k.t, k.server.Finish(ctx))
	})
	k.url, k.client = s.URL, s.Client()
	k.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// counting counts the requests that are being answered.
func (k *kit) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.waiting.Add(1)
		defer k.waiting.Add(-1)
		if r.Method == http.MethodPost {
			k.posts.Add(1)
		}
		if weather := k.weather.Load(); weather != nil {
			(*weather)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (k *kit) waiters() int { return int(k.waiting.Load()) }

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	text   string
	body   body
}

func (k *kit) do(method, path, contentType, content string, header ...string) reply {
	k.t.Helper()
	r, err := k.try(method, path, contentType, content, header...)
	must(k.t, err)
	if strings.Contains(r.text, "ZgotmplZ") {
		k.t.Errorf("html/template refused a part of the page of %s: %s", path, r.text)
	}
	return r
}

// try is do for goroutines, which may not fail the test themselves.
func (k *kit) try(method, path, contentType, content string, header ...string) (reply, error) {
	req, err := http.NewRequest(method, k.url+path, strings.NewReader(content))
	if err != nil {
		return reply{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := k.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if strings.Contains(res.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(text, &r.body)
	}
	return r, err
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// post sends an enquiry as JSON.
func (k *kit) post(fields map[string]any, header ...string) reply {
	k.t.Helper()
	return k.do("POST", "/f/contact", jsonType, toJSON(fields), header...)
}

// postForm sends one as a browser without a script does.
func (k *kit) postForm(v url.Values, header ...string) reply {
	k.t.Helper()
	return k.postTo("/f/contact", v, header...)
}

func (k *kit) postTo(address string, v url.Values, header ...string) reply {
	k.t.Helper()
	return k.do("POST", address, formType, v.Encode(), append([]string{"Accept", "text/html,*/*"}, header...)...)
}

func (k *kit) receipt(id uuid.UUID) reply { return k.do("GET", "/receipts/"+id.String(), "", "") }

func (k *kit) row(id uuid.UUID) ledger.Submission {
	k.t.Helper()
	row, err := k.ledger.Submission(k.t.Context(), id)
	must(k.t, err)
	return row
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func words(id uuid.UUID) map[string]any {
	return map[string]any{"submission_id": id.String(), "name": "Ada", "email": "ada@example.org",
		"services": []string{"Repair", "Advice"}, "message": "Hello\nthere"}
}

func formWords(id uuid.UUID) url.Values {
	v := url.Values{"name": {"Ada"}, "email": {"ada@example.org"}, "services": {"Advice", "Repair"}, "message": {"Hello\r\nthere"}}
	if id != uuid.Nil {
		v.Set("submission_id", id.String())
	}
	return v
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// mails reads everything that was delivered.
func (k *kit) mails() []*mail.Message {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.mail, "new", "*"))
	must(k.t, err)
	var all []*mail.Message
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(k.t, err)
		m, err := mail.ReadMessage(bytes.NewReader(text))
		must(k.t, err)
		all = append(all, m)
	}
	return all
}

func (k *kit) wantMails(n int) {
	k.t.Helper()
	if got := len(k.mails()); got != n {
		k.t.Errorf("%d mails were delivered, want %d", got, n)
	}
}

func (r reply) want(t *testing.T, status int, o Outcome) {
	t.Helper()
	if r.status != status || r.body.Outcome != o {
		t.Errorf("got %d %q, want %d %q: %s", r.status, r.body.Outcome, status, o, r.text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition, and says what it waited for.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	eventuallyWithin(t, 10*time.Second, what, is)
}

func eventuallyWithin(t *testing.T, patience time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// atOnce runs n calls together and returns their answers.
func atOnce(t *testing.T, n int, call func(int) (reply, error)) []reply {
	t.Helper()
	replies, errs := make([]reply, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			replies[i], errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatal(fmt.Errorf("call %d: %w", i, err))
		}
	}
	return replies
}
