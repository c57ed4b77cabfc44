// Package smtptest is an SMTP server on loopback for tests. It keeps to the
// script of RFC 5321, but for one ending at one stage, and remembers what it
// heard. Only tests import it.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The modes, as relay/smtp and the configuration spell them.
const (
	StartTLS = "starttls"
	Implicit = "implicit"
	Plain    = "none"
)

// The stages of a conversation, as the causes of relay/smtp name them, and the
// farewell.
const (
	Connect  = "connect"
	Banner   = "banner"
	Ehlo     = "ehlo"
	Starttls = "starttls"
	TLS      = "tls"
	Auth     = "auth"
	Mail     = "mail"
	Rcpt     = "rcpt"
	Data     = "data"
	Body     = "body"
	Dot      = "dot"
	Quit     = "quit"
)

// Server is a mail server. The exported fields are set before Start.
type Server struct {
	Mode   string                           // how it encrypts
	Cert   tls.Certificate                  // what it shows; New sets a good one
	Offers []string                         // the extensions that it names to EHLO
	Patch  func(line, answer string) string // another answer to a line, or the same
	Late   time.Duration                    // how long the ending "late" waits
	Ready  func() bool                      // nothing is said before it holds; nil: at once

	t     testing.TB
	ln    net.Listener
	acted chan struct{}
	once  sync.Once

	sessions sync.WaitGroup
	mu       sync.Mutex
	at       string // the stage of the ending
	ending   string
	open     []net.Conn
	accepted int
	busy     int
	quits    int
	heard    []string
	mails    []string
	halves   []string
}

// New makes a server on a free port of 127.0.0.1.
func New(t testing.TB, mode string) *Server {
	t.Helper()
	return At(t, mode, "127.0.0.1:0")
}

// At makes a server at an address. Where clients come before it, or after it is
// gone, 127.0.0.2 and the like keep others from taking the port meanwhile.
func At(t testing.TB, mode, address string) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return &Server{
		Mode: mode, Cert: PKI(t).Good, Offers: []string{"SIZE 50000000", "8BITMIME", "SMTPUTF8", "DSN", "AUTH PLAIN LOGIN"},
		t: t, ln: ln, acted: make(chan struct{}),
	}
}

// Ends sets what comes in place of the script's answer at a stage, from now on:
// close, reset, silence, 4xx, 5xx, 421, garbage, half (a reply cut short), line
// (one of 1 MB), endless (a reply of lines without end), or late. An empty stage
// keeps to the script.
func (s *Server) Ends(stage, ending string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.ending = stage, ending
}

// Start serves until the test ends, and then waits for every connection.
func (s *Server) Start() {
	s.sessions.Go(func() {
		for {
			conn, err := s.ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepted++
			s.busy++
			s.open = append(s.open, conn)
			s.mu.Unlock()
			s.sessions.Go(func() { s.serve(conn) })
		}
	})
	s.t.Cleanup(func() {
		s.Refuse()
		s.mu.Lock()
		for _, conn := range s.open {
			conn.Close()
		}
		s.mu.Unlock()
		s.sessions.Wait()
	})
}

// Refuse takes no more connections; those that are open go on.
func (s *Server) Refuse() { _ = s.ln.Close() }

// Finish refuses, and waits until the clients are gone.
func (s *Server) Finish() {
	s.Refuse()
	s.sessions.Wait()
}

func (s *Server) serve(tcp net.Conn) {
	c := &session{Server: s, tcp: tcp, conn: tcp, in: bufio.NewReader(tcp)}
	defer func() {
		tcp.Close()
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}()
	for s.Ready != nil && !s.Ready() {
		time.Sleep(time.Millisecond)
	}
	if c.ends(Connect) && !c.end(Connect) {
		return
	}
	if s.Mode == Implicit && !c.encrypt() {
		return
	}
	if !c.answer(Banner, "220 fake.example ESMTP\r\n") {
		return
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil || !c.handle(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

// Port is where the server listens.
func (s *Server) Port() int { return s.ln.Addr().(*net.TCPAddr).Port }

// Address is its host and port.
func (s *Server) Address() string { return s.ln.Addr().String() }

// Acted is closed once the ending at the body has happened.
func (s *Server) Acted() <-chan struct{} { return s.acted }

// Connections counts those that were ever taken.
func (s *Server) Connections() int { return s.count(&s.accepted) }

// Busy counts the connections that are open.
func (s *Server) Busy() int { return s.count(&s.busy) }

// Quits counts the QUITs.
func (s *Server) Quits() int { return s.count(&s.quits) }

func (s *Server) count(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

// Heard are the command lines, decrypted.
func (s *Server) Heard() []string { return s.all(&s.heard) }

// Mails are the messages that came with their dot, as they were before dots were
// doubled.
func (s *Server) Mails() []string { return s.all(&s.mails) }

// Halves are the messages whose connection ended before their dot.
func (s *Server) Halves() []string { return s.all(&s.halves) }

func (s *Server) all(texts *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*texts)
}

func (s *Server) add(texts *[]string, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*texts = append(*texts, text)
}
