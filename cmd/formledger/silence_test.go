//go:build linux

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Words that stand nowhere else, in all that a visitor sends.
const (
	canaryName    = "Quetzalcoatl"
	canaryMessage = "xylophone-canary"
	canaryMail    = "canary.bird@visitor.example"
	canaryAddress = "203.0.113.77"
	canaryBrowser = "CanaryBrowser"
	canaryField   = "canary_field"
)

var canaries = []string{canaryName, canaryMessage, canaryMail, "canary.bird", canaryAddress, canaryBrowser, canaryField, "127.0.0.1"}

// sings makes every kind of request, with the canaries in each.
func sings(t *testing.T, p *process) (ids []uuid.UUID) {
	t.Helper()
	w := newWords()
	w.Name, w.Email, w.Message = canaryName, canaryMail, canaryMessage
	send := func(r request) answer {
		return p.send(r.with("X-Forwarded-For", canaryAddress).with("User-Agent", canaryBrowser))
	}
	further := w.urlencoded()
	further.body += "&" + canaryField + "=" + canaryMessage
	first := send(further)
	if !first.is(http.StatusCreated, "accepted") {
		t.Fatalf("got %v", first)
	}
	derived, other, invalid := w, w, w
	derived.ID, other.Message, invalid.Email = uuid.Nil, canaryMessage+"!", canaryMail+"@"
	invalid.ID = newWords().ID
	again := send(derived.json())
	for _, r := range []request{
		further, other.json(), invalid.json(), other.json().with("Accept", "text/html"), invalid.urlencoded().with("Accept", "text/html"),
		{contentType: "application/json", body: `{"name": "` + canaryName + `"`}, {contentType: "text/plain", body: canaryMessage},
		{contentType: "application/json", body: `{"submission_id": "` + canaryName + `"}`},
		{contentType: "application/json", body: `{"message": "` + strings.Repeat(canaryMessage, 10_000) + `"}`},
		w.json().with("Origin", "https://"+canaryName+".example"), w.json().with("Idempotency-Key", newWords().ID.String()),
	} {
		send(r)
	}
	ids = []uuid.UUID{w.ID, invalid.ID, uuid.MustParse(again.ID)}
	for _, id := range ids {
		p.receipt(id)
		p.get("/receipts/"+id.String(), "text/html")
		p.get("/f/contact?submission_id="+id.String()+"&name="+canaryName, "text/html")
	}
	for _, path := range []string{"/" + canaryName, "/f/" + canaryName, "/receipts/" + canaryName, "/receipts/%zz?" + canaryMessage} {
		_, _ = get(p.base+path, "text/html") // not every one can be sent
	}
	for _, bytes := range []string{canaryMessage + "\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "POST /f/contact HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + canaryName,
		"GET / HTTP/1.1\r\nHost: " + canaryName + "\r\n" + strings.Repeat("X: "+canaryMessage+"\r\n", 2000) + "\r\n"} {
		throw(t, p, bytes)
	}
	return ids
}

// throw sends bytes that are no good request, and hangs up.
func throw(t *testing.T, p *process, bytes string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
	must(t, err)
	defer c.Close()
	_, _ = io.WriteString(c, bytes) // the server may have hung up before
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}

func TestTheLogHoldsNoWordNoAddressAndNoID(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	p := s.start("")
	ids := sings(t, p)
	p.stop()
	log := p.log.String()
	lines := 0
	for line := range strings.Lines(log) {
		lines++
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["msg"] == nil || entry["time"] == nil || entry["level"] == nil {
			t.Errorf("not a line of JSON: %q, %v", line, err)
		}
	}
	if lines < 20 || !strings.Contains(log, `"route":"/f/:form"`) {
		t.Errorf("the log says too little:\n%s", log)
	}
	for _, id := range ids {
		wantWithout(t, "the log", log, id.String())
	}
	wantWithout(t, "the log", log, canaries...)
}

func TestPromise8TheLedgerHoldsNoWordOfTheEnquiry(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	p := s.start("")
	ids := sings(t, p)
	searched := ""
	for range 2 { // while it runs, with its log beside it, and afterwards
		for path, text := range files(t, filepath.Join(s.data, "ledger")) {
			searched += text
			wantWithout(t, path, text, canaries...)
			wantWithout(t, path, text, "Repair", "office@shop.example")
		}
		p.stop()
		p = s.start("")
	}
	if !strings.Contains(searched, ids[0].String()) {
		t.Error("the search does not even find the ID")
	}
	if mails := strings.Join(s.mails(), "\n"); !strings.Contains(mails, canaryMessage) || !strings.Contains(mails, canaryField) {
		t.Errorf("the words are not even in the mail:\n%s", mails)
	}
}

func wantWithout(t *testing.T, where, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if at := strings.Index(strings.ToLower(text), strings.ToLower(w)); at >= 0 {
			t.Errorf("%s holds %q: …%q…", where, w, text[max(0, at-80):min(len(text), at+80)])
		}
	}
}
