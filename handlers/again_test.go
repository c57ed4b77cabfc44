package handlers

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// A static form knows no ID. If the ledger cannot be asked for a moment, the
// form that comes back must not carry a fresh one: the words may be out already.
func TestAStaticFormThatComesBackCarriesNoFreshID(t *testing.T) {
	k := newKit(t)
	k.static("198.51.100.1")
	k.ledger.Fail("Submission", ledgertest.Before, 1)
	r := k.static("198.51.100.1")
	fields := fieldsOf(r.page(t))
	if r.status != 503 || fields.Has("submission_id") {
		t.Errorf("the form comes back with %d and the ID %q", r.status, fields.Get("submission_id"))
	}
	k.postForm(fields, "X-Forwarded-For", "198.51.100.1", "User-Agent", "Browser/1")
	k.wantMails(1)
}

// What never looked at the ledger cannot tell that a fresh ID makes no duplicate.
func TestRefusalsCallNoFreshIDSafe(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.post(words(id)).want(t, 201, Accepted)
	spoilt := words(id)
	delete(spoilt, "email")
	for name, r := range map[string]reply{
		"half a body": k.do("POST", "/f/contact", jsonType, toJSON(words(id))[:40]),
		"plain text":  k.do("POST", "/f/contact", "text/plain", "a"),
		"too large":   k.do("POST", "/f/contact", jsonType, strings.Repeat("a", 70_000)),
		"invalid":     k.post(spoilt),
	} {
		if r.body.SafeNewID {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
}

func TestAVisitorsAddressIsNotLoggedWhenTheLineBreaks(t *testing.T) {
	k := newKit(t)
	host := strings.TrimPrefix(k.url, "http://")
	for range 20 {
		conn, err := net.Dial("tcp", host)
		must(t, err)
		must(t, conn.(*net.TCPConn).SetLinger(0))
		ask := "GET /nothing HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n"
		_, err = conn.Write([]byte(strings.Repeat(ask, 200)))
		must(t, err)
		must(t, conn.Close())
	}
	eventually(t, "all requests have ended", func() bool { return k.waiters() == 0 })
	if strings.Contains(k.logs.String(), "127.0.0.1") {
		t.Errorf("the log holds an address:\n%s", k.logs)
	}
}

// The hosted form sends its words so that the form's own limit fits, in any
// script.
func TestLongTextsOfEveryScriptArriveFromTheHostedForm(t *testing.T) {
	k := newKit(t)
	page := k.do("GET", "/f/contact", "", "", "Accept", "text/html")
	if !strings.Contains(page.text, `enctype="multipart/form-data"`) {
		t.Error("the hosted form is sent urlencoded, which triples other scripts")
	}
	v := formWords(newID())
	v.Set("message", strings.Repeat("می\u200cخواهم ", 2222)) // 19,998 characters
	contentType, content := multipartOf(t, v)
	if r := k.do("POST", "/f/contact?page", contentType, content, "Accept", "text/html"); r.status != 303 {
		t.Errorf("20,000 characters of Persian are answered with %d", r.status)
	}
	k.wantMails(1)
}

// A page opened under another name than the public one must not be sent away:
// its own policy would block the way to the receipt.
func TestPagesLeadOnByPath(t *testing.T) {
	k := newKit(t, func(o *options) { o.public = "https://forms.example.com" })
	id := newID()
	if got := k.postForm(formWords(id)).header.Get("Location"); got != "/receipts/"+id.String() {
		t.Errorf("a page leads to %q", got)
	}
	if got := k.post(words(id)).header.Get("Location"); got != "https://forms.example.com/receipts/"+id.String() {
		t.Errorf("a program is led to %q", got)
	}
}

func TestALinkCannotChooseTheIDOfAnEnquiry(t *testing.T) {
	k := newKit(t)
	foreign := newID()
	page := k.do("GET", "/f/contact?submission_id="+foreign.String(), "", "", "Accept", "text/html")
	if got := fieldsOf(page.page(t)).Get("submission_id"); got == foreign.String() || uuid.Validate(got) != nil {
		t.Errorf("the form carries the ID %q", got)
	}
}

func TestHeadIsAnsweredAsGet(t *testing.T) {
	k := newKit(t)
	for _, path := range []string{"/healthz", "/readyz", "/f/contact"} {
		if r := k.do(http.MethodHead, path, "", ""); r.status != 200 || r.text != "" {
			t.Errorf("HEAD %s is answered with %d %q", path, r.status, r.text)
		}
	}
}

func TestAnIDIsNotIgnoredInSilence(t *testing.T) {
	k := newKit(t)
	fields := words(newID())
	fields["Submission_ID"] = fields["submission_id"]
	delete(fields, "submission_id")
	if r := k.post(fields); r.status != 400 || !strings.Contains(r.body.Detail, "submission_id") {
		t.Errorf("a misspelt ID is answered with %d %s", r.status, r.text)
	}
	req, err := http.NewRequest("POST", k.url+"/f/contact", strings.NewReader(toJSON(words(newID()))))
	must(t, err)
	req.Header = http.Header{"Content-Type": {jsonType}, "Idempotency-Key": {newID().String(), newID().String()}}
	res, err := k.client.Do(req)
	must(t, err)
	if res.Body.Close(); res.StatusCode != 400 {
		t.Errorf("two keys are answered with %d", res.StatusCode)
	}
	k.wantMails(0)
}

func TestNotReceivedOpensAClosedCase(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(unknown)
	k.post(words(id)).want(t, 409, Uncertain)
	for _, kind := range []ledger.DecisionKind{ledger.Close, ledger.NotReceived} {
		must(t, k.ledger.Decide(t.Context(), ledger.Decision{Seen: k.row(id), Kind: kind, By: "ada", Note: "looked", At: time.Now()}))
	}
	k.far.well()
	k.post(words(id)).want(t, 201, Accepted)
	k.wantMails(1)
}

// Every kind of single-line field tries to add a header, or to break the line.
func TestNoKindOfFieldInjectsAHeader(t *testing.T) {
	k := newKit(t, func(o *options) { o.form.Fields = append(o.form.Fields, oneOfEachKind...) })
	for _, f := range oneOfEachKind {
		for _, attack := range []string{"x\r\nBcc: eve@example.net", "x\nBcc: eve@example.net", "x\rBcc: eve@example.net"} {
			fields := words(newID())
			fields[f.Name] = attack
			if r := k.post(fields); r.status != 422 || r.body.Errors[0].Field != f.Name {
				t.Errorf("%s takes %q: %d %s", f.Kind, attack, r.status, r.text)
			}
		}
	}
	k.wantMails(0)
	k.postForm(url.Values{"name": {"a"}, "email": {"a@b.example"}, "message": {"x"}, "phone": {"030 901820"}})
	k.wantMails(1)
}
