package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"formledger/relay"
	"formledger/relay/maildir"
	"formledger/relay/smtp"
)

// smtpSettings is the table [smtp]: the server that takes the mail.
type smtpSettings struct {
	Host         string `toml:"host"`
	Port         int    `toml:"port"`
	TLS          string `toml:"tls"` // starttls, implicit, none
	Username     string `toml:"username"`
	PasswordFile string `toml:"password_file"`
	Auth         string `toml:"auth"`
	Hello        string `toml:"hello"`
	CAFile       string `toml:"ca_file"`
	DKIMSelector string `toml:"dkim_selector"` // for formledger doctor alone

	password string
}

// timing fills in the deadlines that the file leaves out. A call over SMTP may
// take long, because the server has two minutes to answer for the message.
func (s settings) timing() relay.Timing {
	t, usual := s.Timing, relay.DefaultTiming()
	if s.SMTP != nil {
		usual = usual.For(smtp.DefaultDeadlines().Total())
	}
	t.Answer = orUsual(t.Answer, usual.Answer)
	t.Call = orUsual(t.Call, usual.Call)
	t.Settle = orUsual(t.Settle, usual.Settle)
	t.Lease = orUsual(t.Lease, usual.Lease)
	t.Sweep = orUsual(t.Sweep, usual.Sweep)
	t.Unsent = orUsual(t.Unsent, usual.Unsent)
	return t
}

func orUsual[T comparable](set, usual T) T {
	var unset T
	if set == unset {
		return usual
	}
	return set
}

// check finds what cannot work before any secret is read.
func (s *smtpSettings) check() error {
	if s == nil {
		return nil
	}
	c := s.server(nil)
	if c.Username != "" {
		c.Password = "not read yet"
	}
	_, err := smtp.New(c)
	return err
}

// server is the sender's configuration.
func (s *smtpSettings) server(roots *x509.CertPool) smtp.Config {
	return smtp.Config{Host: s.Host, Port: s.Port, TLS: smtp.TLSMode(s.TLS), Username: s.Username,
		Password: s.password, Auth: s.Auth, HelloName: s.Hello, RootCAs: roots}
}

// readSecrets takes the password from the environment, or from its file.
func (s *settings) readSecrets(env environment) error {
	if s.SMTP == nil {
		return nil
	}
	s.SMTP.password = env.SMTPPassword
	file := firstOf(env.SMTPPasswordFile, s.SMTP.PasswordFile)
	if s.SMTP.password != "" || file == "" {
		return nil
	}
	text, err := readPrivate(file, "the mail server's password")
	s.SMTP.password = strings.TrimRight(text, "\r\n")
	return err
}

// sender is where the mail goes: an SMTP server if there is one, or else the
// Maildir.
func (c config) sender() (relay.Sender, error) {
	if c.SMTP == nil {
		return maildir.New(c.Maildir)
	}
	return c.smtpSender()
}

func (c config) smtpSender() (*smtp.Sender, error) {
	server, err := c.smtpServer()
	if err != nil {
		return nil, err
	}
	return smtp.New(server)
}

// smtpServer needs the password, which whoever only looks at the ledger may not
// have in the environment.
func (c config) smtpServer() (smtp.Config, error) {
	if c.SMTP.Username != "" && c.SMTP.password == "" {
		return smtp.Config{}, fmt.Errorf("[smtp] has a username and no password: name its file as password_file, or set %[1]sSMTP_PASSWORD or %[1]sSMTP_PASSWORD_FILE", envPrefix)
	}
	roots, err := authorities(c.SMTP.CAFile)
	return c.SMTP.server(roots), err
}

// authorities reads the certificates that the mail server's is trusted by; nil
// are those of the system.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("ca_file: " + file + " holds no certificate in PEM form")
	}
	return pool, nil
}

// mailGoes says to a person where the mail goes.
func (c config) mailGoes() string {
	if c.SMTP != nil {
		return "through the mail server " + c.SMTP.Host
	}
	path, err := filepath.Abs(c.Maildir)
	if err != nil {
		path = c.Maildir
	}
	return path + " (new messages are in its folder new)"
}
