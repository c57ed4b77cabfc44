package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay/signed"
)

const (
	shop  = "form@shop.example"
	owner = "owner@shop.example"
)

// bench is a relay on loopback, with a real table and a sender that does what
// the test says, and the form server that calls it.
type bench struct {
	t      testing.TB
	file   string
	calls  *Calls
	box    *mailbox
	clock  *clock
	log    *logBuffer
	server *Server
	web    *httptest.Server
	form   *formServer
}

// newBench starts a relay. change may alter its configuration.
func newBench(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, file: tempFile(t), box: &mailbox{}, clock: &clock{}, log: &logBuffer{}}
	b.calls = openCalls(t, b.file)
	b.form = &formServer{keys: freshKeys(t), now: b.clock.now}
	b.start(b.calls, change...)
	return b
}

// start puts a server on a table. Another server of before goes on.
func (b *bench) start(calls *Calls, change ...func(*Config)) {
	b.t.Helper()
	c := Config{
		Callers: []Caller{{Name: "shop", Keys: b.form.keys, From: []string{shop}, To: []string{owner}}},
		Calls:   calls, Sender: b.box, CallTimeout: 10 * time.Second, Settle: 5 * time.Second, Lease: time.Minute,
		Now: b.clock.now, Log: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, alter := range change {
		alter(&c)
	}
	s, err := New(c)
	must(b.t, err)
	b.calls, b.server = calls, s
	b.web = httptest.NewServer(s.Handler())
	b.t.Cleanup(b.web.Close)
	b.form.address = b.web.URL
}

// shortLease is a relay that gives up to record after a moment.
func shortLease(c *Config) {
	c.CallTimeout, c.Settle, c.Lease = 100*time.Millisecond, 100*time.Millisecond, 400*time.Millisecond
}

func freshKeys(t testing.TB) *signed.Keys {
	t.Helper()
	return readKeys(t, pair(t))
}

// pair is the text of a key file with one pair.
func pair(t testing.TB) string {
	t.Helper()
	text, err := signed.NewKeyFile(rand.Reader, time.Now().Add(-24*time.Hour))
	must(t, err)
	return text
}

func readKeys(t testing.TB, texts ...string) *signed.Keys {
	t.Helper()
	keys, err := signed.ParseKeys(strings.Join(texts, ""))
	must(t, err)
	return keys
}

// message is a fresh message, which the relay takes.
func (b *bench) message() signed.Message {
	id := uuid.Must(uuid.NewV7())
	return signed.Message{
		SubmissionID: id, PayloadHash: "v1.k1." + strings.Repeat("ab", 32), Claim: newClaim(b.t), Epoch: b.calls.Epoch(),
		Reference: ledger.ReferenceOf(id), From: "The shop <" + shop + ">", To: []string{owner}, ReplyTo: "anna@visitor.example",
		Subject: "Enquiry", Date: time.Now().UTC(), MessageID: "m1@shop.example", Text: "confidential words",
	}
}

func newClaim(t testing.TB) string {
	t.Helper()
	token, err := ledger.NewToken(rand.Reader)
	must(t, err)
	return token.String()
}

// again is the same message under a new claim.
func again(t testing.TB, m signed.Message) signed.Message {
	m.Claim = newClaim(t)
	return m
}

// formServer makes signed calls, each on a connection of its own.
type formServer struct {
	keys    *signed.Keys
	now     func() time.Time
	behind  time.Duration // that a call was signed before now
	address string
}

// response is what came back.
type response struct {
	status int
	header http.Header
	body   []byte
	signed bool // and verified, as the answer to this very call
}

// request is a signed call. change may spoil it.
func (f *formServer) request(path string, tag signed.Tag, id, body string, change ...func(*http.Request)) (*http.Request, signed.Question, error) {
	r, err := http.NewRequest(http.MethodPost, f.address+path, strings.NewReader(body))
	if err != nil {
		return nil, signed.Question{}, err
	}
	q, err := f.keys.SignCall(r, signed.Authority(r.URL.Host, false), tag, id, []byte(body), f.now().Add(-f.behind), rand.Reader)
	for _, alter := range change {
		alter(r)
	}
	return r, q, err
}

func (f *formServer) post(path string, tag signed.Tag, id, body string, change ...func(*http.Request)) (response, error) {
	r, q, err := f.request(path, tag, id, body, change...)
	if err != nil {
		return response{}, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	got := response{status: res.StatusCode, header: res.Header}
	got.body, err = io.ReadAll(res.Body)
	got.signed = f.keys.VerifyAnswer(got.status, res.Header, got.body, q, f.now()) == nil
	return got, err
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f *formServer) send(m signed.Message, change ...func(*http.Request)) (response, error) {
	return f.post(signed.PathSend, signed.TagSend, m.SubmissionID.String(), jsonOf(m), change...)
}

func inquiryOf(m signed.Message, peek bool) signed.Inquiry {
	return signed.Inquiry{SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim, Epoch: m.Epoch, Peek: peek}
}

func (f *formServer) inquire(m signed.Message, peek bool) (response, error) {
	return f.post(signed.PathInquire, signed.TagInquiry, m.SubmissionID.String(), jsonOf(inquiryOf(m, peek)))
}

// answer reads a signed answer that fits a message.
func answer(res response, m signed.Message) (signed.Answer, error) {
	if !res.signed || res.status != http.StatusOK {
		return signed.Answer{}, fmt.Errorf("not a signed 200 but %d, signed %v: %s", res.status, res.signed, res.body)
	}
	a, err := signed.ParseAnswer(res.body)
	if err == nil && (a.SubmissionID != m.SubmissionID || a.PayloadHash != m.PayloadHash || a.Claim != m.Claim) {
		err = errors.New("the answer is about another claim")
	}
	return a, err
}

// sends makes a call that has to be answered, with a signature.
func (b *bench) sends(m signed.Message) signed.Answer {
	b.t.Helper()
	res, err := b.form.send(m)
	must(b.t, err)
	a, err := answer(res, m)
	must(b.t, err)
	return a
}

// sendsAside makes such a call in a goroutine of its own, where a test cannot
// stop.
func (b *bench) sendsAside(m signed.Message) signed.Answer {
	res, err := b.form.send(m)
	if err != nil {
		b.t.Error(err)
		return signed.Answer{}
	}
	a, err := answer(res, m)
	if err != nil {
		b.t.Error(err)
	}
	return a
}

// asks makes an inquiry that has to be answered, with a signature.
func (b *bench) asks(m signed.Message) signed.Answer {
	b.t.Helper()
	return b.inquires(m, false)
}

func (b *bench) peeks(m signed.Message) signed.Answer {
	b.t.Helper()
	return b.inquires(m, true)
}

func (b *bench) inquires(m signed.Message, peek bool) signed.Answer {
	b.t.Helper()
	res, err := b.form.inquire(m, peek)
	must(b.t, err)
	a, err := answer(res, m)
	must(b.t, err)
	return a
}

// wants compares the status and the code of an answer.
func (b *bench) wants(a signed.Answer, status signed.Status, code string) {
	b.t.Helper()
	if a.Status != status || a.Code != code {
		b.t.Errorf("%s %q, want %s %q", a.Status, a.Code, status, code)
	}
	if a.Epoch != b.calls.Epoch() {
		b.t.Errorf("epoch %q, want %q", a.Epoch, b.calls.Epoch())
	}
}

func (b *bench) wantMails(n int) {
	b.t.Helper()
	if got := b.box.calls(); got != n {
		b.t.Errorf("the sender was called %d times, want %d", got, n)
	}
}

func (b *bench) wantRows(n int) {
	b.t.Helper()
	if got := rows(b.t, b.calls); got != n {
		b.t.Errorf("%d rows, want %d", got, n)
	}
}

// turnedAway makes a call that has to get an unsigned answer of this status.
func (b *bench) turnedAway(status int, res response, err error) {
	b.t.Helper()
	must(b.t, err)
	sentence := strings.TrimSpace(string(res.body))
	if res.status != status || res.signed || sentence == "" || strings.Contains(sentence, "\n") {
		b.t.Errorf("%d, signed %v, %q; want an unsigned %d", res.status, res.signed, sentence, status)
	}
	if h := res.header.Get("Signature"); h != "" {
		b.t.Errorf("an unsigned answer has the signature %q", h)
	}
}

// logBuffer gathers what is logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
