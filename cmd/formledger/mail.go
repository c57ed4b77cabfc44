package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"formledger/relay"
	"formledger/relay/maildir"
	"formledger/relay/smtp"
)

// station is what a form server and a relay have in common: where they listen,
// where they keep things, and where their mail goes.
type station struct {
	Listen    string        `toml:"listen"`
	Data      string        `toml:"data"`
	PublicURL string        `toml:"public_url"`
	Maildir   string        `toml:"maildir"`
	SMTP      *smtpSettings `toml:"smtp"`
}

// place fills in what flags, the environment and the defaults say.
func (s *station) place(p places, listen string, env environment, usualListen, usualData string) {
	s.Listen = firstOf(listen, env.Listen, s.Listen, usualListen)
	s.Data = firstOf(p.data, env.Data, s.Data, usualData)
	s.PublicURL = firstOf(env.PublicURL, s.PublicURL)
	s.Maildir = firstOf(s.Maildir, filepath.Join(s.Data, "mail"))
}

// beside makes relative paths of a file mean the file's own folder.
func (s *station) beside(dir string) {
	beside(dir, &s.Data, &s.Maildir)
	if s.SMTP != nil {
		beside(dir, &s.SMTP.PasswordFile, &s.SMTP.CAFile)
	}
}

// checkPublicURL wants an address without a path.
func (s *station) checkPublicURL() error {
	if s.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || strings.TrimSuffix(s.PublicURL, "/") != u.Scheme+"://"+u.Host {
		return fmt.Errorf("public_url %q is not an address like https://forms.example.com", s.PublicURL)
	}
	s.PublicURL = strings.TrimSuffix(s.PublicURL, "/")
	return nil
}

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
	switch {
	case s.SMTP != nil:
		usual = usual.For(smtp.DefaultDeadlines().Total())
	case s.Relay != nil: // which may be at work with a mail server
		usual = usual.For(smtp.DefaultDeadlines().Total() + relayMargin)
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

// readPassword takes the password from the environment, or from its file.
func (s *station) readPassword(env environment) error {
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

// sender is where the mail goes: a relay on another machine if there is one, or
// else as from here.
func (c config) sender() (relay.Sender, error) {
	if c.Relay != nil {
		return c.Relay.sender()
	}
	return c.mailSender()
}

// mailSender is an SMTP server if there is one, or else the Maildir.
func (s *station) mailSender() (relay.Sender, error) {
	if s.SMTP == nil {
		return maildir.New(s.Maildir)
	}
	return s.smtpSender()
}

func (s *station) smtpSender() (*smtp.Sender, error) {
	server, err := s.smtpServer()
	if err != nil {
		return nil, err
	}
	return smtp.New(server)
}

// smtpServer needs the password, which whoever only looks at the ledger may not
// have in the environment.
func (s *station) smtpServer() (smtp.Config, error) {
	if s.SMTP.Username != "" && s.SMTP.password == "" {
		return smtp.Config{}, fmt.Errorf("[smtp] has a username and no password: name its file as password_file, or set %[1]sSMTP_PASSWORD or %[1]sSMTP_PASSWORD_FILE", envPrefix)
	}
	roots, err := authorities(s.SMTP.CAFile)
	return s.SMTP.server(roots), err
}

// authorities reads the certificates that a server's is trusted by; nil are those
// of the system.
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
	if c.Relay != nil {
		return "to the relay " + c.Relay.URL
	}
	return c.station.mailGoes()
}

func (s *station) mailGoes() string {
	if s.SMTP != nil {
		return "through the mail server " + s.SMTP.Host
	}
	path, err := filepath.Abs(s.Maildir)
	if err != nil {
		path = s.Maildir
	}
	return path + " (new messages are in its folder new)"
}
