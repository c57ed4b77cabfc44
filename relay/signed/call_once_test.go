package signed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"

	"formledger/relay"
)

// A transport that keeps connections sends a request again when a kept one turns
// out to be closed. The second call is on an address where the first succeeded.
func TestACallThatIsNotAnsweredIsNotMadeAgain(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secure), func(t *testing.T) {
			r := newRelay(t, secure)
			s := newSender(t, r)
			r.plays(func(h *heard) { h.Close() })
			if v := send(t, s); terse(v) != "unknown closed@answer" {
				t.Error(terse(v))
			}
			r.saw(1, 1)
			r.plays(func(h *heard) {
				a := h.signs(h.says(StatusAccepted, nil))
				a.lines = append(a.lines, "Connection: keep-alive", "Keep-Alive: timeout=60")
				h.writes(a)
			})
			if v := send(t, s); terse(v) != "accepted" {
				t.Error(terse(v))
			}
			r.saw(2, 2)
			r.plays(func(h *heard) { h.Close() })
			if v := send(t, s); terse(v) != "unknown closed@answer" {
				t.Error(terse(v))
			}
			r.saw(3, 3)
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			r, target := newRelay(t, false), newRelay(t, false)
			r.plays(raw("HTTP/1.1 %d Go\r\nLocation: %s%s\r\nContent-Length: 0\r\n\r\n", status, target.url(), PathSend))
			if v := send(t, newSender(t, r)); terse(v) != fmt.Sprintf("unknown http_%d@answer", status) {
				t.Error(terse(v))
			}
			r.saw(1, 1)
			target.saw(0, 0)
		})
	}
}

// own is an address of this machine that is not loopback, for which programs ask
// proxies, or loopback if there is none.
func own(t *testing.T) string {
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

func TestProxiesOfTheEnvironmentAreNotAsked(t *testing.T) {
	proxy := newRelay(t, false)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.url())
		t.Setenv(strings.ToLower(name), proxy.url())
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	t.Setenv("REQUEST_METHOD", "") // with it, Go distrusts HTTP_PROXY
	host := own(t)
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	must(t, err)
	r := newRelayOn(t, ln, false)
	u, err := url.Parse(r.url())
	must(t, err)
	if would, err := httpproxy.FromEnvironment().ProxyFunc()(u); err != nil || would == nil && host != "127.0.0.1" {
		t.Errorf("the environment tempts nobody: %v, %v", would, err)
	}
	if v := send(t, newSender(t, r)); terse(v) != "accepted" {
		t.Error(terse(v))
	}
	r.saw(1, 1)
	proxy.saw(0, 0)
}

func TestTheCallIsOnTheWireOnceAndWithNothingElse(t *testing.T) {
	r := newRelay(t, true)
	raws := make(chan []byte, 1)
	r.plays(func(h *heard) { raws <- h.raw; h.answersWell() })
	if v := send(t, newSender(t, r)); terse(v) != "accepted" {
		t.Fatal(terse(v))
	}
	whole := <-raws
	head, body, _ := bytes.Cut(whole, []byte("\r\n\r\n"))
	if want, err := json.Marshal(NewMessage(message())); err != nil || !bytes.Equal(body, want) {
		t.Errorf("body\n%s\nwant\n%s", body, want)
	}
	first, lines, _ := strings.Cut(string(head), "\r\n")
	if first != "POST /v1/messages HTTP/1.1" {
		t.Error(first)
	}
	var names []string
	for l := range strings.SplitSeq(lines, "\r\n") {
		name, _, _ := strings.Cut(l, ":")
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"Connection", "Content-Digest", "Content-Length", "Content-Type", "Host", "Relay-Submission-Id", "Signature", "Signature-Input", "User-Agent"}
	if !slices.Equal(names, want) {
		t.Errorf("headers %q, want %q", names, want)
	}
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(whole)))
	must(t, err)
	if !req.Close || req.Host != r.ln.Addr().String() || req.ContentLength != int64(len(body)) || req.Header.Get("User-Agent") != "formledger" {
		t.Errorf("%+v", req)
	}
}

func TestTwoCallsOfOneClaimAreSignedDifferently(t *testing.T) {
	r := newRelay(t, false)
	s := newSender(t, r)
	signatures := make(chan string, 2)
	r.plays(func(h *heard) { signatures <- h.opened.Signature; h.answersWell() })
	send(t, s)
	send(t, s)
	if a, b := <-signatures, <-signatures; a == b {
		t.Error("the same signature twice: the answer to one call would be the answer to the other")
	}
}

// An acknowledgment is of one call, not of its content.
func TestAnAnswerToAnEarlierCallIsNone(t *testing.T) {
	row := rowOf(message())
	calls := map[string]func(*Sender) relay.Verdict{
		"send":    func(s *Sender) relay.Verdict { return send(t, s) },
		"inquiry": func(s *Sender) relay.Verdict { return s.Inquire(within(t, patience), row, false) },
		"peek":    func(s *Sender) relay.Verdict { return s.Inquire(within(t, patience), row, true) },
	}
	for earlier, makes := range calls {
		for later, repeats := range calls {
			for _, status := range []Status{StatusAccepted, StatusRefused, StatusSealed} {
				t.Run(fmt.Sprintf("%s of a %s for a %s", status, earlier, later), func(t *testing.T) {
					r := newRelay(t, false)
					s := newSender(t, r)
					said := make(chan *answer, 1)
					r.plays(func(h *heard) { a := h.signs(h.says(status, nil)); h.writes(a); said <- a })
					if v := makes(s); v.Finding == relay.Unknown {
						t.Fatal(terse(v))
					}
					again := <-said
					r.plays(func(h *heard) { h.writes(again) })
					if v := repeats(s); v.Finding != relay.Unknown || v.Cause.Code != codeUnverified {
						t.Error(terse(v))
					}
					r.saw(2, 2)
				})
			}
		}
	}
}

// stingy takes a few bytes, and then fails.
type stingy struct {
	net.Conn
	takes int
}

func (s stingy) Write(p []byte) (int, error) {
	return min(s.takes, len(p)), errors.New("the line broke")
}

// How much of a failed write left this machine is not known: TLS and the kernel
// may have sent what they say they have not.
func TestAWriteThatFailsIsInDoubt(t *testing.T) {
	s := newSender(t, newRelay(t, false))
	for _, takes := range []int{0, 1, 100} {
		conn := &counter{Conn: stingy{takes: takes}}
		_, cause := s.ask(context.Background(), s.keys.Load(), conn, call{path: PathSend, tag: TagSend, id: message().SubmissionID.String(), body: []byte("{}")})
		v := s.verdict(reply{written: conn.written, cause: cause}, claimed{})
		if v.Finding != relay.Unknown || v.Cause.Stage != stageCall {
			t.Errorf("after %d bytes: %s", takes, terse(v))
		}
	}
}

func TestARelayThatStopsReadingLeavesDoubt(t *testing.T) {
	m := message()
	m.Text = strings.Repeat("confidential ", 70_000)
	r := newRelay(t, false)
	r.greets(func(c net.Conn) bool {
		io.ReadFull(c, make([]byte, 10))
		c.(*net.TCPConn).SetLinger(0)
		return true
	})
	v := newSender(t, r).Send(within(t, patience), relay.Mail{Message: m}, forever())
	if v.Finding != relay.Unknown || !slices.Contains([]string{"reset", "closed"}, v.Cause.Code) {
		t.Error(terse(v))
	}
	r.saw(1, 0)
}

// A reset may come while we still connect, which is proof, or later, which is
// none.
func TestAResetIsProofOnlyWhileConnecting(t *testing.T) {
	r := newRelay(t, false)
	r.greets(func(c net.Conn) bool { c.(*net.TCPConn).SetLinger(0); return true })
	s := newSender(t, r)
	for range 100 {
		if v := send(t, s); v.Finding == relay.Accepted || (v.Finding == relay.NotSent) != (v.Cause.Stage == stageConnect) {
			t.Error(terse(v))
		}
	}
	r.greets(func(net.Conn) bool { return true }) // who counts is not reset
	r.saw(100, 0)
}
