package main

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

// relaySettings is the table [relay] of a form server: the relay on another
// machine that takes the mail.
type relaySettings struct {
	URL       string `toml:"url"`
	Keys      string `toml:"keys"` // a file
	CAFile    string `toml:"ca_file"`
	Plain     bool   `toml:"plain"`     // http:// to another machine
	Reconcile string `toml:"reconcile"` // how often uncertain rows are asked about, or "off"

	keys  *signed.Keys
	every time.Duration // 0: never by itself
}

const (
	// relayMargin is what a call through a relay takes beside the relay's own
	// conversation with its mail server: the way there, and its records.
	relayMargin      = 45 * time.Second
	defaultReconcile = 5 * time.Minute
)

// check finds what cannot work before any secret is read.
func (s *relaySettings) check() error {
	if s == nil {
		return nil
	}
	_, err := signed.New(signed.Config{URL: s.URL, Plain: s.Plain, Keys: &signed.Keys{}})
	if err != nil {
		return err
	}
	switch s.Reconcile {
	case "":
		s.every = defaultReconcile
	case "off":
		s.every = 0
	default:
		if s.every, err = time.ParseDuration(s.Reconcile); err != nil || s.every < time.Minute {
			return fmt.Errorf("reconcile %q: want a time of a minute or more, like \"5m\", or \"off\"", s.Reconcile)
		}
	}
	return nil
}

// readKeys takes the keys from the environment, or from their file.
func (s *relaySettings) readKeys(env environment) error {
	if s == nil {
		return nil
	}
	text, file := env.RelayKeys, firstOf(env.RelayKeysFile, s.Keys)
	if text == "" && file == "" {
		return nil // whoever only looks at the ledger may not have them
	}
	var err error
	if text == "" {
		if text, err = readPrivate(file, "the relay keys"); err != nil {
			return err
		}
	}
	s.keys, err = signed.ParseKeys(text)
	return err
}

func (s *relaySettings) sender() (*signed.Sender, error) {
	if s.keys == nil {
		return nil, fmt.Errorf("[relay] has no keys: name their file as keys, or set %[1]sRELAY_KEYS or %[1]sRELAY_KEYS_FILE; formledger keygen relay makes them", envPrefix)
	}
	roots, err := authorities(s.CAFile)
	if err != nil {
		return nil, err
	}
	return signed.New(signed.Config{URL: s.URL, Keys: s.keys, Plain: s.Plain, RootCAs: roots})
}

// reloadKeys lets a sender that signs its calls use the keys as they are now.
func reloadKeys(s relay.Sender, again func() (config, error)) error {
	far, signs := s.(*signed.Sender)
	if !signs {
		return nil
	}
	cfg, err := again()
	if err != nil {
		return err
	}
	if cfg.Relay == nil || cfg.Relay.keys == nil {
		return errors.New("the configuration has no [relay] with keys any more")
	}
	far.UseKeys(cfg.Relay.keys)
	return nil
}

// inquirer is the relay that can be asked; nil if there is none.
func (c config) inquirer() (relay.Remembering, error) {
	if c.Relay == nil || c.Relay.keys == nil {
		return nil, nil
	}
	return c.Relay.sender()
}

// examineRelay asks the relay who it is: its answer proves that the keys match.
func examineRelay(ctx context.Context, cfg config) []finding {
	sender, err := cfg.Relay.sender()
	if err != nil {
		return []finding{fail("relay", err.Error(), "correct the table [relay]")}
	}
	if err := cfg.Relay.keys.Check(time.Now()); err != nil {
		return []finding{fail("relay keys", err.Error(), "make new ones with formledger keygen relay, for both ends")}
	}
	all := []finding{ok("relay keys", strings.Join(cfg.Relay.keys.Names(), ", "))}
	asked := time.Now()
	hello, cause := sender.Hello(ctx)
	if cause != (relay.Cause{}) {
		return append(all, fail("relay", fmt.Sprintf("no answer from %s that counts (%s)", cfg.Relay.URL, cause), signed.Explain(cause, cfg.Relay.URL)))
	}
	all = append(all, ok("relay", cfg.Relay.URL+" answers, and its keys are ours; its memory is "+hello.Epoch), examineClocks(asked, hello.Time, time.Now()))
	for _, f := range cfg.forms {
		all = append(all, examineAllowed(f.Def().Name, hello, f.Def().From, f.Def().To))
	}
	return all
}

// clocksApart is how far two clocks may be apart before calls are refused as
// expired soon.
const clocksApart = 15 * time.Second

// examineClocks compares the relay's clock with ours, which was read before and
// after.
func examineClocks(before, there, after time.Time) finding {
	apart := time.Duration(0)
	if there.Before(before) {
		apart = before.Sub(there)
	} else if there.After(after) {
		apart = there.Sub(after)
	}
	detail := fmt.Sprintf("this machine's and the relay's are %s apart", apart.Round(time.Second))
	switch {
	case apart >= signed.CallLife:
		return fail("clocks", detail, "set both: the relay refuses calls as too old")
	case apart >= clocksApart:
		return warn("clocks", detail, "let both systems keep the time: a minute apart, and the relay refuses calls")
	}
	return ok("clocks", detail)
}

// examineAllowed tells whether the relay lets our key send what a form sends.
func examineAllowed(form string, hello signed.Hello, from string, to []string) finding {
	subject := fmt.Sprintf("form %s at the relay", form)
	if !listed(hello.From, from) {
		return fail(subject, "the relay does not let this key send from "+from, "add it to the caller's from in the relay's configuration")
	}
	for _, address := range to {
		if !listed(hello.To, address) && !slices.Contains(hello.To, anybody) {
			return fail(subject, "the relay does not let this key send to "+address, "add it to the caller's to in the relay's configuration")
		}
	}
	return ok(subject, "its sender and its recipients are allowed")
}

// listed compares addresses alone; their names do not matter.
func listed(all []string, one string) bool {
	return slices.ContainsFunc(all, func(a string) bool { return strings.EqualFold(bare(a), bare(one)) })
}

func bare(address string) string {
	a, err := mail.ParseAddress(address)
	if err != nil {
		return address
	}
	return a.Address
}

// anybody stands for every recipient.
const anybody = "any"
