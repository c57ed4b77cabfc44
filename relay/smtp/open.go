package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"

	gomail "github.com/wneessen/go-mail"
	gomaillog "github.com/wneessen/go-mail/log"
	gosmtp "github.com/wneessen/go-mail/smtp"

	"formledger/relay/smtp/syntax"
)

// mechanisms are the ways to log in, the strongest first. That the password
// never travels in the clear has been checked, so PLAIN and LOGIN may be among
// them even in mode Plain, on this machine.
func (c Config) mechanisms() ([]gomail.SMTPAuthType, error) {
	all := []gomail.SMTPAuthType{
		gomail.SMTPAuthSCRAMSHA256PLUS, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1PLUS, gomail.SMTPAuthSCRAMSHA1,
		gomail.SMTPAuthCramMD5, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin,
	}
	if c.TLS == Plain {
		all = []gomail.SMTPAuthType{
			gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthCramMD5,
			gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc,
		}
	}
	if c.Auth == "" {
		return all, nil
	}
	for _, one := range append(all, gomail.SMTPAuthXOAUTH2) {
		if strings.EqualFold(strings.TrimSuffix(string(one), "-NOENC"), c.Auth) {
			return []gomail.SMTPAuthType{one}, nil
		}
	}
	return nil, fmt.Errorf("mechanism %q: not known, or needs TLS", c.Auth)
}

// client is go-mail's part of one call. In mode Implicit our own dialling does
// TLS, and go-mail is told to do none on top.
func (s *Sender) client(c *call) (*gomail.Client, error) {
	policy := gomail.NoTLS
	if s.config.TLS == StartTLS {
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(c.tlsConfig(s.config)), gomail.WithTimeout(s.config.Deadlines.Connect),
		gomail.WithDialContextFunc(c.connect), gomail.WithLogger(listener{c}), gomail.WithDebugLog(),
	}
	if s.config.HelloName != "" {
		options = append(options, gomail.WithHELO(s.config.HelloName))
	}
	if s.config.Username != "" {
		options = append(options, gomail.WithUsername(s.config.Username), gomail.WithPassword(s.config.Password))
		options = append(options, s.authOption())
	}
	client, err := gomail.NewClient(s.config.Host, options...)
	if err != nil {
		return nil, err
	}
	client.ErrorHandlerRegistry.SetDefaultHandler(listener{c})
	return client, nil
}

func (s *Sender) authOption() gomail.Option {
	if len(s.auths) == 1 {
		return gomail.WithSMTPAuth(s.auths[0])
	}
	return gomail.WithOpportunisticSMTPAuth(s.auths...)
}

// tlsConfig trusts what the configuration says. go-mail's next command follows
// the handshake without a pause; it gets its time as soon as we know the server.
func (c *call) tlsConfig(config Config) *tls.Config {
	return &tls.Config{
		ServerName: strings.Trim(config.Host, "[]"), RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12,
		VerifyConnection: func(tls.ConnectionState) error {
			c.wire.arm(config.Deadlines.Hello)
			return nil
		},
	}
}

// open connects, greets, encrypts and logs in. It returns the error that came
// first: go-mail carries on after some, and reports what that led to.
func (c *call) open() (*gosmtp.Client, error) {
	client, err := c.sender.client(c)
	if err != nil {
		return nil, err
	}
	conn, err := client.DialToSMTPClientWithContext(c.ctx)
	if c.failure != nil {
		return nil, c.failure
	}
	if err != nil && c.stage == stageBanner {
		c.hear(err)
	}
	return conn, c.halfReply(err)
}

// halfReply corrects an error, or a success: go-mail takes a last line for a
// whole one that the end of the stream has cut.
func (c *call) halfReply(err error) error {
	_, odd := errors.AsType[textproto.ProtocolError](err)
	if c.wire != nil && c.wire.broken != nil && (err == nil || odd) {
		return c.wire.broken
	}
	return err
}

// connect is go-mail's dialling. It is called once; the address that go-mail
// makes of an IPv6 host is wrong.
func (c *call) connect(ctx context.Context, network, _ string) (net.Conn, error) {
	tcp, err := c.sender.dial(ctx, network, c.config.address())
	if err != nil {
		return nil, err
	}
	c.wire = &wire{Conn: tcp, ctx: c.ctx}
	c.uncut = context.AfterFunc(c.ctx, c.wire.cut)
	if c.config.TLS != Implicit {
		c.enter(stageBanner, c.config.Deadlines.Greeting)
		return c.wire, nil
	}
	c.enter(stageTLS, c.config.Deadlines.TLS)
	secure := tls.Client(c.wire, c.tlsConfig(c.config))
	if err := secure.Handshake(); err != nil {
		return nil, err
	}
	c.wire.first, c.wire.wrote = nil, true // ciphertext is no greeting
	c.enter(stageBanner, c.config.Deadlines.Greeting)
	return secure, nil
}

// notOpened names why open failed. go-mail has no kinds for a server that does
// not offer STARTTLS or AUTH at all; how far the call came tells them apart.
func (c *call) notOpened(err error) (code, stage string) {
	code = codeOf(c.ctx, err, c.stage)
	switch {
	case code == codeNoAuth:
		return code, stageAuth
	case code != codeNotConnected:
		return code, c.stage
	case c.stage == stageAuth:
		return codeAuthFailed, stageAuth
	case c.config.TLS == StartTLS && !c.secured:
		return codeNoStartTLS, stageStartTLS
	case c.config.Username != "":
		return codeNoAuth, stageAuth
	}
	return code, c.stage
}

// listener hears what go-mail says and is told, just before a command goes out
// and just after a reply came in. So it knows the stage, gives each step its
// time, and keeps the conversation.
type listener struct{ *call }

// Debugf hears commands, and replies that go-mail found fit.
func (l listener) Debugf(e gomaillog.Log) {
	if e.Direction == gomaillog.DirClientToServer {
		l.command(fmt.Sprintf(e.Format, e.Messages...))
		return
	}
	if code, text, ok := messageOf(e); ok {
		l.replied(syntax.Reply{Code: code, Lines: strings.Split(text, "\n")})
	}
}

func messageOf(e gomaillog.Log) (code int, text string, ok bool) {
	if len(e.Messages) != 2 {
		return 0, "", false
	}
	code, isCode := e.Messages[0].(int)
	text, isText := e.Messages[1].(string)
	return code, text, isCode && isText
}

// The other levels of go-mail's log are not used by its client.
func (l listener) Infof(gomaillog.Log)  {}
func (l listener) Warnf(gomaillog.Log)  {}
func (l listener) Errorf(gomaillog.Log) {}

// command begins a step. HELO, and the "*" and QUIT that follow a failed AUTH,
// get no time of their own. The first write after STARTTLS does the handshake.
func (l listener) command(line string) {
	if l.wire.broken != nil {
		return // go-mail took a half reply for a whole one; nothing more is said
	}
	d := l.config.Deadlines
	verb, _, _ := strings.Cut(line, " ")
	switch {
	case verb == "EHLO" && l.stage == stageStartTLS:
		l.enter(stageTLS, d.TLS)
	case verb == "EHLO":
		l.greeted()
		l.enter(stageEhlo, d.Hello)
	case verb == "STARTTLS":
		l.enter(stageStartTLS, d.StartTLS)
	case verb != "HELO" && verb != "QUIT" && l.stage != stageAuth:
		l.enter(stageAuth, d.Auth)
		line = "AUTH [redacted]"
	case l.stage == stageAuth:
		return
	}
	l.talk.Client(line)
}

// greeted adds the greeting, which go-mail does not pass on. Below TLS it was
// not to be read; there, 220 is what is known of it.
func (l listener) greeted() {
	if len(l.wire.first) == 0 {
		l.talk.Heard("220 [greeting]")
		return
	}
	for line := range strings.Lines(string(l.wire.first)) {
		l.talk.Heard(strings.TrimRight(line, "\r\n"))
	}
}

// replied takes a reply. One to AUTH that is neither a challenge nor a success
// ends the call here: go-mail would go on talking first.
func (l listener) replied(r syntax.Reply) {
	switch {
	case l.stage == stageTLS:
		l.stage, l.secured = stageEhlo, true
	case l.stage == stageAuth && r.Code == 334:
		return
	case l.stage == stageAuth && r.Code != 235:
		l.fail(&textproto.Error{Code: r.Code})
	}
	l.said(r)
}

// said adds a reply. One to AUTH may repeat the login, as it is or as PLAIN
// (RFC 4616) sends it.
func (l listener) said(r syntax.Reply) {
	if l.stage == stageAuth {
		user, password := l.config.Username, l.config.Password
		text := strings.Join(r.Lines, " ")
		r.Lines = []string{syntax.WithoutSecrets(text, "\x00"+user+"\x00"+password, password, user)}
	}
	l.talk.Server(r)
}

// HandleError hears of a reply that go-mail found unfit, or that did not come.
// A server that does not know EHLO may know HELO (RFC 5321 section 4.1.4).
// After anything else nothing more is said: go-mail would try HELO even out of
// step with the server, and take an answer for that of another command.
func (l listener) HandleError(_, command string, _ *textproto.Conn, err error) error {
	if l.stage == stageTLS {
		l.stage, l.secured = stageEhlo, true // the command went out, so the handshake was done
	}
	l.hear(err)
	said, ok := errors.AsType[*textproto.Error](err)
	if command != "ehlo" || l.secured || !ok || said.Code < 500 || said.Code > 504 {
		l.fail(err)
	}
	return err
}

// hear adds what came instead of the reply that was wanted.
func (c *call) hear(err error) {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		listener{c}.said(syntax.Reply{Code: said.Code, Lines: strings.Split(said.Msg, "\n")})
	}
	if odd, ok := errors.AsType[textproto.ProtocolError](err); ok && c.stage != stageAuth {
		c.talk.Heard(string(odd))
	}
}

// fail keeps the first failure and ends the connection.
func (c *call) fail(err error) {
	if c.failure == nil {
		c.failure = c.halfReply(err)
	}
	c.wire.kill(err)
}
