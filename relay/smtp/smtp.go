// Package smtp is the relay that hands a message to an SMTP server, and tells
// the endings of that conversation apart (RFC 5321): not sent, refused for good,
// accepted, unknown.
//
// go-mail dials, does TLS and AUTH. MAIL, RCPT, DATA, the body and the final dot
// are a short loop of our own, because only whoever writes the dot knows whether
// a broken line came before it or after. The server takes over responsibility by
// its 2xx to the dot (RFC 5321 section 6.1), and not a byte earlier:
//
//	the line breaks, or a reply comes           verdict
//	before the dot is written; 4xx before it    not sent
//	5xx to MAIL, RCPT, DATA or the dot          not sent, for good
//	4xx to the dot                              not sent
//	2xx to the dot, whatever QUIT does          accepted
//	after the dot, no complete reply            unknown
//
// A server that refuses before MAIL refuses us, and not this message: that is
// never for good, and neither is a demand for authentication.
package smtp

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"formledger/relay"
	"formledger/relay/smtp/syntax"
)

// TLSMode is how the connection gets encrypted.
type TLSMode string

const (
	StartTLS TLSMode = "starttls" // in the conversation, always (RFC 3207); port 587
	Implicit TLSMode = "implicit" // from the first byte (RFC 8314); port 465
	Plain    TLSMode = "none"     // not at all; port 25
)

// ports are the usual ones; they also list the modes that exist.
func ports() map[TLSMode]int { return map[TLSMode]int{StartTLS: 587, Implicit: 465, Plain: 25} }

// Config is one SMTP server and how to log in there.
type Config struct {
	Host string  // name or IP address; its certificate has to carry it
	Port int     // 0: 587, 465 or 25, by TLS
	TLS  TLSMode // empty: StartTLS

	// Without a Username there is no AUTH. In mode Plain there is one only if
	// Host is this very machine (localhost, 127.0.0.0/8, ::1).
	Username, Password string

	// Auth pins the mechanism: PLAIN, LOGIN, CRAM-MD5, SCRAM-SHA-1,
	// SCRAM-SHA-256 (both also with -PLUS) or XOAUTH2. Empty: the strongest that
	// the server offers.
	Auth string

	HelloName string         // what we call ourselves in EHLO; empty: the host name
	RootCAs   *x509.CertPool // nil: those of the system
	Deadlines Deadlines      // a zero one is the default
}

// Sender delivers to one SMTP server. It is safe for concurrent use; each
// message has a connection of its own.
type Sender struct {
	config Config
	auths  []gomail.SMTPAuthType
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	source func(encoded []byte) io.Reader // of the body as it goes over the wire
}

// New checks the configuration and fills in what is usual. It dials nothing.
func New(c Config) (*Sender, error) {
	c, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	auths, err := c.mechanisms()
	if err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	s := &Sender{config: c, auths: auths, dial: (&net.Dialer{}).DialContext,
		source: func(encoded []byte) io.Reader { return bytes.NewReader(encoded) }}
	if _, err := s.client(&call{}); err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	return s, nil
}

// complete fills in the defaults, and finds what cannot work.
func (c Config) complete() (Config, error) {
	if c.TLS == "" {
		c.TLS = StartTLS
	}
	port, known := ports()[c.TLS]
	if !known {
		return c, fmt.Errorf("TLS mode %q: want %s, %s or %s", c.TLS, StartTLS, Implicit, Plain)
	}
	if c.Port == 0 {
		c.Port = port
	}
	c.Deadlines = c.Deadlines.orDefaults()
	return c, errors.Join(c.checkServer(), c.checkLogin(), c.Deadlines.check())
}

func (c Config) checkServer() error {
	switch {
	case c.Host == "" || !syntax.VisibleASCII(c.Host) || strings.ContainsAny(c.Host, "/@"):
		return fmt.Errorf("host %q: want a name or an IP address, in ASCII", c.Host)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("port %d: want 1 to 65535", c.Port)
	case !syntax.VisibleASCII(c.HelloName):
		return fmt.Errorf("EHLO name %q: want a host name", c.HelloName)
	}
	return nil
}

// checkLogin refuses what would be misread inside AUTH (a NUL separates the
// fields of PLAIN, RFC 4616), and a password that travels in the clear.
func (c Config) checkLogin() error {
	switch {
	case (c.Username == "") != (c.Password == ""):
		return errors.New("user name and password: want both or neither")
	case strings.ContainsFunc(c.Username+c.Password, unicode.IsControl):
		return errors.New("user name or password: holds a control character")
	case c.Username == "" && c.Auth != "":
		return fmt.Errorf("mechanism %q: needs a user name and a password", c.Auth)
	case c.Username != "" && c.TLS == Plain && !loopback(c.Host):
		return fmt.Errorf("TLS mode %s with a password: only for a server on this machine, or the password can be read on the way", Plain)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) address() string {
	return net.JoinHostPort(strings.Trim(c.Host, "[]"), strconv.Itoa(c.Port))
}

// Send hands the message over in at most one connection and one transaction.
// Accepted means that the server replied 2xx to the final dot; the receipt is
// "smtp:" and that reply, and lists the recipients that were refused.
//
// It takes Deadlines.Total at most. ctx is heeded all the way: before the dot
// its end makes the call not sent, and after it unknown. So its deadline should
// be no shorter than Total.
func (s *Sender) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	c := &call{sender: s, config: s.config, ctx: ctx, lease: lease, mail: m, stage: stageConnect}
	v := c.run()
	v.Unreached = v.Finding == relay.NotSent && v.Cause.BeforeMessage()
	if v.Finding != relay.Accepted {
		c.talk.Note(v.Finding.String() + ": " + v.Cause.String())
	}
	v.Conversation = c.talk.String()
	return v
}
