package intake_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

// Secrets of the tests, of nobody else.
const (
	newSecret = "new-secret-0123456789"
	oldSecret = "old-secret-0123456789"
	strange   = "not-our-secret-0123456789"
)

const orderBody = `{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"id":"cs_1"}}}`

// shop is a form that takes the webhooks of w, for tests to spoil.
func shop(w enquiry.Webhook) enquiry.Definition {
	w.SecretsFile = "shop.secrets"
	if w.OrderPath == "" {
		w.OrderPath = "data.object.id"
	}
	return enquiry.Definition{
		Name: "shop", Intake: "webhook", Webhook: &w,
		To: enquiry.Recipients{"owner@example.com"}, From: "shop@example.com", Contact: "Call 01234 567890.",
		Fields: []enquiry.Field{
			{Name: "name", Kind: enquiry.Text, Path: "data.object.customer.name"},
			{Name: "email", Kind: enquiry.Email, Path: "data.object.customer.email"},
			{Name: "amount", Kind: enquiry.Text, Path: "data.object.amount"},
			{Name: "first_sku", Kind: enquiry.Text, Path: "data.object.lines.0.sku"},
			{Name: "tags", Kind: enquiry.Multi, Options: []string{"gift", "rush", "7", "true"}, Path: "data.object.tags"},
			{Name: "terms", Kind: enquiry.Checkbox, Path: "data.object.terms"},
		},
	}
}

func form(t testing.TB, d enquiry.Definition) *enquiry.Form {
	t.Helper()
	f, faults := enquiry.Compile(d)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f
}

// open compiles the hook of a definition whose secrets file holds text.
func open(t testing.TB, d enquiry.Definition, secrets string) *intake.Hook {
	t.Helper()
	h, faults := compileHook(form(t, d), secrets, "")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return h
}

func compileHook(f *enquiry.Form, secrets, template string) (*intake.Hook, []enquiry.Fault) {
	return intake.Compile(f, func(file string) (string, error) {
		if file != "shop.secrets" {
			return "", os.ErrNotExist
		}
		return secrets, nil
	}, func(file string) ([]byte, error) {
		if file != "mail.txt" {
			return nil, os.ErrNotExist
		}
		return []byte(template), nil
	})
}

// request is a webhook on its way, and when it arrives.
type request struct {
	header http.Header
	body   string
	now    time.Time
}

func (r request) at(h *intake.Hook) (intake.Order, error) {
	return h.Open(r.header, []byte(r.body), r.now)
}

// attack is a line of a table: what is done to a good request, and how it is answered.
type attack struct {
	name string
	do   func(*request)
	want error // nil: the order is taken
}

// run opens every request of a table, and looks at what the errors say.
func run(t *testing.T, h *intake.Hook, good func() request, attacks []attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			r := good()
			a.do(&r)
			order, err := r.at(h)
			if !errors.Is(err, a.want) {
				t.Fatalf("got %v, want %v", err, a.want)
			}
			if (err == nil) != (order.ID != "") || err != nil && len(order.Raw.Names()) > 0 {
				t.Errorf("%v goes with the order %+v", err, order)
			}
			tellsNothing(t, err, r)
		})
	}
}

// tellsNothing checks that an error may be logged.
func tellsNothing(t *testing.T, err error, r request) {
	t.Helper()
	if err == nil {
		return
	}
	hidden := []string{newSecret, oldSecret, "cs_1", "Ada", "ada@"}
	for name := range r.header {
		hidden = append(hidden, r.header.Values(name)...)
	}
	for _, s := range hidden {
		if len(s) > 3 && strings.Contains(err.Error(), s) {
			t.Errorf("the error %q tells %q", err, s)
		}
	}
}

func set(name, value string) func(*request) {
	return func(r *request) { r.header.Set(name, value) }
}

func change(name string, how func(string) string) func(*request) {
	return func(r *request) { r.header.Set(name, how(r.header.Get(name))) }
}

func add(name, value string) func(*request) {
	return func(r *request) { r.header.Add(name, value) }
}

func remove(name string) func(*request) {
	return func(r *request) { r.header.Del(name) }
}

func later(d time.Duration) func(*request) {
	return func(r *request) { r.now = r.now.Add(d) }
}

func body(s string) func(*request) {
	return func(r *request) { r.body = s }
}

func nothing(*request) {}

// mac is HMAC-SHA-256.
func mac(secret string, parts ...string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	fmt.Fprint(h, strings.Join(parts, ""))
	return h.Sum(nil)
}

func hexMAC(secret string, parts ...string) string { return fmt.Sprintf("%x", mac(secret, parts...)) }
