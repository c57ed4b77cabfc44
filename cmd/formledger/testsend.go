package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"formledger/handlers"
	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/signed"
	"formledger/relay/smtp"
	"formledger/web"
)

func newTestSend(s streams, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "test-send FORM",
		Short: "Send a marked enquiry the whole way, and tell what it met",
		Long: `Send a marked enquiry of a form the whole way: through the ledger, to the mail
server or the mail folder, to the form's recipients. It prints what was said,
with secrets and addresses masked, and what it means.

It is recorded like any other enquiry, and also works while the server runs.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			form, err := cfg.visitorForm(args[0])
			if err != nil {
				return err
			}
			return testSend(c.Context(), cfg, form, s.out)
		},
	}
}

func (c config) formNamed(name string) *enquiry.Form {
	for _, f := range c.forms {
		if f.Def().Name == name {
			return f
		}
	}
	return nil
}

// visitorForm is a form that people fill in. One that takes webhooks has neither
// a page nor a recipient of its own.
func (c config) visitorForm(name string) (*enquiry.Form, error) {
	switch form := c.formNamed(name); {
	case form == nil:
		return nil, usageError{fmt.Errorf("there is no form %q; the configuration has: %s", name, formNames(c))}
	case form.IsWebhook():
		return nil, usageError{fmt.Errorf("the form %q takes webhooks, and no visitors; please name another form", name)}
	default:
		return form, nil
	}
}

func testSend(ctx context.Context, cfg config, form *enquiry.Form, out io.Writer) error {
	keys, err := cfg.firstKeys()
	if err != nil {
		return err
	}
	sender, err := cfg.sender()
	if err != nil {
		return err
	}
	db, err := sqlledger.Open(ctx, cfg.ledgerFile(), sqlledger.Options{})
	if err != nil {
		return err
	}
	verdict := relay.Verdict{}
	hold := relay.NewHold(db, listening(sender, &verdict), cfg.Timing, time.Now, rand.Reader, slog.New(slog.DiscardHandler))
	row, err := sendMarked(ctx, hold, keys, form)
	hold.Close()
	if err == nil && row.Free() {
		err = closeTest(ctx, db, row.ID)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return tell(out, cfg, row, verdict)
}

// closeTest keeps a test that was not sent out of the operator's list: nobody
// will come back to send it again.
func closeTest(ctx context.Context, l ledger.Ledger, id uuid.UUID) error {
	row, err := l.Submission(ctx, id)
	if err != nil {
		return err
	}
	return l.Decide(ctx, ledger.Decision{Seen: row, Kind: ledger.Close, By: operatorName(), Note: "made by test-send", At: time.Now()})
}

// listener keeps the verdict of the one call for the person who asked for it.
type listener struct {
	relay.Sender
	verdict *relay.Verdict
}

func (l listener) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	*l.verdict = l.Sender.Send(ctx, m, lease)
	return *l.verdict
}

// rememberingListener keeps the verdict of a far end that remembers.
type rememberingListener struct {
	relay.Remembering
	listener
}

func (l rememberingListener) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	return l.listener.Send(ctx, m, lease)
}

func listening(s relay.Sender, verdict *relay.Verdict) relay.Sender {
	l := listener{s, verdict}
	if far, ok := s.(relay.Remembering); ok {
		return rememberingListener{far, l}
	}
	return l
}

// sendMarked sends an enquiry that says what it is, as policy hold sends any.
func sendMarked(ctx context.Context, hold *relay.Hold, keys *ledger.KeyRing, form *enquiry.Form) (ledger.Submission, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return ledger.Submission{}, err
	}
	e := enquiry.Enquiry{Form: form.Def().Name, Fields: []enquiry.Value{{Name: "Test",
		Values: []string{"This is a test, made by formledger test-send. Nobody wrote it, and nobody waits for an answer."}}}}
	hash := keys.Hash(e.Canonical())
	messageID, err := keys.MessageID(id, hash)
	if err != nil {
		return ledger.Submission{}, err
	}
	claim, err := hold.Claim(ctx, ledger.NewClaim{ID: id, Form: e.Form, PayloadHash: hash})
	if err != nil {
		return ledger.Submission{}, err
	}
	texts, err := web.LoadTexts()
	if err != nil {
		return ledger.Submission{}, err
	}
	m := relay.Compose(form, e, claim.Row, messageID, handlers.MailWords(texts, form))
	m.Subject = "Test: " + m.Subject
	return hold.Carry(claim, m).Row, nil
}

// tell prints what was said, and what it means. Not accepted is an error.
func tell(out io.Writer, cfg config, row ledger.Submission, v relay.Verdict) error {
	if said := strings.TrimSpace(v.Conversation); said != "" {
		fmt.Fprintf(out, "%s\n\n", said)
	}
	fmt.Fprintf(out, "Reference %s: %s\n", row.Reference, meaning(v))
	if v.Finding == relay.Accepted {
		fmt.Fprintf(out, "Receipt: %s\nNow look whether it arrives, also among the spam.\n", v.Receipt)
		return nil
	}
	return errors.New(advice(cfg, v))
}

func meaning(v relay.Verdict) string {
	switch {
	case v.Finding == relay.Accepted && v.Partly:
		return "accepted, but not for every recipient."
	case v.Finding == relay.Accepted:
		return "accepted. The mail system took the message."
	case v.Finding == relay.NotSent && v.Permanent:
		return "refused for good. Nothing was sent."
	case v.Finding == relay.NotSent:
		return "not sent. Nothing left, by proof."
	default:
		return "unknown. It may or may not have been sent; a visitor would be told to check first."
	}
}

// advice says in one sentence what to change.
func advice(cfg config, v relay.Verdict) string {
	if cfg.Relay != nil {
		return signed.Explain(v.Cause, cfg.Relay.URL)
	}
	if cfg.SMTP == nil {
		return fmt.Sprintf("the mail folder did not take the message (%s)", v.Cause)
	}
	return smtp.Explain(v.Cause, cfg.SMTP.server(nil))
}
