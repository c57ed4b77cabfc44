package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/desk"
	"formledger/relay/mailbox"
)

// mailboxSettings is the table [mailbox]: where the mail arrives, so that an
// uncertain message can be looked for. Nothing but the desk uses it.
type mailboxSettings struct {
	Host         string   `toml:"host"`
	Port         int      `toml:"port"`
	TLS          string   `toml:"tls"` // implicit, starttls, none
	Username     string   `toml:"username"`
	PasswordFile string   `toml:"password_file"`
	CAFile       string   `toml:"ca_file"`
	Folders      []string `toml:"folders"`

	password string
}

// check finds what cannot work before any secret is read.
func (s *mailboxSettings) check() error {
	if s == nil {
		return nil
	}
	c := s.server()
	c.Password = "not read yet"
	return c.Check()
}

func (s *mailboxSettings) server() mailbox.Config {
	return mailbox.Config{Host: s.Host, Port: s.Port, TLS: s.TLS, Username: s.Username, Password: s.password, Folders: s.Folders}
}

// readPassword takes the password from the environment, or from its file.
func (s *mailboxSettings) readPassword(env environment) error {
	if s == nil {
		return nil
	}
	s.password = env.MailboxPassword
	file := firstOf(env.MailboxPasswordFile, s.PasswordFile)
	if s.password != "" || file == "" {
		return nil
	}
	text, err := readPrivate(file, "the mailbox's password")
	s.password = strings.TrimRight(text, "\r\n")
	return err
}

// reach is the mailbox with all that a login needs.
func (s *mailboxSettings) reach() (mailbox.Config, error) {
	if s.password == "" {
		return mailbox.Config{}, fmt.Errorf("[mailbox] has no password: name its file as password_file, or set %[1]sMAILBOX_PASSWORD or %[1]sMAILBOX_PASSWORD_FILE", envPrefix)
	}
	c := s.server()
	var err error
	c.RootCAs, err = authorities(s.CAFile)
	return c, err
}

// mailbox is where the desk looks for mails; nil if there is none to look into.
func (c config) mailbox() desk.Mailbox {
	if c.Mailbox == nil {
		return nil
	}
	reached, err := c.Mailbox.reach()
	if err != nil {
		return unreachable{err}
	}
	return reached
}

// unreachable is a mailbox that the configuration does not say enough about. It
// hinders nobody but those who search it.
type unreachable struct{ why error }

func (u unreachable) Search(context.Context, string) (mailbox.Result, error) {
	return mailbox.Result{}, u.why
}

// messageID is the Message-ID of a row's mail, as relay.Compose wrote it.
func (c config) messageID(row ledger.Submission) (string, error) {
	form := c.formNamed(row.Form)
	if form == nil {
		return "", fmt.Errorf("the form %q is not in the configuration", row.Form)
	}
	keys, err := c.openKeys()
	if err != nil {
		return "", err
	}
	left, err := keys.MessageID(row.ID, row.PayloadHash)
	if errors.Is(err, ledger.ErrUnknownKey) {
		return "", fmt.Errorf("the payload key of this message is not in %s", c.PayloadKeys)
	}
	return relay.MessageIDOf(form.Def().From, left), err
}

// nobodysID is a Message-ID that no mail has.
const nobodysID = "formledger.doctor@formledger.invalid"

// examineMailbox logs in, and searches for a mail that is not there.
func examineMailbox(ctx context.Context, cfg config) []finding {
	const subject = "mailbox"
	if cfg.Mailbox == nil {
		return nil
	}
	reached, err := cfg.Mailbox.reach()
	if err != nil {
		return []finding{fail(subject, err.Error(), "correct the table [mailbox]")}
	}
	result, err := reached.Search(ctx, nobodysID)
	if err != nil {
		return []finding{fail(subject, err.Error(), "correct the table [mailbox]; without it you look into the mailbox yourself")}
	}
	all := []finding{ok(subject, fmt.Sprintf("%s takes the login; searched for evidence: %s", cfg.Mailbox.Host, strings.Join(result.Searched, ", ")))}
	for _, s := range result.Skipped {
		all = append(all, warn(subject+", folder "+s.Folder, s.Reason, "correct folders in [mailbox], or leave them out"))
	}
	return all
}
