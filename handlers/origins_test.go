package handlers

import (
	"strings"
	"testing"

	"formledger/relay"
)

const site = "https://www.example.com"

// A page reads an answer without CORS headers as a network failure.
func TestEveryAnswerToAnAllowedPageCanBeReadByIt(t *testing.T) {
	k := newKit(t)
	id := newID()
	check := func(what string, r reply) {
		t.Helper()
		if r.header.Get("Access-Control-Allow-Origin") != site {
			t.Errorf("%s (%d) cannot be read by the page", what, r.status)
		}
		exposed := r.header.Get("Access-Control-Expose-Headers")
		for _, h := range []string{"Location", "Retry-After", "Idempotent-Replayed"} {
			if !strings.Contains(exposed, h) {
				t.Errorf("%s does not expose %s", what, h)
			}
		}
	}
	check("accepted", k.post(words(id), "Origin", site))
	check("a replay", k.post(words(id), "Origin", site))
	check("a conflict", k.post(map[string]any{"submission_id": id.String(), "name": "E", "email": "e@example.org", "message": "x"}, "Origin", site))
	check("invalid", k.post(map[string]any{}, "Origin", site))
	check("too large", k.do("POST", "/f/contact", jsonType, strings.Repeat("a", 1<<20), "Origin", site))
	check("a wrong type", k.do("POST", "/f/contact", "text/plain", "a", "Origin", site))
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	check("not sent", k.post(words(newID()), "Origin", site))
	k.far.answering(relay.Verdict{})
	check("uncertain", k.post(words(newID()), "Origin", site))
	k.server.keys = nil // makes the handler panic
	check("a panic", k.post(words(newID()), "Origin", site))
	if got := k.receipt(id).header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("receipts can be read by %q", got)
	}
}

func TestOriginsThatMayPost(t *testing.T) {
	k := newKit(t)
	for origin, status := range map[string]int{
		"": 201, site: 201, "http://www.example.com": 403, "https://www.example.com.evil.example": 403,
		"https://evil.example": 403, "null": 403, k.url: 201,
	} {
		header := []string{}
		if origin != "" {
			header = []string{"Origin", origin}
		}
		r := k.post(words(newID()), header...)
		if r.status != status {
			t.Errorf("the origin %q is answered with %d, want %d", origin, r.status, status)
		}
		if status == 403 && r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the origin %q may read the answer", origin)
		}
	}
}

func TestNullAndAnyOriginAreAMatterOfConfiguration(t *testing.T) {
	null := newKit(t, func(o *options) { o.form.Origins = []string{"null"} })
	null.post(words(newID()), "Origin", "null").want(t, 201, Accepted)
	null.post(words(newID()), "Origin", site).want(t, 403, "")
	all := newKit(t, func(o *options) { o.form.Origins = []string{"*"} })
	all.post(words(newID()), "Origin", site).want(t, 201, Accepted)
	all.post(words(newID()), "Origin", "null").want(t, 403, "")
}

func TestPreflight(t *testing.T) {
	k := newKit(t)
	r := k.do("OPTIONS", "/f/contact", "", "", "Origin", site, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "content-type,idempotency-key")
	if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != site ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("a preflight is answered with %d %v", r.status, r.header)
	}
	if r := k.do("OPTIONS", "/f/contact", "", "", "Origin", "https://evil.example"); r.status != 403 {
		t.Errorf("another page's preflight is answered with %d", r.status)
	}
	if r := k.do("OPTIONS", "/f/nothing", "", "", "Origin", site); r.status != 404 {
		t.Errorf("an unknown form's preflight is answered with %d", r.status)
	}
}
