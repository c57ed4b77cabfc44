package server

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"formledger/relay/signed"
)

// Caller is a form server that may call, and what it may have sent.
type Caller struct {
	// Name is for the configuration, the logs and the table of calls, which
	// remembers claims under it: after a change of name the relay tells nothing
	// any more about claims of before.
	Name string
	Keys *signed.Keys
	// From and To are the addresses that its messages may come from and go to.
	// Only the address counts, not the name beside it.
	From, To []string
	// AnyRecipient allows every address in To. It needs a DailyLimit, so that a
	// stolen key is no open relay.
	AnyRecipient bool
	// DailyLimit is how many mails may be sent within 24 hours, one for each
	// recipient of a message; 0 is no limit. Proven failures do not count.
	DailyLimit int
}

// maxRecipients is the most recipients of a message: every mail server has to
// take as many (RFC 5321 section 4.5.3.1.8). A list of allowed addresses is no
// limit by itself, as a message can name one of them a thousand times.
const maxRecipients = 100

// caller is a Caller that was checked.
type caller struct {
	Caller
	from, to []string // as addressOf spells them
}

func newCaller(c Caller) (*caller, error) {
	if c.Name == "" || c.Keys == nil {
		return nil, errors.New("a caller has no name, or no keys")
	}
	known := &caller{Caller: c}
	var err error
	if known.from, err = addresses(c.From); err != nil {
		return nil, fmt.Errorf("caller %q, from: %w", c.Name, err)
	}
	if known.to, err = addresses(c.To); err != nil {
		return nil, fmt.Errorf("caller %q, to: %w", c.Name, err)
	}
	switch {
	case len(known.from) == 0:
		return nil, fmt.Errorf("caller %q may send from no address", c.Name)
	case len(known.to) == 0 && !c.AnyRecipient:
		return nil, fmt.Errorf("caller %q may send to no address", c.Name)
	case c.DailyLimit < 0:
		return nil, fmt.Errorf("caller %q: a daily limit of %d", c.Name, c.DailyLimit)
	case c.AnyRecipient && c.DailyLimit == 0:
		return nil, fmt.Errorf("caller %q may send to any address, so it needs a daily limit", c.Name)
	}
	return known, nil
}

// addresses reads a list of the configuration.
func addresses(texts []string) ([]string, error) {
	list := []string{} // not nil: it becomes JSON
	for _, text := range texts {
		address, err := addressOf(text)
		if err != nil {
			return nil, err
		}
		list = append(list, address)
	}
	return list, nil
}

// addressOf is the bare address of "Name <a@b>", with its domain in lower case:
// domains are case-blind, local parts are not (RFC 5321 section 2.4).
func addressOf(text string) (string, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return "", fmt.Errorf("address %q: %w", text, err)
	}
	at := strings.LastIndexByte(a.Address, '@')
	return a.Address[:at] + strings.ToLower(a.Address[at:]), nil
}

// maySendFrom reports whether the sender is one of the caller's.
func (c *caller) maySendFrom(text string) bool {
	address, err := addressOf(text)
	return err == nil && slices.Contains(c.from, address)
}

// maySendTo reports whether the caller may send to all of the recipients.
func (c *caller) maySendTo(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		address, err := addressOf(text)
		return err != nil || !c.AnyRecipient && !slices.Contains(c.to, address)
	})
}

// hello is what the caller learns of itself.
func (c *caller) hello() (from, to []string) {
	if c.AnyRecipient {
		return c.from, append(slices.Clone(c.to), "any")
	}
	return c.from, c.to
}
