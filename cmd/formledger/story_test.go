//go:build linux

package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// demo starts formledger without any configuration, in an empty folder.
func demo(t *testing.T) (*site, *process) {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, data: filepath.Join(dir, defaultData)}
	return s, launch(t, dir, nil, "serve", "--listen", "127.0.0.1:0").serving()
}

func TestTheDemoTellsWhereItsPageAndItsMailAre(t *testing.T) {
	t.Parallel()
	s, p := demo(t)
	for _, want := range []string{p.base + "/f/contact", filepath.Join(s.data, "mail"), "Ctrl+C"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, p.out)
		}
	}
	page := p.get("/f/contact", "text/html")
	for _, want := range []string{`name="name"`, `name="email"`, `name="services"`, `name="message"`, `name="submission_id"`} {
		if page.Status != http.StatusOK || !strings.Contains(page.Text, want) {
			t.Errorf("%s is not in the page, %v", want, page)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := p.get(path, "*/*"); a.Status != http.StatusOK {
			t.Errorf("%s: %v", path, a)
		}
	}
	p.stop()
}

func TestTheStoryOfTheReadme(t *testing.T) {
	t.Parallel()
	s, p := demo(t)
	w := newWords()
	first := p.post(w, http.StatusCreated, "accepted")
	if first.ID != w.ID.String() || !strings.HasSuffix(first.Header.Get("Location"), "/receipts/"+w.ID.String()) {
		t.Errorf("ID or Location is wrong: %v, %v", first, first.Header)
	}
	again := p.replay(w)
	if again.Receipt != first.Receipt || again.Reference != first.Reference || first.Receipt == "" {
		t.Errorf("another receipt: first %v, then %v", first, again)
	}
	s.wantMails(1)
	if mail := s.mails()[0]; !strings.Contains(mail, "X-Submission-Reference: "+first.Reference) {
		t.Errorf("the reference %s is not in the mail\n%s", first.Reference, mail)
	}
	missing := newWords()
	missing.Email = ""
	refused := p.post(missing, http.StatusUnprocessableEntity, "invalid")
	if len(refused.Errors) != 1 || refused.Errors[0].Field != "email" {
		t.Errorf("the answer does not name the field: %v", refused)
	}
	if a := p.receipt(missing.ID); !a.is(http.StatusNotFound, "unseen") {
		t.Errorf("an invalid enquiry is recorded: %v", a)
	}
	s.wantMails(1)
}

func TestPromise3OneIDOneContentForEver(t *testing.T) {
	t.Parallel()
	s, p := demo(t)
	w := newWords()
	p.post(w, http.StatusCreated, "accepted")
	other := w
	other.Message += " Soon!"
	p.post(other, http.StatusConflict, "conflict")
	p.stop()
	p = launch(t, s.dir, nil, "serve", "--listen", "127.0.0.1:0").serving()
	p.post(other, http.StatusConflict, "conflict")
	p.replay(w)
	s.wantMails(1)
}

// The same enquiry is the same in every encoding and from every browser.
func TestOneEnquiryInEveryEncodingIsOneMail(t *testing.T) {
	t.Parallel()
	s, p := demo(t)
	w := newWords()
	p.post(w, http.StatusCreated, "accepted")
	crlf, turned := w, w
	crlf.Message = strings.ReplaceAll(w.Message, "\n", "\r\n")
	turned.Services = slices.Clone(w.Services)
	slices.Reverse(turned.Services)
	headerOnly := w
	headerOnly.ID = uuid.Nil
	for name, r := range map[string]request{
		"urlencoded": w.urlencoded(), "multipart": w.multipart(), "CRLF in JSON": crlf.json(), "CRLF urlencoded": crlf.urlencoded(),
		"CRLF multipart": crlf.multipart(), "services turned": turned.json(), "services turned, urlencoded": turned.urlencoded(),
		"ID in the header": headerOnly.json().with("Idempotency-Key", `"`+w.ID.String()+`"`),
	} {
		if a := p.send(r); !a.replayed() {
			t.Errorf("%s: %v", name, a)
		}
	}
	s.wantMails(1)
}

// A static form sends no ID. Whoever reloads is one person; whoever sits at
// another address, or at another browser, is not.
func TestAStaticFormWithoutIDs(t *testing.T) {
	t.Parallel()
	s, p := demo(t)
	w := newWords()
	w.ID = uuid.Nil
	from := func(address, browser string) answer {
		return p.send(w.urlencoded().with("X-Forwarded-For", address).with("User-Agent", browser))
	}
	one := from("203.0.113.1", "one")
	s.wantMails(1)
	if reload := from("203.0.113.1", "one"); !reload.replayed() || reload.ID != one.ID {
		t.Errorf("a reload: %v, after %v", reload, one)
	}
	s.wantMails(1)
	ids := []string{one.ID}
	for _, a := range []answer{from("203.0.113.2", "one"), from("203.0.113.1", "two")} {
		if !a.is(http.StatusCreated, "accepted") || slices.Contains(ids, a.ID) {
			t.Errorf("another person: %v, after %v", a, ids)
		}
		ids = append(ids, a.ID)
	}
	s.wantMails(3)
}
