package desk_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/desk"
	"formledger/relay/server"
	"formledger/relay/signed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a form server's ledger, policy and desk, a network that can be told
// to misbehave, and a relay with its mail system.
type world struct {
	t      *testing.T
	ledger *sqlledger.DB
	keys   *signed.Keys
	sender *signed.Sender
	hold   *relay.Hold
	desk   *desk.Desk
	net    *network
	mails  *mailSystem
	calls  *server.Calls
	ahead  atomic.Int64 // how far the relay's clock is ahead
	stop   func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	text, err := signed.NewKeyFile(rand.Reader, time.Now().Add(-24*time.Hour))
	must(t, err)
	w := &world{t: t, mails: &mailSystem{}}
	w.keys, err = signed.ParseKeys(text)
	must(t, err)
	w.ledger, err = sqlledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), sqlledger.Options{})
	must(t, err)
	w.net = newNetwork(t)
	w.sender, err = signed.New(signed.Config{URL: "http://" + w.net.address(), Keys: w.keys})
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	w.hold = relay.NewHold(w.ledger, w.sender, relay.DefaultTiming(), time.Now, rand.Reader, log)
	w.desk = &desk.Desk{Ledger: w.ledger, Relay: w.sender, Now: time.Now}
	w.startRelay(filepath.Join(t.TempDir(), "calls.db"))
	t.Cleanup(func() {
		w.stopRelay()
		w.net.close()
		w.hold.Close()
		must(t, w.ledger.Close())
	})
	return w
}

// startRelay runs the relay over a record of calls, behind the network.
func (w *world) startRelay(file string) {
	w.t.Helper()
	calls, err := server.OpenCalls(context.Background(), file)
	must(w.t, err)
	timing := relay.DefaultTiming()
	s, err := server.New(server.Config{
		Callers: []server.Caller{{Name: "website", Keys: w.keys, From: []string{"form@shop.example"}, To: []string{"owner@shop.example"}}},
		Calls:   calls, Sender: w.mails, Authority: w.net.address(), CallTimeout: timing.Call, Settle: timing.Settle, Lease: timing.Lease,
		Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }, Log: slog.New(slog.DiscardHandler),
	})
	must(w.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	h := s.HTTPServer()
	go func() { _ = h.Serve(listener) }()
	w.calls = calls
	w.net.leadsTo(listener.Addr().String())
	w.stop = func() {
		must(w.t, h.Close())
		must(w.t, s.Finish(context.Background()))
		must(w.t, calls.Close())
	}
}

func (w *world) stopRelay() {
	if w.stop != nil {
		w.stop()
	}
	w.stop = nil
	w.net.leadsTo("")
}

// visit sends an enquiry once, as the visitor's request does, and gives the row.
// An ID that is known already is sent again.
func (w *world) visit(id uuid.UUID) ledger.Submission {
	w.t.Helper()
	claim, err := w.hold.Claim(context.Background(), ledger.NewClaim{ID: id, Form: "contact", PayloadHash: ledgertest.Hash(id.String())})
	must(w.t, err)
	if claim.Owned {
		w.hold.Carry(claim, relay.Message{
			SubmissionID: id, PayloadHash: claim.Row.PayloadHash, Reference: claim.Row.Reference,
			From: "Website <form@shop.example>", To: []string{"owner@shop.example"}, Subject: "Enquiry",
			Date: claim.Row.CreatedAt, MessageID: id.String() + "@shop.example", Text: "Message: hello",
		})
	}
	return w.row(id)
}

func (w *world) row(id uuid.UUID) ledger.Submission {
	w.t.Helper()
	row, err := w.ledger.Submission(context.Background(), id)
	must(w.t, err)
	return row
}

// is fails unless the row has this status and this need, and so many mails went
// out.
func (w *world) is(id uuid.UUID, status ledger.Status, need ledger.Need, mails int) {
	w.t.Helper()
	if row := w.row(id); row.Status != status || row.Needs != need {
		w.t.Errorf("the row is %s and needs %q, want %s and %q: %+v", row.Status, row.Needs, status, need, row)
	}
	if n := w.mails.count(); n != mails {
		w.t.Errorf("%d mails went out, want %d", n, mails)
	}
}

// reconcile asks about one row.
func (w *world) reconcile(id uuid.UUID, dry bool) desk.Reconciled {
	w.t.Helper()
	done, err := w.desk.Reconcile(context.Background(), w.row(id), dry)
	must(w.t, err)
	return done
}

func (w *world) decides(id uuid.UUID, kind ledger.DecisionKind) desk.Resolution {
	w.t.Helper()
	done, err := w.desk.Resolve(context.Background(), id.String(), desk.Ruling{Kind: kind, By: "ada", Note: "looked into the mailbox"})
	must(w.t, err)
	return done
}

func fresh() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// mailSystem is the far end of the relay.
type mailSystem struct {
	mu     sync.Mutex
	sent   []relay.Mail
	answer func() relay.Verdict // nil: accepted
}

func (m *mailSystem) Send(_ context.Context, mail relay.Mail, _ relay.Lease) relay.Verdict {
	m.mu.Lock()
	answer := m.answer
	m.mu.Unlock()
	v := relay.AcceptedWith("250 taken")
	if answer != nil {
		v = answer()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.Finding == relay.Accepted {
		m.sent = append(m.sent, mail)
	}
	return v
}

func (m *mailSystem) says(answer func() relay.Verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

func (m *mailSystem) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sent)
}

// network passes whole requests on to the relay, or does to them what it is told.
type network struct {
	t        *testing.T
	listener net.Listener
	at       string
	served   sync.WaitGroup

	mu     sync.Mutex
	target string
	lose   bool     // answers are dropped
	hold   bool     // requests are kept, and not passed on
	kept   [][]byte // requests for PathSend, whole
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	n := &network{t: t, listener: listener, at: listener.Addr().String()}
	n.accept()
	return n
}

func (n *network) accept() {
	n.served.Go(func() {
		for {
			conn, err := n.listener.Accept()
			if err != nil {
				return
			}
			n.served.Go(func() { n.carry(conn) })
		}
	})
}

// relisten is there again, at the same address.
func (n *network) relisten() {
	n.t.Helper()
	n.served.Wait()
	eventually(n.t, func() (err error) {
		n.listener, err = net.Listen("tcp", n.at)
		return err
	})
	n.accept()
}

func (n *network) address() string { return n.at }

func (n *network) close() {
	must(n.t, n.listener.Close())
	n.served.Wait()
}

// set changes how the network behaves.
func (n *network) set(change func(*network)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

func (n *network) leadsTo(target string) { n.set(func(n *network) { n.target = target }) }
func (n *network) loses(lose bool)       { n.set(func(n *network) { n.lose = lose }) }
func (n *network) holds(hold bool)       { n.set(func(n *network) { n.hold = hold }) }

// carry takes one request. Where it leads nowhere it closes the connection.
func (n *network) carry(conn net.Conn) {
	defer conn.Close()
	var raw bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		return
	}
	n.mu.Lock()
	target, lose, hold := n.target, n.lose, n.hold
	send := r.URL.Path == signed.PathSend
	if send {
		n.kept = append(n.kept, raw.Bytes())
	}
	n.mu.Unlock()
	if hold && send {
		return
	}
	if answer, err := passOn(target, raw.Bytes()); err == nil && !lose {
		_, _ = conn.Write(answer)
	}
}

// passOn makes a request as it came, and gives the whole answer.
func passOn(target string, request []byte) ([]byte, error) {
	if target == "" {
		return nil, errors.New("the relay is down")
	}
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}

// repeats sends the last kept request to the relay once more.
func (n *network) repeats() string {
	n.t.Helper()
	n.mu.Lock()
	request, target := n.kept[len(n.kept)-1], n.target
	n.mu.Unlock()
	answer, err := passOn(target, request)
	must(n.t, err)
	return string(answer)
}

// says fails unless an answer of the relay has the text.
func says(t *testing.T, answer, text string) {
	t.Helper()
	if !strings.Contains(answer, text) {
		t.Errorf("%q is not in the answer:\n%s", text, answer)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("unexpected: %w", err))
	}
}
