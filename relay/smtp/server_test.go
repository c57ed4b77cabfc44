package smtp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an SMTP server that keeps to the script, but for one ending at one
// stage.
type fake struct {
	t      *testing.T
	ln     net.Listener
	cert   tls.Certificate
	mode   TLSMode
	at     string // the stage of the ending
	ending string
	patch  func(line, answer string) string // another answer to a line, or the same
	offers []string
	late   time.Duration // how long "late" waits
	acted  chan struct{} // closed when the ending at the body has happened
	once   sync.Once
	dialed func() bool // whether the client's dialling has returned

	wg       sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
	accepted int      // connections
	heard    []string // command lines, decrypted
	mails    []string // bodies that came with their dot, dots removed
	halves   []string // bodies without it
	quits    int
}

var everything = []string{"SIZE 50000000", "8BITMIME", "SMTPUTF8", "DSN", "AUTH PLAIN LOGIN"}

func newFake(t *testing.T, mode TLSMode) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &fake{t: t, ln: ln, cert: pki().good, mode: mode, offers: everything, acted: make(chan struct{})}
}

// start serves until the test ends, and then waits for every connection.
func (f *fake) start() {
	f.wg.Go(func() {
		for {
			conn, err := f.ln.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.accepted++
			f.open = append(f.open, conn)
			f.mu.Unlock()
			f.wg.Go(func() { f.serve(conn) })
		}
	})
	f.t.Cleanup(func() {
		f.ln.Close()
		f.mu.Lock()
		for _, conn := range f.open {
			conn.Close()
		}
		f.mu.Unlock()
		f.wg.Wait()
	})
}

func (f *fake) port() int { return f.ln.Addr().(*net.TCPAddr).Port }

func (f *fake) serve(tcp net.Conn) {
	s := &session{fake: f, tcp: tcp, conn: tcp, in: bufio.NewReader(tcp)}
	defer tcp.Close()
	for f.dialed != nil && !f.dialed() {
		time.Sleep(time.Millisecond)
	}
	if f.at == stageConnect && !s.end() {
		return
	}
	if f.mode == Implicit && !s.encrypt() {
		return
	}
	if !s.answer(stageBanner, "220 fake.example ESMTP\r\n") {
		return
	}
	for {
		line, err := s.in.ReadString('\n')
		if err != nil || !s.handle(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

// session is one connection.
type session struct {
	*fake
	tcp     net.Conn
	conn    net.Conn // tcp, or TLS on top of it
	in      *bufio.Reader
	secured bool
	login   int // lines of LOGIN still to come
}

func (s *session) handle(line string) bool {
	s.mu.Lock()
	s.heard = append(s.heard, line)
	s.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case s.login > 0:
		s.login--
		if s.login == 1 {
			return s.say("334 UGFzc3dvcmQ6\r\n")
		}
		return s.answer(stageAuth, s.patched(line, "235 welcome\r\n"))
	case verb == "EHLO" && s.secured && s.mode == StartTLS:
		return s.say(s.patched(line, s.extensions()))
	case verb == "EHLO":
		return s.answer(stageEhlo, s.patched(line, s.extensions()))
	case verb == "STARTTLS":
		return s.answer(stageStartTLS, s.patched(line, "220 go\r\n")) && (s.ended(stageStartTLS) || s.encrypt())
	case line == "AUTH LOGIN":
		s.login = 2
		return s.say("334 VXNlcm5hbWU6\r\n")
	case verb == "AUTH":
		return s.answer(stageAuth, s.patched(line, "235 welcome\r\n"))
	case verb == "MAIL":
		return s.answer(stageMail, s.patched(line, "250 ok\r\n"))
	case verb == "RCPT":
		return s.answer(stageRcpt, s.patched(line, "250 ok "+rest+"\r\n"))
	case verb == "DATA":
		return s.answer(stageData, s.patched(line, "354 go\r\n")) && (s.ended(stageData) || s.body())
	case verb == "QUIT":
		s.mu.Lock()
		s.quits++
		s.mu.Unlock()
		return s.answer("quit", "221 bye\r\n")
	}
	return s.say(s.patched(line, "250 ok\r\n"))
}

// ended reports whether the stage has had its ending, so that its effect must
// not happen.
func (s *session) ended(stage string) bool { return s.at == stage }

func (s *session) patched(line, answer string) string {
	if s.patch == nil {
		return answer
	}
	return s.patch(line, answer)
}

func (s *session) extensions() string {
	lines := append([]string{"fake.example"}, s.offers...)
	if s.mode == StartTLS && !s.secured {
		lines = []string{"fake.example", "STARTTLS"}
	}
	return "250-" + strings.Join(lines[:len(lines)-1], "\r\n250-") + "\r\n250 " + lines[len(lines)-1] + "\r\n"
}

// encrypt does TLS, or has the ending in its place once the client has begun.
func (s *session) encrypt() bool {
	if s.at == stageTLS {
		s.tcp.Read(make([]byte, 4096))
		if s.end() && s.ending != "late" {
			return s.drain()
		}
	}
	secure := tls.Server(s.tcp, &tls.Config{Certificates: []tls.Certificate{s.cert}})
	if secure.Handshake() != nil {
		return false
	}
	s.conn, s.in, s.secured = secure, bufio.NewReader(secure), true
	return true
}

// body takes the message up to its dot.
func (s *session) body() bool {
	if s.at == stageBody {
		if s.ending != "silence" && s.ending != "late" {
			s.in.ReadString('\n')
			s.in.Discard(s.in.Buffered()) // unread octets would turn a close into a reset
		}
		if s.ending == "line" || s.ending == "endless" { // these fill the line until the client goes on
			s.say(strings.Repeat(s.code()+"-"+strings.Repeat("x", 3000)+"\r\n", 2))
			s.signal()
			return s.end() && s.drain()
		}
		again := s.end()
		s.signal()
		if !again || s.ending != "late" {
			return again && s.drain()
		}
	}
	var body strings.Builder
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.mu.Lock()
			s.halves = append(s.halves, body.String()+line)
			s.mu.Unlock()
			return false
		}
		if line == ".\r\n" {
			break
		}
		body.WriteString(strings.TrimPrefix(line, "."))
	}
	s.mu.Lock()
	s.mails = append(s.mails, body.String())
	s.mu.Unlock()
	return s.answer(stageDot, s.patched(".", "250 2.0.0 Ok: queued as 4F2A\r\n"))
}

// answer says the line of the script, or has the ending in its place.
func (s *session) answer(stage, line string) bool {
	if s.at != stage {
		return s.say(line)
	}
	again := s.end()
	if again && s.ending == "late" {
		return s.say(line)
	}
	return again
}

func (s *session) say(line string) bool {
	_, err := io.WriteString(s.conn, line)
	return err == nil
}

func (s *session) drain() bool {
	io.Copy(io.Discard, s.conn)
	return false
}

// end plays the ending. It reports whether the connection goes on.
func (s *session) end() bool {
	switch s.ending {
	case "close":
		s.tcp.Close()
	case "reset":
		s.tcp.(*net.TCPConn).SetLinger(0)
		s.tcp.Close()
	case "silence":
		return s.stall()
	case "4xx":
		return s.say("451 4.3.0 not now, anna@example.org\r\n")
	case "5xx":
		if s.at == stageAuth {
			return s.say("535 5.7.8 bad credentials\r\n")
		}
		return s.say("550 5.7.1 no\r\n")
	case "421":
		s.say("421 4.3.2 closing\r\n")
		s.drainThenClose()
	case "garbage":
		return s.say("\x01\xffSSH-2.0-nonsense\r\n")
	case "half":
		s.say("25")
		s.drainThenClose()
	case "line":
		return s.say(s.code() + " " + strings.Repeat("x", 1<<20) + "\r\n")
	case "endless":
		for s.say(s.code() + "-and more\r\n") {
		}
	case "late":
		time.Sleep(s.late)
		return true
	}
	return false
}

// drainThenClose ends our side of the stream, and takes what still comes, since
// unread octets would make it a reset.
func (s *session) drainThenClose() {
	s.tcp.(*net.TCPConn).CloseWrite()
	s.signal()
	io.Copy(io.Discard, s.tcp)
}

func (s *session) signal() { s.once.Do(func() { close(s.acted) }) }

// code is what a server that goes well would begin with here.
func (s *session) code() string {
	switch s.at {
	case stageConnect, stageBanner, stageStartTLS:
		return "220"
	case stageAuth:
		return "235"
	case stageData:
		return "354"
	}
	return "250"
}

// stall neither reads nor writes until the client is gone. At the body it must
// not even read, so that the client's writing stalls.
func (s *session) stall() bool {
	if s.at != stageBody {
		return s.drain()
	}
	time.Sleep(s.late)
	return false
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
