package main

import (
	"context"
	"fmt"
	"strings"

	"formledger/relay/desk"
)

// alertSettings is the table [alert]: whoever is told when sending has stopped.
type alertSettings struct {
	URL        string `toml:"url"`
	SecretFile string `toml:"secret_file"`

	secret string
}

// check finds what cannot work before any secret is read.
func (s *alertSettings) check() error {
	if s == nil {
		return nil
	}
	return desk.CheckWebhook(s.URL)
}

// readSecret takes the secret from the environment, or from its file.
func (s *alertSettings) readSecret(env environment) error {
	if s == nil {
		return nil
	}
	s.secret = env.AlertSecret
	file := firstOf(env.AlertSecretFile, s.SecretFile)
	if s.secret != "" || file == "" {
		return nil // whoever only looks at the ledger may not have it
	}
	text, err := readPrivate(file, "the alert's secret")
	s.secret = strings.TrimSpace(text)
	return err
}

// raise tells somebody beside the operator's queue; nil if nobody is to be told.
func (c config) raise() (func(context.Context, desk.Alert) error, error) {
	if c.Alert == nil {
		return nil, nil
	}
	if c.Alert.secret == "" {
		return nil, fmt.Errorf("[alert] has no secret: name its file as secret_file, or set %[1]sALERT_SECRET or %[1]sALERT_SECRET_FILE", envPrefix)
	}
	hook, err := desk.NewWebhook(c.Alert.URL, c.Alert.secret)
	if err != nil {
		return nil, err
	}
	return hook.Raise, nil
}

// examineAlert looks at the way on which somebody is told. It tells nobody.
func examineAlert(cfg config) []finding {
	_, err := cfg.raise()
	switch {
	case cfg.Alert == nil && !cfg.keepsWords():
		return nil
	case cfg.Alert == nil:
		return []finding{warn("alert", "nobody is told when sending has stopped; it only stands in formledger list",
			"set url and secret_file in [alert], or look at the list every day")}
	case err != nil:
		return []finding{fail("alert", err.Error(), "correct the table [alert]")}
	case !strings.HasPrefix(cfg.Alert.URL, "https://"):
		return []finding{warn("alert", "it goes to "+desk.HostOf(cfg.Alert.URL)+" without https, so that it can be read on the way",
			"use an https:// address, unless the network is your own")}
	}
	return []finding{ok("alert", "goes to "+desk.HostOf(cfg.Alert.URL)+", signed; it holds no word of a message")}
}
