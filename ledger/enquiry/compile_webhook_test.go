package enquiry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"formledger/ledger/enquiry"
)

// paid is a webhook's form without faults, for tests to spoil.
func paid() enquiry.Definition {
	d := good()
	d.Intake = "webhook"
	d.Webhook = &enquiry.Webhook{
		Scheme: "timestamped", Header: "Stripe-Signature", SecretsFile: "secrets",
		EventPath: "type", Events: []string{"order.paid"}, OrderPath: "data.object.id",
	}
	for i := range d.Fields {
		d.Fields[i].Path = "data." + d.Fields[i].Name
	}
	return d
}

var webhookFaults = []struct {
	path, says string
	spoil      func(*def)
}{
	{"[intake]", `"form" or "webhook"`, func(d *def) { d.Intake = "Webhook" }},
	{"[webhook]", "needs a table [form.webhook]", func(d *def) { d.Webhook = nil }},
	{"[webhook]", "only a form with intake", func(d *def) { d.Intake = "form" }},
	{"[field 1 path]", "only a form with intake", func(d *def) { d.Intake, d.Webhook = "", nil }},
	{"[to]", "to_path", func(d *def) { d.To = nil }},
	{"[contact]", "contact line", func(d *def) { d.Contact = "" }},
	{"[origins]", "from a server", func(d *def) { d.Origins = []string{"https://example.com"} }},
	{"[thanks_url]", "nobody waits", func(d *def) { d.ThanksURL = "https://example.com/thanks" }},
	{"[undeclared]", "only the fields with a path", func(d *def) { d.Undeclared = "keep" }},
	{"[webhook scheme]", `"standard", "hmac" or "timestamped"`, hooked(func(w *hook) { w.Scheme = "" })},
	{"[webhook scheme]", `"standard", "hmac" or "timestamped"`, hooked(func(w *hook) { w.Scheme = "HMAC" })},
	{"[webhook header]", "headers of its own", hooked(func(w *hook) { w.Scheme = "standard" })},
	{"[webhook header]", "name of the header", hooked(func(w *hook) { w.Header = "" })},
	{"[webhook header]", "name of the header", hooked(func(w *hook) { w.Scheme, w.Header = "hmac", "X Signature:" })},
	{"[webhook secrets_file]", "signing secret", hooked(func(w *hook) { w.SecretsFile = "" })},
	{"[webhook encoding]", "only the scheme hmac", hooked(func(w *hook) { w.Encoding = "hex" })},
	{"[webhook encoding]", `"hex" or "base64"`, hooked(func(w *hook) { w.Scheme, w.Encoding = "hmac", "base32" })},
	{"[webhook tolerance]", "tells no time", hooked(func(w *hook) { w.Scheme, w.Tolerance = "hmac", time.Minute })},
	{"[webhook tolerance]", "24 hours", hooked(func(w *hook) { w.Tolerance = -time.Second })},
	{"[webhook tolerance]", "24 hours", hooked(func(w *hook) { w.Tolerance = 24*time.Hour + 1 })},
	{"[webhook order_path]", "is needed", hooked(func(w *hook) { w.OrderPath = "" })},
	{"[webhook order_path]", "not a path", hooked(func(w *hook) { w.OrderPath = "data..id" })},
	{"[webhook order_path]", "not a path", hooked(func(w *hook) { w.OrderPath = ".data" })},
	{"[webhook order_path]", "not a path", hooked(func(w *hook) { w.OrderPath = "$.data.id" })},
	{"[webhook to_path]", "not a path", hooked(func(w *hook) { w.ToPath = "data.emails[0]" })},
	{"[webhook to_path]", "not a path", hooked(func(w *hook) { w.ToPath = "data. email" })},
	{"[webhook event_path]", "not a path", hooked(func(w *hook) { w.EventPath = "type." })},
	{"[webhook event_path]", "not a path", hooked(func(w *hook) { w.EventPath = "a\nb" })},
	{"[webhook events]", "go together", hooked(func(w *hook) { w.EventPath = "" })},
	{"[webhook events]", "go together", hooked(func(w *hook) { w.Events = nil })},
	{"[webhook events 1]", "twice", hooked(func(w *hook) { w.Events = append(w.Events, "order.paid") })},
	{"[webhook events 0]", "1 to 200", hooked(func(w *hook) { w.Events[0] = " " })},
	{"[webhook events 0]", "1 to 200", hooked(func(w *hook) { w.Events[0] = strings.Repeat("x", 201) })},
	{"[webhook events 0]", "one line", hooked(func(w *hook) { w.Events[0] = "a\nb" })},
	{"[field 0 path]", "needs a path", func(d *def) { d.Fields[0].Path = "" }},
	{"[field 2 path]", "not a path", func(d *def) { d.Fields[2].Path = "data.[0]" }},
}

type hook = enquiry.Webhook

func hooked(spoil func(*hook)) func(*def) {
	return func(d *def) { spoil(d.Webhook) }
}

func TestCompileWebhookFaults(t *testing.T) {
	for _, c := range webhookFaults {
		t.Run(c.path+c.says, func(t *testing.T) {
			d := paid()
			c.spoil(&d)
			wantFault(t, d, c.path, c.says)
		})
	}
}

func TestCompileWebhookDefaults(t *testing.T) {
	for scheme, want := range map[string]string{"standard": "|5m0s", "timestamped": "|5m0s", "hmac": "hex|0s"} {
		given := paid()
		given.Webhook.Scheme = scheme
		if scheme == "standard" {
			given.Webhook.Header = ""
		}
		f := compile(t, given)
		d := f.Def()
		if got := fmt.Sprint(d.Webhook.Encoding, "|", d.Webhook.Tolerance); got != want || d.Undeclared != "refuse" || !f.IsWebhook() {
			t.Errorf("%s: got %s, undeclared %s; want %s", scheme, got, d.Undeclared, want)
		}
		if given.Webhook.Tolerance != 0 || given.Webhook.Encoding != "" {
			t.Errorf("%s: the definition was changed", scheme)
		}
	}
	if f := compile(t, good()); f.IsWebhook() || f.Def().Intake != "form" {
		t.Error("a form is for visitors, if nothing else is said")
	}
}

func TestCompileTakesWebhooks(t *testing.T) {
	for name, change := range map[string]func(*def){
		"to the customer":       func(d *def) { d.To, d.Webhook.ToPath = nil, "data.object.customer_details.email" },
		"every body":            hooked(func(w *hook) { w.EventPath, w.Events = "", nil }),
		"base64":                hooked(func(w *hook) { w.Scheme, w.Encoding = "hmac", "base64" }),
		"a day":                 hooked(func(w *hook) { w.Tolerance = 24 * time.Hour }),
		"names and numbers":     hooked(func(w *hook) { w.OrderPath = "lines.0.Order ID.ü-_/@" }),
		"refuse, which it does": func(d *def) { d.Undeclared = "refuse" },
		"policy queue":          func(d *def) { d.Policy = "queue" },
	} {
		t.Run(name, func(t *testing.T) {
			d := paid()
			change(&d)
			compile(t, d)
		})
	}
}

func TestWebhookTOML(t *testing.T) {
	const text = `
name = "shop"
intake = "webhook"
from = "shop@example.com"
contact = "Call 01234 567890."

[webhook]
scheme = "standard"
secrets_file = "shop.secrets"
tolerance = "90s"
order_path = "data.id"
to_path = "data.email"

[[field]]
name = "name"
kind = "text"
path = "data.name"
`
	var d enquiry.Definition
	meta, err := toml.Decode(text, &d)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	if got := compile(t, d).Def().Webhook.Tolerance; got != 90*time.Second {
		t.Errorf("tolerance %s", got)
	}
}

func TestMailAddress(t *testing.T) {
	for _, s := range takenValues["email"] {
		got, ok := enquiry.MailAddress(" " + s + "\n")
		e, _ := kindForm(t, nil).Check(rawOf([][]string{{"email", s}}))
		if !ok || got != e.Get("email")[0] {
			t.Errorf("%q: %q, %v", s, got, ok)
		}
	}
	for _, s := range append([]string{"", " ", "a@example.com\nb@example.com", "a@example.com\x00", "\xff"}, refusedValues["email"]...) {
		if got, ok := enquiry.MailAddress(s); ok {
			t.Errorf("%q was taken as %q", s, got)
		}
	}
}
