//go:build linux

package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// written is an enquiry as it stands in a form.
type written struct{ name, email, services, message string }

var (
	adas   = written{"Ada", "ada@example.org", "Advice Repair", "Hello\nthere"}
	second = written{"Ada", "ada@example.org", "Other", "A second thought"}
)

var services = strings.Fields("Advice Repair Other")

const (
	nameField    = `//input[@name="name"]`
	emailField   = `//input[@name="email"]`
	messageField = `//textarea[@name="message"]`
)

func serviceBox(service string) string {
	return fmt.Sprintf(`//input[@name="services"][@value=%q]`, service)
}

func (v *tab) fillIn(w written) {
	v.t.Helper()
	v.write(nameField, w.name)
	v.write(emailField, w.email)
	v.write(messageField, w.message)
	for _, s := range services {
		if v.ticked(s) != strings.Contains(w.services, s) {
			v.click(serviceBox(s))
		}
	}
}

func (v *tab) ticked(service string) (is bool) {
	v.t.Helper()
	v.read(serviceBox(service), "/property/checked", &is)
	return is
}

func (v *tab) value(xpath string) (value string) {
	v.t.Helper()
	v.read(xpath, "/property/value", &value)
	return value
}

// wantWritten compares what stands in the form.
func (v *tab) wantWritten(want written) {
	v.t.Helper()
	got := written{name: v.value(nameField), email: v.value(emailField), message: v.value(messageField)}
	var ticked []string
	for _, s := range services {
		if v.ticked(s) {
			ticked = append(ticked, s)
		}
	}
	got.services = strings.Join(ticked, " ")
	if got != want {
		v.t.Errorf("in the form stands %q, want %q", got, want)
	}
}

func (v *tab) submissionID() uuid.UUID {
	v.t.Helper()
	id, err := uuid.Parse(v.value(`//input[@name="submission_id"]`))
	must(v.t, err)
	return id
}

func (v *tab) wantID(want uuid.UUID) {
	v.t.Helper()
	if got := v.submissionID(); got != want {
		v.t.Errorf("the form has the ID %s, want %s", got, want)
	}
}

func (k *kit) hostedForm() string { return k.url + "/f/contact" }

func (k *kit) receiptPage(id uuid.UUID) string { return k.url + "/receipts/" + id.String() }

// sends fills in the hosted form, presses its button, and arrives at the receipt.
func (v *tab) sends(k *kit, w written) uuid.UUID {
	v.t.Helper()
	v.open(k.hostedForm())
	id := v.submissionID()
	v.fillIn(w)
	v.press("Send message")
	v.arrives(k.receiptPage(id))
	return id
}

// webSite is somebody's web site, on an origin of its own.
type webSite struct {
	url string
	mux *http.ServeMux
}

func newSite(t *testing.T) *webSite {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return &webSite{url: s.URL, mux: mux}
}

func (s *webSite) page(path, content string, header ...string) {
	s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		fmt.Fprint(w, `<!DOCTYPE html><meta name="viewport" content="width=device-width">`+content)
	})
}

// decides is the operator's word on an uncertain enquiry.
func (k *kit) decides(id uuid.UUID, kind ledger.DecisionKind) {
	k.t.Helper()
	must(k.t, k.ledger.Decide(k.t.Context(), ledger.Decision{Seen: k.row(id), Kind: kind, By: "ada", Note: "looked", At: time.Now()}))
}

// leavesInDoubt sends an enquiry whose mail may or may not have gone out.
func (v *tab) leavesInDoubt(k *kit) uuid.UUID {
	v.t.Helper()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	id := v.sends(k, adas)
	k.far.well()
	v.sees("Please check with us first", "Call 030 901820", string(ledger.ReferenceOf(id)))
	return id
}

// withStaticForm is a site whose page has a copied form without an ID, and the
// server that takes it.
func withStaticForm(t *testing.T, fields string, change ...func(*options)) (*webSite, *kit) {
	t.Helper()
	s := newSite(t)
	listed := func(o *options) { o.form.Origins = []string{s.url} }
	k := newKit(t, append(change, listed)...)
	s.page("/contact", fmt.Sprintf(`<title>Our garden</title>
		<form method="post" action=%q accept-charset="utf-8">%s<button>Send</button></form>`, k.hostedForm(), fields))
	return s, k
}

const copiedFields = `<input name="name"><input name="email"><textarea name="message"></textarea>
	<input type="checkbox" name="services" value="Advice"><input type="checkbox" name="services" value="Repair">
	<input type="checkbox" name="services" value="Other">`
