package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"formledger/ledger"
	"formledger/relay/desk"
)

// alertSettings is the table [alert]: whoever is told when a reference needs
// somebody.
type alertSettings struct {
	URL          string        `toml:"url"`
	SecretFile   string        `toml:"secret_file"`
	ServicesFile string        `toml:"services_file"`
	Gather       time.Duration `toml:"gather"`
	Older        time.Duration `toml:"older"`

	secret   string
	services []string // their addresses, which hold secrets
}

const (
	alertLook   = 5 * time.Second
	usualGather = 2 * time.Minute
	usualOlder  = 4 * time.Hour
)

// check finds what cannot work before any secret is read.
func (s *alertSettings) check() error {
	if s == nil {
		return nil
	}
	s.Gather, s.Older = orUsual(s.Gather, usualGather), orUsual(s.Older, usualOlder)
	switch {
	case s.URL == "" && s.SecretFile != "":
		return errors.New("alert: there is a secret_file and no url that it is for")
	case s.Gather < time.Second || s.Gather > time.Hour:
		return fmt.Errorf("alert: gather is %s; it has to be between 1s and 1h", s.Gather)
	case s.Older < time.Minute || s.Older > 7*24*time.Hour:
		return fmt.Errorf("alert: older is %s; it has to be between 1m and 168h", s.Older)
	case s.URL != "":
		return desk.CheckWebhook(s.URL)
	}
	return nil
}

// readAlert takes the secrets from the environment, or from their files. Services
// that only the environment names need no table.
func (s *settings) readAlert(env environment) error {
	if s.Alert == nil && env.AlertServices == "" && env.AlertServicesFile == "" {
		return nil
	}
	if s.Alert == nil {
		s.Alert = &alertSettings{Gather: usualGather, Older: usualOlder}
	}
	return errors.Join(s.Alert.readSecret(env), s.Alert.readServices(env))
}

func (s *alertSettings) readSecret(env environment) error {
	s.secret = env.AlertSecret
	file := firstOf(env.AlertSecretFile, s.SecretFile)
	if s.secret != "" || file == "" || s.URL == "" {
		return nil // whoever only looks at the ledger may not have it
	}
	text, err := readPrivate(file, "the alert's secret")
	s.secret = strings.TrimSpace(text)
	return err
}

// readServices reads one address a line, or several; lines that begin with # are
// comments.
func (s *alertSettings) readServices(env environment) error {
	text, file := env.AlertServices, firstOf(env.AlertServicesFile, s.ServicesFile)
	if text == "" && file != "" {
		var err error
		if text, err = readPrivate(file, "the addresses of the alert's services"); err != nil {
			return err
		}
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			s.services = append(s.services, strings.Fields(line)...)
		}
	}
	return nil
}

// channels are the ways on which somebody is told beside the operator's queue.
func (c config) channels() ([]desk.Channel, error) {
	if c.Alert == nil {
		return nil, nil
	}
	var all []desk.Channel
	if c.Alert.URL != "" {
		hook, err := c.Alert.webhook()
		if err != nil {
			return nil, err
		}
		all = append(all, hook)
	}
	for i, address := range c.Alert.services {
		service, err := desk.NewService(address)
		if err != nil {
			return nil, fmt.Errorf("number %d of the alert's services: %w", i+1, err)
		}
		all = append(all, service)
	}
	return all, nil
}

func (s *alertSettings) webhook() (desk.Channel, error) {
	if s.secret == "" {
		return nil, fmt.Errorf("[alert] has no secret: name its file as secret_file, or set %[1]sALERT_SECRET or %[1]sALERT_SECRET_FILE", envPrefix)
	}
	return desk.NewWebhook(s.URL, s.secret)
}

// watcher tells somebody of what needs them.
func (c config) watcher(l ledger.Ledger, log *slog.Logger) (*desk.Watcher, error) {
	channels, err := c.channels()
	if err != nil {
		return nil, err
	}
	holder, err := ledger.NewToken(rand.Reader)
	if err != nil {
		return nil, err
	}
	w := &desk.Watcher{Ledger: l, Channels: channels, Console: c.Console.URL, Now: time.Now, Log: log,
		Every: alertLook, Gather: usualGather, Older: usualOlder, Holder: holder}
	if c.Alert != nil {
		w.Gather, w.Older = c.Alert.Gather, c.Alert.Older
	}
	return w, nil
}

// consoleSettings is the table [console].
type consoleSettings struct {
	URL string `toml:"url"`
}

// check wants the address that an operator's browser opens.
func (s *consoleSettings) check() error {
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("console: url %q is not an address like https://desk.example.com", s.URL)
	}
	s.URL = strings.TrimRight(s.URL, "/")
	return nil
}
