package mailbox

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"
)

const (
	maxLine     = 8 << 10 // octets of one of the lines before STARTTLS
	maxLines    = 50
	goodbyeTime = 2 * time.Second
)

// session is one connection.
type session struct {
	config Config
	ctx    context.Context
	stage  stage
	wire   *wire
	client *imapclient.Client
	caps   imap.CapSet
	uncut  func() bool
}

// open connects, encrypts and logs in.
func (c Config) open(ctx context.Context) (*session, error) {
	s := &session{config: c, ctx: ctx, stage: atConnect}
	tcp, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address())
	if err != nil {
		return nil, s.failure(err)
	}
	end, _ := ctx.Deadline()
	tcp.SetDeadline(end)
	s.uncut = context.AfterFunc(ctx, func() { tcp.SetDeadline(time.Unix(1, 0)) })
	s.wire = &wire{Conn: tcp, tcp: tcp, plain: true}
	if err = s.encrypt(tcp); err == nil {
		s.client = imapclient.New(s.wire, nil)
		err = s.login()
	}
	if err != nil {
		err = s.failure(err) // before the goodbye, which may fail too
		s.close()
		return nil, err
	}
	return s, nil
}

// encrypt does the handshake, after STARTTLS where that is the mode.
func (s *session) encrypt(tcp net.Conn) error {
	if s.stage = atGreeting; s.config.TLS == None {
		return nil
	}
	if s.config.TLS == StartTLS {
		if err := s.startTLS(tcp); err != nil {
			return err
		}
		s.wire.greeting = "* OK encrypted\r\n" // go-imap waits for one; no second one comes
	}
	s.stage = atTLS
	secure := tls.Client(tcp, &tls.Config{ServerName: s.config.name(), RootCAs: s.config.RootCAs, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(s.ctx); err != nil {
		return err
	}
	s.wire.Conn, s.stage = secure, atSecure
	return nil
}

// startTLS asks for TLS (RFC 9051 section 6.2.1), by hand: go-imap would put TLS
// above our wire, where errors lose their kind. It takes no octet too many, so
// that what somebody has pushed in behind the server's OK becomes part of the
// handshake, and spoils it. PREAUTH is no greeting here (section 7.1.4).
func (s *session) startTLS(tcp net.Conn) error {
	greeting, err := readLine(tcp)
	if err != nil {
		return err
	}
	if bye, ok := cutFold(greeting, "* BYE "); ok {
		return &imap.Error{Type: imap.StatusResponseTypeBye, Text: bye}
	}
	if _, ok := cutFold(greeting, "* OK"); !ok {
		return errNotIMAP
	}
	s.stage = atStartTLS
	if _, err := io.WriteString(tcp, "S1 STARTTLS\r\n"); err != nil {
		return err
	}
	for range maxLines {
		line, err := readLine(tcp)
		answer, ours := cutFold(line, "S1 ")
		if _, ok := cutFold(answer, "OK"); err != nil || ok {
			return err
		}
		if ours {
			return &imap.Error{Type: imap.StatusResponseTypeNo, Text: answer}
		}
	}
	return errTooMuch
}

// readLine reads one octet at a time, and not one beyond the line.
func readLine(from io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxLine; {
		if _, err := io.ReadFull(from, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return strings.TrimRight(string(line), "\r"), nil
		}
		line = append(line, b[0])
	}
	return "", errTooMuch
}

// cutFold is strings.CutPrefix, whatever the case.
func cutFold(s, prefix string) (after string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// login waits for the greeting and says who we are: by AUTHENTICATE PLAIN, which
// knows what letters outside ASCII are in a password (RFC 4616), or else by
// LOGIN, unless the server forbids that (RFC 9051 section 6.2.3).
func (s *session) login() error {
	if err := s.client.WaitGreeting(); err != nil {
		return err
	}
	s.stage = atLogin
	if s.client.State() == imap.ConnStateAuthenticated {
		return s.askCaps() // PREAUTH
	}
	if err := s.askCaps(); err != nil {
		return err
	}
	var err error
	switch c := s.config; {
	case s.caps.Has("AUTH=PLAIN"):
		err = s.client.Authenticate(sasl.NewPlainClient("", c.Username, c.Password))
	case s.caps.Has(imap.CapLoginDisabled):
		err = errNoLogin
	default:
		err = s.client.Login(c.Username, c.Password).Wait()
	}
	if err != nil {
		return err
	}
	s.stage = atFolders
	return s.askCaps()
}

// askCaps asks what the server can do. That changes with TLS and with the login,
// and go-imap may still show what was before.
func (s *session) askCaps() error {
	caps, err := s.client.Capability().Wait()
	if _, refused := errors.AsType[*imap.Error](err); err != nil && !refused {
		return err
	}
	s.caps = caps
	return nil
}

// close says goodbye, for which the server gets a moment, and leaves nothing.
func (s *session) close() {
	s.uncut()
	if s.client == nil {
		s.wire.Close()
		return
	}
	if s.wire.failed() == nil && s.ctx.Err() == nil && s.client.State() != imap.ConnStateLogout {
		end, _ := s.ctx.Deadline()
		if moment := time.Now().Add(goodbyeTime); moment.Before(end) {
			end = moment
		}
		s.wire.tcp.SetDeadline(end)
		s.client.Logout().Wait()
	}
	s.client.Close()
}
