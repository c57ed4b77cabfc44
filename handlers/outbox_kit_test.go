package handlers

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
	"formledger/relay"
)

// opens lets a courier run beside the server, with a sweeper.
func (k *kit) opens(o options, forms []*enquiry.Form, keys *ledger.KeyRing, log *slog.Logger) *relay.Courier {
	envelopes := map[string]relay.Envelope{}
	for _, f := range forms {
		envelopes[f.Def().Name] = relay.Envelope{From: f.Def().From, To: f.Def().To}
	}
	c := relay.NewCourier(relay.CourierConfig{Ledger: k.ledger, Sender: k.far, Timing: o.timing, Patience: o.patience,
		Seals: ledger.NewSeals(keys), Envelopes: envelopes, Now: k.clock.now, Random: rand.Reader, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	k.t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

// under makes the contact form's policy another one.
func under(p ledger.Policy) func(*options) {
	return func(o *options) { o.form.Policy = string(p) }
}

// orderForm takes a shop's orders, and sends the customer a link.
func orderForm(p ledger.Policy) enquiry.Definition {
	return enquiry.Definition{
		Name: "orders", From: "Shop <shop@example.com>", Subject: "Your order", Contact: "Write to help@example.com",
		Policy: string(p), Intake: "webhook",
		Webhook: &enquiry.Webhook{Scheme: enquiry.HMAC, Header: "X-Signature", SecretsFile: "secrets",
			EventPath: "type", Events: []string{"order.paid", "order.completed"}, OrderPath: "order.id", ToPath: "order.email", TemplateFile: "mail"},
		Fields: []enquiry.Field{
			{Name: "name", Kind: enquiry.Text, Path: "order.name", Rules: "required"},
			{Name: "link", Kind: enquiry.URL, Path: "order.link", Rules: "required"},
		},
	}
}

const hookSecret = "a secret of sixteen bytes and more"

// takesOrders makes the kit take webhooks too.
func takesOrders(p ledger.Policy) func(*options) {
	return func(o *options) {
		o.orders, o.template = orderForm(p), "Hello {{.name}},\nyour download: {{.link}}\n"
	}
}

func (k *kit) hooks(o options) []Hook {
	if o.orders.Name == "" {
		return nil
	}
	form, faults := enquiry.Compile(o.orders)
	if len(faults) > 0 {
		k.t.Fatal(faults)
	}
	hook, faults := intake.Compile(form, func(string) (string, error) { return hookSecret + "\n", nil },
		func(string) ([]byte, error) { return []byte(o.template), nil })
	if len(faults) > 0 {
		k.t.Fatal(faults)
	}
	return []Hook{{form, hook}}
}

func formsOf(hooks []Hook) []*enquiry.Form {
	var forms []*enquiry.Form
	for _, h := range hooks {
		forms = append(forms, h.Form)
	}
	return forms
}

// order is a webhook's body.
func order(id, email string) string {
	return orderEvent("order.paid", id, email)
}

func orderEvent(event, id, email string) string {
	return fmt.Sprintf(`{"type":%q,"order":{"id":%q,"email":%q,"name":"Grace","link":"https://shop.example.com/d/4711"}}`, event, id, email)
}

// webhook posts a signed webhook.
func (k *kit) webhook(body string) reply {
	k.t.Helper()
	return k.do("POST", "/hooks/orders", jsonType, body, "X-Signature", signatureOf(body))
}

func signatureOf(body string) string {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// orderRow is the one row that there is.
func (k *kit) orderRow() ledger.Submission {
	k.t.Helper()
	rows, err := k.ledger.List(k.t.Context(), ledger.Filter{})
	must(k.t, err)
	if len(rows) != 1 {
		k.t.Fatalf("%d rows", len(rows))
	}
	return rows[0]
}

func (k *kit) wantRow(status ledger.Status, needs ledger.Need) ledger.Submission {
	k.t.Helper()
	row := k.orderRow()
	if row.Status != status || row.Needs != needs {
		k.t.Errorf("the row is %s and needs %q, want %s, %q", row.Status, row.Needs, status, needs)
	}
	return row
}

func forPolicies(t *testing.T, test func(t *testing.T, p ledger.Policy), policies ...ledger.Policy) {
	t.Helper()
	for _, p := range policies {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

// refusal concerns the message; down does not.
var (
	refusal = relay.ProvenNotSent("smtp_451", "rcpt")
	down    = relay.Verdict{Finding: relay.NotSent, Unreached: true, Cause: relay.Cause{Code: "refused", Stage: "connect"}}
)

// later moves the clock on.
func (k *kit) later(d time.Duration) { k.clock.move(d) }
