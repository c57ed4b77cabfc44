package smtp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

// TestMain lets the test binary run itself as the process that a fail point
// hits.
func TestMain(m *testing.M) {
	if port := os.Getenv("SMTP_TEST_CHILD"); port != "" {
		sendAsChild(port)
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	user     = "relay-user@shop.example"
	password = "correct horse battery staple"
	mailText = "From: <form@shop.example>\r\nTo: <owner@shop.example>\r\nSubject: Enquiry\r\n\r\nName: Anna\r\n.\r\n..\r\nend\r\n"
)

func message() relay.Message {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	return relay.Message{
		SubmissionID: id, PayloadHash: "v1.k1.00", Claim: ledger.Token{1}, Reference: ledger.ReferenceOf(id),
		From: "Website <form@shop.example>", To: []string{"owner@shop.example"}, ReplyTo: "anna@example.org",
		Subject: "Enquiry", Date: time.Date(2025, 3, 1, 12, 30, 5, 0, time.UTC), MessageID: "a+b.c@shop.example",
	}
}

func mailOf(m relay.Message, text string) relay.Mail {
	return relay.Mail{Message: m, Bytes: []byte(text)}
}

func newFake(t *testing.T, mode TLSMode) *smtptest.Server {
	t.Helper()
	return smtptest.New(t, string(mode))
}

// configOf is how to reach a server. The deadlines are far longer than what
// loopback needs, so that a busy machine changes nothing.
func configOf(t *testing.T, f *smtptest.Server) Config {
	t.Helper()
	c := Config{Host: "127.0.0.1", Port: f.Port(), TLS: TLSMode(f.Mode), HelloName: "client.example", RootCAs: smtptest.PKI(t).Roots, Deadlines: patience(10 * time.Second)}
	if c.TLS != Plain {
		c.Username, c.Password = user, password
	}
	return c
}

func patience(d time.Duration) Deadlines {
	var all Deadlines
	for _, f := range all.fields() {
		*f = d
	}
	return all
}

// line counts what a Sender does with its connections.
type line struct {
	opened, closed, read atomic.Int64
}

type countedConn struct {
	*net.TCPConn
	line *line
	once sync.Once
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.line.read.Add(int64(n))
	return n, err
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.line.closed.Add(1) })
	return c.TCPConn.Close()
}

func newSender(t *testing.T, c Config) (*Sender, *line) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{}
	dial := s.dial
	s.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.opened.Add(1)
		return &countedConn{TCPConn: conn.(*net.TCPConn), line: l}, nil
	}
	return s, l
}

func forever() relay.Lease { return relay.NewLease(time.Now().Add(time.Hour), time.Now) }

func send(s *Sender) relay.Verdict {
	return s.Send(context.Background(), mailOf(message(), mailText), forever())
}

// terse is a verdict in one word, "!" meaning for good.
func terse(v relay.Verdict) string {
	switch {
	case v.Finding == relay.Accepted:
		return "accepted"
	case v.Permanent:
		return v.Finding.String() + "! " + v.Cause.String()
	}
	return v.Finding.String() + " " + v.Cause.String()
}

// halves gives the first half of a body, and the rest when told to go on, or an
// error instead of it.
type halves struct {
	parts [][]byte
	goOn  <-chan struct{}
	err   error
}

func inHalves(goOn <-chan struct{}, err error) func([]byte) io.Reader {
	return func(b []byte) io.Reader {
		return &halves{[][]byte{b[:len(b)/2], b[len(b)/2:]}, goOn, err}
	}
}

func (h *halves) Read(p []byte) (int, error) {
	if len(h.parts) == 1 {
		<-h.goOn
		if h.err != nil {
			return 0, h.err
		}
	}
	for len(h.parts) > 0 && len(h.parts[0]) == 0 {
		h.parts = h.parts[1:]
	}
	if len(h.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.parts[0])
	h.parts[0] = h.parts[0][n:]
	if len(h.parts[0]) == 0 {
		h.parts = h.parts[1:]
	}
	return n, nil
}

func addressOf(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// narrowListener has the shortest queue there is, and never accepts.
func narrowListener(t *testing.T) (io.Closer, int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "listener"), name.(*syscall.SockaddrInet4).Port
}

// full is a port where connecting gets no answer, because nobody accepts.
func full(t *testing.T) int {
	t.Helper()
	ln, port := narrowListener(t)
	t.Cleanup(func() { ln.Close() })
	for range 16 {
		conn, err := net.DialTimeout("tcp", addressOf(port), 100*time.Millisecond)
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			return port
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue of the listener never fills")
	return 0
}
