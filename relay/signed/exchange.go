package signed

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"formledger/ledger/failpoint"
	"formledger/relay"
	"formledger/relay/netcause"
)

// call is one request.
type call struct {
	path  string
	tag   Tag
	id    string // the submission's, as covered
	body  []byte
	lease func() bool // nil: there is none
}

// reply is what a request came to. Only a verified one is an answer.
type reply struct {
	written int         // bytes handed to the connection, above TLS
	body    []byte      // nil unless verified
	cause   relay.Cause // why there is no answer
}

func (r reply) verified() bool { return r.cause == relay.Cause{} }

// Bounds of an answer, besides that of its body.
const (
	maxAnswerHeader = 16 << 10
	maxInformal     = 5 // answers 1xx before the real one
)

// exchange makes one request on one fresh connection. It is written and read by
// hand: Go's transport may send a request twice by itself, follow redirects and
// ask proxies (https://github.com/golang/go/issues/19943), and does not tell
// whether a byte left.
func (s *Sender) exchange(ctx context.Context, c call) reply {
	keys := s.keys.Load() // the answer is signed with the pair of the call's key
	conn, cause := s.connect(ctx)
	if cause != (relay.Cause{}) {
		return reply{cause: cause}
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok { // first, so that it cannot undo the other
		conn.SetDeadline(end)
	}
	uncut := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer uncut()
	counted := &counter{Conn: conn}
	question, cause := s.ask(ctx, keys, counted, c)
	if cause == (relay.Cause{}) {
		failpoint.Hit("signed.after-call")
		return s.listen(ctx, keys, counted, question)
	}
	return reply{written: counted.written, cause: cause}
}

// counter counts what is handed to the connection: at 0, no byte of the call has
// left this machine. A failed write may have left some.
type counter struct {
	net.Conn
	written int
}

func (c *counter) Write(p []byte) (int, error) {
	c.written += len(p)
	return c.Conn.Write(p)
}

// connect opens the connection, and TLS upon it.
func (s *Sender) connect(ctx context.Context) (net.Conn, relay.Cause) {
	opening, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(opening, "tcp", s.address)
	if err != nil {
		return nil, relay.Cause{Code: codeOf(ctx, err, netcause.Unreachable), Stage: stageConnect}
	}
	if s.tls == nil {
		return conn, relay.Cause{}
	}
	secured := tls.Client(conn, s.tls)
	if err := secured.HandshakeContext(opening); err != nil {
		conn.Close()
		return nil, relay.Cause{Code: codeOf(ctx, err, netcause.TLS), Stage: stageTLS}
	}
	return below{secured, conn}, relay.Cause{}
}

// below closes the TCP connection: TLS would say farewell first, and could wait
// for a far end that reads no more.
type below struct {
	*tls.Conn
	tcp net.Conn
}

func (b below) Close() error { return b.tcp.Close() }

func codeOf(ctx context.Context, err error, otherwise string) string {
	if code := netcause.OfTLS(err); code != "" {
		return code
	}
	if netcause.Over(ctx) {
		return codeDeadline
	}
	return orElse(netcause.Of(err), otherwise)
}

// ask signs the call now, so that the way here takes nothing of its life, and
// writes it in one piece. The lease is looked at last.
func (s *Sender) ask(ctx context.Context, keys *Keys, conn net.Conn, c call) (Question, relay.Cause) {
	r, err := http.NewRequest(http.MethodPost, "http://"+s.host+c.path, bytes.NewReader(c.body))
	if err != nil {
		return Question{}, relay.Cause{Code: codeMalformed, Stage: stageSign}
	}
	r.Close = true
	r.Header.Set("User-Agent", "formledger")
	question, err := keys.SignCall(r, s.authority, c.tag, c.id, c.body, s.now(), s.random)
	if err != nil {
		return Question{}, relay.Cause{Code: codeNoKey, Stage: stageSign}
	}
	var whole bytes.Buffer
	if err := r.Write(&whole); err != nil {
		return Question{}, relay.Cause{Code: codeMalformed, Stage: stageSign}
	}
	failpoint.Hit("signed.before-call")
	switch {
	case c.lease != nil && !c.lease():
		return Question{}, relay.Cause{Code: codeLapsed, Stage: stageCall}
	case netcause.Over(ctx):
		return Question{}, relay.Cause{Code: codeDeadline, Stage: stageCall}
	}
	if _, err := conn.Write(whole.Bytes()); err != nil {
		return Question{}, relay.Cause{Code: codeOf(ctx, err, netcause.Closed), Stage: stageCall}
	}
	return question, relay.Cause{}
}

// listen reads the answer and verifies it. The answer's body is not closed: to
// close it is to read it to its end, which may not come.
func (s *Sender) listen(ctx context.Context, keys *Keys, conn *counter, question Question) reply {
	failed := func(code string) reply {
		return reply{written: conn.written, cause: relay.Cause{Code: code, Stage: stageAnswer}}
	}
	limited := &io.LimitedReader{R: conn, N: maxAnswerHeader}
	resp, err := readResponse(bufio.NewReader(limited))
	var body []byte
	if err == nil {
		limited.N += MaxAnswer
		body, err = io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	}
	switch {
	case limited.N <= 0 || len(body) > MaxAnswer:
		return failed(codeTooLong)
	case err != nil:
		return failed(codeOf(ctx, err, codeUnverified))
	}
	if err := keys.VerifyAnswer(resp.StatusCode, resp.Header, body, question, s.now()); err != nil {
		return failed(unsigned(resp))
	}
	if resp.StatusCode != http.StatusOK {
		return failed(codeMalformed)
	}
	return reply{written: conn.written, body: body}
}

// unsigned names an answer that is not the relay's acknowledgment of this call.
func unsigned(resp *http.Response) string {
	if resp.StatusCode >= 300 && resp.StatusCode <= 599 {
		return "http_" + strconv.Itoa(resp.StatusCode)
	}
	return codeUnverified
}

var errInformal = errors.New("too many answers before the real one")

// readResponse passes over answers that only say that another one comes.
func readResponse(from *bufio.Reader) (*http.Response, error) {
	for range maxInformal + 1 {
		resp, err := http.ReadResponse(from, &http.Request{Method: http.MethodPost})
		if err != nil || resp.StatusCode >= 200 {
			return resp, err
		}
	}
	return nil, errInformal
}

func encode(value any) ([]byte, error) { return json.Marshal(value) }
