package handlers

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"formledger/ledger"
	"formledger/relay"
)

var ledgerAll = ledger.Filter{}

// page is a parsed answer.
func (r reply) page(t *testing.T) *html.Node {
	t.Helper()
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Fatalf("the answer is no page: %d %v", r.status, r.header)
	}
	n, err := html.Parse(strings.NewReader(r.text))
	must(t, err)
	return n
}

// fieldsOf reads what a browser would send of the page's form.
func fieldsOf(n *html.Node) url.Values {
	v := url.Values{}
	for d := range n.Descendants() {
		name, value := attr(d, "name"), attr(d, "value")
		switch {
		case d.Type != html.ElementNode || name == "":
		case d.Data == "textarea":
			v.Add(name, textOf(d)) // the parser has dropped the newline that a browser drops
		case d.Data == "input" && (attr(d, "type") != "checkbox" || has(d, "checked")):
			v.Add(name, value)
		}
	}
	return v
}

// actionOf reads where the page's form is posted to.
func actionOf(n *html.Node) string {
	for d := range n.Descendants() {
		if d.Data == "form" {
			return attr(d, "action")
		}
	}
	return ""
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func TestTheHostedFormWorksWithoutAScript(t *testing.T) {
	k := newKit(t)
	page := k.do("GET", "/f/contact", "", "", "Accept", "text/html")
	fields := fieldsOf(page.page(t))
	id, err := uuid.Parse(fields.Get("submission_id"))
	if err != nil || id.Version() != 7 {
		t.Fatalf("the form's ID is %q", fields.Get("submission_id"))
	}
	for name, values := range formWords(uuid.Nil) {
		fields[name] = values
	}
	sent := k.postTo(actionOf(page.page(t)), fields)
	if sent.status != 303 || sent.header.Get("Location") != "/receipts/"+id.String() {
		t.Fatalf("the post is answered with %d to %q", sent.status, sent.header.Get("Location"))
	}
	receipt := k.do("GET", sent.header.Get("Location"), "", "", "Accept", "text/html")
	if text := textOf(receipt.page(t)); receipt.status != 200 || !strings.Contains(text, string(ledger.ReferenceOf(id))) || !strings.Contains(text, "Received") {
		t.Errorf("the receipt is %d %s", receipt.status, text)
	}
	again := k.postTo(actionOf(page.page(t)), fields) // a reload, or a double click
	if again.status != 303 {
		t.Errorf("a repeat is answered with %d", again.status)
	}
	k.wantMails(1)
}

// The back button has to bring back the same ID with the words.
func TestTheBrowserMayKeepTheHostedForm(t *testing.T) {
	k := newKit(t)
	page := k.do("GET", "/f/contact", "", "", "Accept", "text/html")
	if got := page.header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("the hosted form is %q", got)
	}
	for d := range page.page(t).Descendants() {
		if d.Data == "form" && attr(d, "action") == "/f/contact" {
			t.Error("the form posts to its page's own address, which drops the page from the browser's cache")
		}
	}
}

func TestInvalidInputComesBackAsTyped(t *testing.T) {
	k := newKit(t)
	id := newID()
	typed := url.Values{"submission_id": {id.String()}, "name": {"<b>Ada</b> & \"co\""}, "email": {"nonsense@"},
		"services": {"Repair"}, "message": {"\n one\n\n two "}, "colour": {"blue", "red"}}
	r := k.postForm(typed)
	if r.status != 422 {
		t.Fatalf("invalid input is answered with %d", r.status)
	}
	page := r.page(t)
	back := fieldsOf(page)
	for name, want := range typed {
		if got := back[name]; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s comes back as %q, typed was %q", name, got, want)
		}
	}
	if !strings.Contains(textOf(page), "e-mail address") {
		t.Error("the page does not say what to correct")
	}
	back.Set("email", "ada@example.org")
	if r := k.postForm(back); r.status != 303 {
		t.Errorf("the corrected form is answered with %d", r.status)
	}
	k.wantMails(1)
}

func TestBackAndNewWordsUnderTheSameIDIsAConflictPage(t *testing.T) {
	k := newKit(t)
	id := newID()
	if r := k.postForm(formWords(id)); r.status != 303 {
		t.Fatal(r.status)
	}
	changed := formWords(id)
	changed.Set("message", "A second thought")
	r := k.postForm(changed)
	if r.status != 409 {
		t.Fatalf("a conflict is answered with %d", r.status)
	}
	page := r.page(t)
	fields := fieldsOf(page)
	if fields.Get("message") != "A second thought" || fields.Get("submission_id") == id.String() {
		t.Errorf("the page holds %v", fields)
	}
	if !strings.Contains(textOf(page), "Send as a new message") {
		t.Error("the page does not offer to send the words as a new message")
	}
	k.wantMails(1)
	if r := k.postForm(fields); r.status != 303 {
		t.Errorf("the new message is answered with %d", r.status)
	}
	k.wantMails(2)
}

func TestWhatWasNotSentComesBackUnderTheSameID(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	r := k.postForm(formWords(id))
	if r.status != 503 || r.header.Get("Retry-After") == "" {
		t.Fatalf("the answer is %d %v", r.status, r.header)
	}
	fields := fieldsOf(r.page(t))
	if fields.Get("submission_id") != id.String() {
		t.Errorf("the page has the ID %q", fields.Get("submission_id"))
	}
	k.far.well()
	if r := k.postForm(fields); r.status != 303 {
		t.Errorf("the second try is answered with %d", r.status)
	}
	k.wantMails(1)
}

func TestAnUncertainPostLeadsToItsReceipt(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	r := k.postForm(formWords(id))
	if r.status != 303 || r.header.Get("Location") != "/receipts/"+id.String() {
		t.Fatalf("the answer is %d to %q", r.status, r.header.Get("Location"))
	}
	text := textOf(k.do("GET", "/receipts/"+id.String(), "", "", "Accept", "text/html").page(t))
	for _, part := range []string{"check with us", "Call 030 901820", string(ledger.ReferenceOf(id))} {
		if !strings.Contains(text, part) {
			t.Errorf("the receipt lacks %q: %s", part, text)
		}
	}
}

func TestOnlyAcceptedGoesToTheThanksPage(t *testing.T) {
	k := newKit(t, func(o *options) { o.form.ThanksURL = "https://www.example.com/thanks" })
	if r := k.postForm(formWords(newID())); r.status != 303 || r.header.Get("Location") != "https://www.example.com/thanks" {
		t.Errorf("accepted goes to %d %q", r.status, r.header.Get("Location"))
	}
	id := newID()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	if r := k.postForm(formWords(id)); r.header.Get("Location") != "/receipts/"+id.String() {
		t.Errorf("uncertain goes to %q", r.header.Get("Location"))
	}
	policy := k.do("GET", "/f/contact", "", "", "Accept", "text/html").header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action 'self' https://www.example.com;") {
		t.Errorf("a browser would block the redirect to the thanks page: %s", policy)
	}
}

func TestPagesOfRefusedRequests(t *testing.T) {
	k := newKit(t)
	for name, c := range map[string]struct {
		method, path, contentType string
		status                    int
	}{
		"unknown form":       {"GET", "/f/nothing", "", 404},
		"unknown form, post": {"POST", "/f/nothing", formType, 404},
		"no such page":       {"GET", "/", "", 404},
		"bad receipt":        {"GET", "/receipts/1", "", 400},
		"wrong method":       {"DELETE", "/f/contact", "", 405},
		"wrong media type":   {"POST", "/f/contact", "text/plain", 415},
	} {
		t.Run(name, func(t *testing.T) {
			r := k.do(c.method, c.path, c.contentType, "a=b", "Accept", "text/html")
			if r.page(t); r.status != c.status {
				t.Errorf("the page is %d, want %d", r.status, c.status)
			}
			if r := k.do(c.method, c.path, c.contentType, "a=b"); r.status != c.status || r.body.Type == "" {
				t.Errorf("the answer is %d %s, want %d", r.status, r.text, c.status)
			}
		})
	}
}

func TestReceiptsFollowTheOperator(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	k.post(words(id)).want(t, 409, Uncertain)
	decide := func(kind ledger.DecisionKind) {
		must(t, k.ledger.Decide(t.Context(), ledger.Decision{Seen: k.row(id), Kind: kind, By: "ada", Note: "looked", At: time.Now()}))
	}
	decide(ledger.NotReceived)
	r := k.do("GET", "/receipts/"+id.String(), "", "", "Accept", "text/html")
	again := "/f/contact?submission_id=" + id.String()
	if !strings.Contains(r.text, again) {
		t.Errorf("the receipt does not offer to send again: %s", r.text)
	}
	fields := fieldsOf(k.do("GET", again, "", "", "Accept", "text/html").page(t))
	if fields.Get("submission_id") != id.String() {
		t.Errorf("the form to send again has the ID %q", fields.Get("submission_id"))
	}
	k.far.well()
	k.post(words(id)).want(t, 201, Accepted)
	k.post(words(id)).want(t, 200, Accepted)
	k.wantMails(1)
	if r := k.do("GET", again, "", ""); r.status != 303 || r.header.Get("Location") != "/receipts/"+id.String() {
		t.Errorf("the form of an enquiry that has arrived is %d %q", r.status, r.header.Get("Location"))
	}

	id = newID()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	k.post(words(id)).want(t, 409, Uncertain)
	decide(ledger.Received)
	k.receipt(id).want(t, 200, Accepted)
	k.post(words(id)).want(t, 200, Accepted)

	id = newID()
	k.post(words(id)).want(t, 409, Uncertain)
	decide(ledger.NotReceived)
	decide(ledger.Close)
	k.receipt(id).want(t, 200, NotSent)
	if r := k.post(words(id)); r.status != 502 || r.body.Retryable || !r.body.SafeNewID {
		t.Errorf("a closed case is answered with %d %s", r.status, r.text)
	}
}
