package signed

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const epoch = "epoch-1"

// secretOf is a secret of the right length for each name.
func secretOf(name string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("secret of "+name+" ", 16)[:secretBytes]))
}

// line is a line of a key file.
func line(name string, d Direction, from, until string) string {
	return fmt.Sprintf("%s %s %s %s %s\n", name, d, from, until, secretOf(name+"."+string(d)))
}

func pair(name string) string { return line(name, Call, "-", "-") + line(name, Ack, "-", "-") }

func keysOf(t testing.TB, text string) *Keys {
	t.Helper()
	keys, err := ParseKeys(text)
	must(t, err)
	return keys
}

// testKeys are a pair in use, a second one that counts as well, and pairs that
// count no more and not yet.
func testKeys(t testing.TB) *Keys {
	t.Helper()
	return keysOf(t, pair("k1")+pair("k2")+
		line("past", Call, "-", "2020-01-01")+line("past", Ack, "-", "2020-01-01")+
		line("future", Call, "2200-01-01", "-")+line("future", Ack, "2200-01-01", "-"))
}

func message() relay.Message {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	return relay.Message{
		SubmissionID: id, PayloadHash: "v1.k1.00", Claim: ledger.Token{1}, Reference: ledger.ReferenceOf(id), RelayEpoch: epoch,
		From: "Website <form@shop.example>", To: []string{"owner@shop.example"}, ReplyTo: "anna@example.org",
		Subject: "Enquiry", Date: time.Date(2025, 3, 1, 12, 30, 5, 0, time.UTC), MessageID: "a+b.c@shop.example", Text: "Name: Anna\n",
	}
}

// scripted is a relay on loopback that does what its script says. It serves a
// connection for as many requests as come.
type scripted struct {
	t      testing.TB
	keys   *Keys
	secure bool
	ln     net.Listener

	requests    atomic.Int64
	serving     sync.WaitGroup
	mu          sync.Mutex
	certificate tls.Certificate
	script      func(*heard)
	accepts     func(net.Conn) bool // reports whether that was all
	callers     []string            // addresses, in order
	came        chan struct{}       // closed when there is another caller
	open        map[net.Conn]bool
}

// heard is a whole request, and the connection that it came on.
type heard struct {
	net.Conn
	relay  *scripted
	raw    []byte // every byte that came
	header http.Header
	body   []byte
	opened Opened
}

// newRelay listens, and answers as a relay should until it has a script.
func newRelay(t testing.TB, secure bool) *scripted {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return newRelayOn(t, ln, secure)
}

func newRelayOn(t testing.TB, ln net.Listener, secure bool) *scripted {
	r := &scripted{t: t, keys: testKeys(t), secure: secure, ln: ln, open: map[net.Conn]bool{}, certificate: smtptest.PKI(t).Good,
		script: (*heard).answersWell, accepts: func(net.Conn) bool { return false }}
	r.came = make(chan struct{})
	r.serving.Go(r.accept)
	t.Cleanup(func() {
		ln.Close()
		r.mu.Lock()
		for conn := range r.open {
			conn.Close()
		}
		r.mu.Unlock()
		r.serving.Wait()
	})
	return r
}

// plays sets the script for the calls to come.
func (r *scripted) plays(script func(*heard)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = script
}

// greets sets what is done with a connection before anything is read.
func (r *scripted) greets(accepts func(net.Conn) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepts = accepts
}

// shows sets the certificate.
func (r *scripted) shows(c tls.Certificate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.certificate = c
}

func (r *scripted) accept() {
	for {
		conn, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.callers, r.open[conn] = append(r.callers, conn.RemoteAddr().String()), true
		accepts := r.accepts
		close(r.came)
		r.came = make(chan struct{})
		r.mu.Unlock()
		r.serving.Go(func() {
			if !accepts(conn) {
				r.serve(conn)
			}
			conn.Close()
			r.mu.Lock()
			delete(r.open, conn)
			r.mu.Unlock()
		})
	}
}

func (r *scripted) serve(conn net.Conn) {
	if r.secure {
		r.mu.Lock()
		config := &tls.Config{Certificates: []tls.Certificate{r.certificate}}
		r.mu.Unlock()
		conn = tls.Server(conn, config)
	}
	var raw bytes.Buffer
	from := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.requests.Add(1)
		h := &heard{Conn: conn, relay: r, raw: bytes.Clone(raw.Bytes()), header: req.Header, body: body}
		if h.opened, err = OpenCall(req, r.authority(), r.find); err == nil {
			err = h.opened.CheckBody(body)
		}
		if err != nil {
			r.t.Errorf("the relay cannot verify the call: %v\n%s", err, h.raw)
		}
		r.mu.Lock()
		script := r.script
		r.mu.Unlock()
		script(h)
	}
}

func (r *scripted) authority() string { return Authority(r.ln.Addr().String(), r.secure) }

func (r *scripted) find(id string) (Key, bool) { return r.keys.Find(id, time.Now()) }

func (r *scripted) url() string {
	if r.secure {
		return "https://" + r.ln.Addr().String()
	}
	return "http://" + r.ln.Addr().String()
}

// connections is how many have come until now. Connections are accepted in the
// order in which they were made, so that one of our own marks the end.
func (r *scripted) connections() int {
	r.t.Helper()
	mark, err := net.Dial("tcp", r.ln.Addr().String())
	must(r.t, err)
	defer mark.Close()
	for {
		r.mu.Lock()
		at, came := slices.Index(r.callers, mark.LocalAddr().String()), r.came
		if at >= 0 {
			r.callers = slices.Delete(r.callers, at, at+1)
		}
		r.mu.Unlock()
		if at >= 0 {
			return at
		}
		<-came
	}
}

// saw fails unless so many connections and whole requests have come.
func (r *scripted) saw(connections, requests int) {
	r.t.Helper()
	if got := r.connections(); got != connections {
		r.t.Errorf("%d connections, want %d", got, connections)
	}
	if got := r.requests.Load(); got != int64(requests) {
		r.t.Errorf("%d requests, want %d", got, requests)
	}
}

// answersWell is what a relay does that accepts everything.
func (h *heard) answersWell() {
	if h.opened.Tag == TagHello {
		h.writes(h.signs(must1(json.Marshal(Hello{Epoch: epoch}))))
		return
	}
	h.writes(h.signs(h.says(StatusAccepted, nil)))
}

// says is the body of an answer to the call, before or after a change.
func (h *heard) says(status Status, change func(*Answer)) []byte {
	var about struct {
		SubmissionID uuid.UUID `json:"submission_id"`
		PayloadHash  string    `json:"payload_hash"`
		Claim        string    `json:"claim"`
		Epoch        string    `json:"epoch"`
	}
	if err := json.Unmarshal(h.body, &about); err != nil {
		h.relay.t.Error(err)
	}
	a := Answer{SubmissionID: about.SubmissionID, PayloadHash: about.PayloadHash, Claim: about.Claim, Epoch: about.Epoch, Status: status}
	if status == StatusAccepted {
		a.Receipt = "250 taken"
	}
	if change != nil {
		change(&a)
	}
	return must1(json.Marshal(a))
}

func newSender(t testing.TB, r *scripted) *Sender {
	t.Helper()
	s, err := New(Config{URL: r.url(), Keys: r.keys, Plain: true, RootCAs: smtptest.PKI(t).Roots})
	must(t, err)
	return s
}

func forever() relay.Lease { return relay.NewLease(time.Now().Add(time.Hour), time.Now) }

// patience is far longer than anything takes on loopback.
const patience = 20 * time.Second

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func send(t testing.TB, s *Sender) relay.Verdict {
	t.Helper()
	return s.Send(within(t, patience), relay.Mail{Message: message()}, forever())
}

// terse is a verdict in a few words, "!" meaning for good.
func terse(v relay.Verdict) string {
	switch {
	case v.Finding == relay.Accepted:
		return "accepted"
	case v.Permanent:
		return v.Finding.String() + "! " + v.Cause.String()
	}
	return v.Finding.String() + " " + v.Cause.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must1 is for what cannot fail, in the relay's goroutine too.
func must1[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
