package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/relay/signed"
)

// FuzzCall hands any headers and body to the relay. Nothing of it makes a row
// unless it is signed, and the right thing is.
func FuzzCall(f *testing.F) {
	b := newBench(f)
	handler := b.server.Handler()
	id := uuid.NewString()
	r, _, err := b.form.request(signed.PathSend, signed.TagSend, id, "{}")
	must(f, err)
	h := r.Header
	f.Add(signed.PathSend, r.Host, id, h.Get("Content-Type"), h.Get("Content-Digest"), h.Get("Signature-Input"), h.Get("Signature"), "{}")
	f.Add(signed.PathInquire, "", "", "", "", "", "", "")
	f.Add(signed.PathHello, "x", noSubmission, "application/json", "sha-256=::", "sig1=()", "sig1=::", "{}")
	f.Fuzz(func(t *testing.T, path, host, id, kind, digest, input, signature, body string) {
		r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}, Host: host, Header: http.Header{
			"Content-Type": {kind}, "Content-Digest": {digest}, "Signature-Input": {input}, "Signature": {signature}, "Relay-Submission-Id": {id},
		}, Body: http.NoBody, ContentLength: int64(len(body))}
		r.Body = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).Body
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusOK && w.Header().Get("Signature") != "" || w.Code == http.StatusInternalServerError {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		b.t = t
		b.wantRows(0)
		b.wantMails(0)
	})
}

// FuzzSignedBody signs any body, as somebody with a stolen key could. Nothing
// panics, no mail leaves for an address that is not the caller's, and every
// signed answer is about a claim that has a row.
func FuzzSignedBody(f *testing.F) {
	b := newBench(f)
	handler := b.server.Handler()
	m := b.message()
	f.Add(m.SubmissionID.String(), jsonOf(m), true)
	f.Add(m.SubmissionID.String(), jsonOf(inquiryOf(m, false)), false)
	f.Add("", "", true)
	f.Fuzz(func(t *testing.T, id, body string, send bool) {
		path, tag := signed.PathInquire, signed.TagInquiry
		if send {
			path, tag = signed.PathSend, signed.TagSend
		}
		r := httptest.NewRequest(http.MethodPost, "http://relay.example"+path, strings.NewReader(body))
		_, err := b.form.keys.SignCall(r, "relay.example", tag, id, []byte(body), time.Now(), strings.NewReader(strings.Repeat("n", 18)))
		must(t, err)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s", w.Body)
		}
		if w.Header().Get("Signature") != "" {
			a, err := signed.ParseAnswer(w.Body.Bytes())
			must(t, err)
			if _, err := find(b.calls.db, a.Claim); err != nil && a.Status != signed.StatusUnseen {
				t.Errorf("%v: %+v", err, a)
			}
		}
		for _, mail := range b.box.mails {
			if len(mail.To) == 0 || !shopOf(b).maySendTo(mail.To) || !shopOf(b).maySendFrom(mail.From) {
				t.Errorf("sent from %q to %q", mail.From, mail.To)
			}
		}
		b.box.mails = nil
	})
}

func shopOf(b *bench) *caller {
	return (*b.server.callers.Load())[signed.Key{Name: b.form.keys.Names()[0], Direction: signed.Call}.ID()]
}
