package signed

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// wire is a call and its answer, signed, without a network.
type wire struct {
	t        testing.TB
	keys     *Keys
	now      time.Time
	request  *http.Request
	call     []byte
	question Question
	opened   Opened
	answer   http.Header
	body     []byte
}

const wireAuthority = "relay.example"

func newWire(t testing.TB) *wire { return newWireAt(t, testKeys(t), time.Unix(1_800_000_000, 5e8)) }

func newWireAt(t testing.TB, keys *Keys, now time.Time) *wire {
	t.Helper()
	w := &wire{t: t, keys: keys, now: now, call: []byte(`{"call":1}`), body: []byte(`{"answer":1}`), answer: http.Header{}}
	w.request = must1(http.NewRequest(http.MethodPost, "https://"+wireAuthority+PathSend, nil))
	var err error
	w.question, err = keys.SignCall(w.request, wireAuthority, TagSend, message().SubmissionID.String(), w.call, now, strings.NewReader("eighteen bytes long"))
	must(t, err)
	w.opened, err = w.open(w.request)
	must(t, err)
	must(t, keys.SignAnswer(w.answer, http.StatusOK, w.body, w.opened, now))
	return w
}

func (w *wire) open(r *http.Request) (Opened, error) { return w.openAt(r, wireAuthority) }

func (w *wire) openAt(r *http.Request, authority string) (Opened, error) {
	return OpenCall(r, authority, func(id string) (Key, bool) { return w.keys.Find(id, w.now) })
}

func (w *wire) verify(change func(status *int, h http.Header, body *[]byte, q *Question)) error {
	status, header, body, q := http.StatusOK, w.answer.Clone(), w.body, w.question
	change(&status, header, &body, &q)
	return w.keys.VerifyAnswer(status, header, body, q, w.now)
}

func TestBothEndsReadWhatTheOtherSigned(t *testing.T) {
	for _, tag := range []Tag{TagSend, TagInquiry, TagHello} {
		w := newWire(t)
		var err error
		w.question, err = w.keys.SignCall(w.request, wireAuthority, tag, "id", w.call, w.now, strings.NewReader("eighteen bytes long"))
		must(t, err)
		o, err := w.open(w.request)
		must(t, err)
		if o.Question != w.question || o.Tag != tag || o.Key.ID() != "k1.call" || !o.Created.Equal(time.Unix(w.now.Unix(), 0)) || o.Expires.Sub(o.Created) != CallLife {
			t.Errorf("%+v\n%+v", o, w.question)
		}
		must(t, o.CheckBody(w.call))
		if late := o.Late(w.now); late != "" {
			t.Error(late)
		}
		answer := http.Header{}
		must(t, w.keys.SignAnswer(answer, http.StatusOK, w.body, o, w.now))
		must(t, w.keys.VerifyAnswer(http.StatusOK, answer, w.body, w.question, w.now))
	}
}

// Every covered part of a call counts, and so does every way to spell it.
func TestAChangedCallIsNotVerified(t *testing.T) {
	header := func(name string, rewrite func(string) string) func(*http.Request) {
		return func(r *http.Request) {
			was := r.Header.Get(name)
			r.Header.Set(name, rewrite(was))
			if r.Header.Get(name) == was {
				t.Errorf("%s is not changed", name)
			}
		}
	}
	swap := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	input := func(old, new string) func(*http.Request) { return header("Signature-Input", swap(old, new)) }
	cases := map[string]func(*http.Request){
		"method":               func(r *http.Request) { r.Method = http.MethodPut },
		"method in small":      func(r *http.Request) { r.Method = "post" },
		"path":                 func(r *http.Request) { r.URL.Path = PathInquire },
		"path with a slash":    func(r *http.Request) { r.URL.Path += "/" },
		"path escaped":         func(r *http.Request) { r.URL.RawPath = "/v1/%6dessages" },
		"query":                func(r *http.Request) { r.URL.RawQuery = "x=1" },
		"empty query":          func(r *http.Request) { r.URL.ForceQuery = true },
		"content type":         header("Content-Type", swap("json", "xml")),
		"content type, longer": header("Content-Type", func(s string) string { return s + "; charset=utf-8" }),
		"digest":               header("Content-Digest", func(string) string { return digestOf([]byte("other")) }),
		"digest, untidy":       header("Content-Digest", untidy),
		"submission":           header(headerSubmission, func(s string) string { return s[1:] }),
		"submission, capitals": header(headerSubmission, strings.ToUpper),
		"submission, lines":    header(headerSubmission, func(s string) string { return s + "\n\"x\": y" }),
		"signature":            header("Signature", func(s string) string { return "sig1=:" + keyNamed("k1", "x").sign(nil) + ":" }),
		"signature, untidy":    header("Signature", untidy),
		"signature, other one": header("Signature", func(s string) string { return s + ", sig2=:AAAA:" }),
		"label of the input":   input("sig1", "sig2"),
		"created":              input("created=18", "created=17"),
		"created, zeros":       input("created=", "created=0"),
		"expires":              input("expires=18", "expires=19"),
		"expires, sign":        input("expires=", "expires=+"),
		"no expires":           input(";expires=1800000060", ""),
		"nonce":                input(`nonce="`, `nonce="A`),
		"nonce too short":      input(`nonce="ZWlnaHRlZW4gYnl0ZXMgbG9u"`, `nonce="AAAA"`),
		"no nonce":             input(`;nonce="ZWlnaHRlZW4gYnl0ZXMgbG9u"`, ""),
		"key":                  input("k1.call", "k2.call"),
		"key for answers":      input("k1.call", "k1.ack"),
		"key, capitals":        input("k1.call", "K1.call"),
		"key unknown":          input("k1.call", "k9.call"),
		"key of the past":      input("k1.call", "past.call"),
		"key of the future":    input("k1.call", "future.call"),
		"tag":                  input("relay-send-v1", "relay-inquiry-v1"),
		"tag of answers":       input("relay-send-v1", "relay-ack-v1"),
		"tag unknown":          input("relay-send-v1", "relay-send-v2"),
		"parameter more":       header("Signature-Input", func(s string) string { return s + `;alg="hmac-sha256"` }),
		"spaces":               input(";nonce", "; nonce"),
		"component less":       input(`"@path" `, ""),
		"component more":       input(`"@path"`, `"@path" "@query"`),
		"components exchanged": input(`"@method" "@authority"`, `"@authority" "@method"`),
		"two inputs":           header("Signature-Input", func(s string) string { return s + ", " + s }),
		"input too long":       header("Signature-Input", func(s string) string { return s + strings.Repeat(" ", maxHeader) }),
	}
	for _, name := range append([]string{headerSubmission}, signedNames...) {
		cases[name+" missing"] = func(r *http.Request) { r.Header.Del(name) }
		cases[name+" empty"] = func(r *http.Request) { r.Header.Set(name, "") }
		cases[name+" twice"] = func(r *http.Request) { r.Header.Add(name, r.Header.Get(name)) }
		cases[name+" twice, the first empty"] = func(r *http.Request) { r.Header[name] = []string{"", r.Header.Get(name)} }
		cases[name+" with a line end"] = header(name, func(s string) string { return s + "\n" })
		cases[name+" not in ASCII"] = header(name, func(s string) string { return s + "\u00a0" })
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			change(w.request)
			if o, err := w.open(w.request); !errors.Is(err, ErrUnverified) || o.Key.ID() != "." {
				t.Errorf("%v, %+v", err, o)
			}
		})
	}
	w := newWire(t)
	if _, err := w.openAt(w.request, "other.example"); !errors.Is(err, ErrUnverified) {
		t.Errorf("for another relay: %v", err)
	}
	if err := w.opened.CheckBody([]byte("other")); !errors.Is(err, ErrUnverified) {
		t.Errorf("with another body: %v", err)
	}
}

func TestAChangedAnswerIsNotVerified(t *testing.T) {
	type q = *Question
	for name, change := range map[string]func(*int, http.Header, *[]byte, q){
		"status":               func(s *int, _ http.Header, _ *[]byte, _ q) { *s = 201 },
		"body":                 func(_ *int, _ http.Header, b *[]byte, _ q) { *b = []byte("{}") },
		"body missing":         func(_ *int, _ http.Header, b *[]byte, _ q) { *b = nil },
		"to another method":    func(_ *int, _ http.Header, _ *[]byte, q q) { q.Method = "GET" },
		"to another relay":     func(_ *int, _ http.Header, _ *[]byte, q q) { q.Authority = "x" },
		"to another path":      func(_ *int, _ http.Header, _ *[]byte, q q) { q.Path = PathHello },
		"to another content":   func(_ *int, _ http.Header, _ *[]byte, q q) { q.Digest = digestOf(nil) },
		"to another ID":        func(_ *int, _ http.Header, _ *[]byte, q q) { q.SubmissionID = "x" },
		"to another signature": func(_ *int, _ http.Header, _ *[]byte, q q) { q.Signature = "x" },
		"the call's headers": func(_ *int, h http.Header, _ *[]byte, _ q) {
			w := newWire(t)
			for name := range h {
				h[name] = w.request.Header[name]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := newWire(t).verify(change); !errors.Is(err, ErrUnverified) {
				t.Error(err)
			}
		})
	}
	must(t, newWire(t).verify(func(*int, http.Header, *[]byte, q) {}))
}

func TestLateness(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		created, expires time.Duration // from now
		want             string
	}{
		{0, CallLife, ""},
		{-59 * time.Second, time.Second, ""},
		{-CallLife, 0, CodeExpired},
		{-CallLife - time.Hour, -time.Hour, CodeExpired},
		{callSkew, callSkew + CallLife, ""},
		{callSkew + time.Second, callSkew + CallLife, CodeTooEarly},
		{time.Hour, time.Hour + CallLife, CodeTooEarly},
		{0, CallLife + time.Second, CodeTooLong},
		{-time.Hour, time.Hour, CodeTooLong},
		{time.Second, time.Second, ""}, // never lived, and is over in a second
		{-1, -time.Second, CodeExpired},
	} {
		o := Opened{Question: Question{Created: at.Add(c.created)}, Expires: at.Add(c.expires)}
		if got := o.Late(at); got != c.want {
			t.Errorf("created %s, expires %s: %q, want %q", c.created, c.expires, got, c.want)
		}
	}
}

// The form server's clock may be off: what binds an answer is the call's own
// signature.
func TestAnAnswerMayComeFromAWrongClock(t *testing.T) {
	w := newWire(t)
	for _, c := range []struct {
		off  time.Duration
		want bool
	}{{0, true}, {-9 * time.Minute, true}, {9 * time.Minute, true}, {-11 * time.Minute, false}, {11 * time.Minute, false}} {
		h := http.Header{}
		must(t, w.keys.SignAnswer(h, http.StatusOK, w.body, w.opened, w.now.Add(c.off)))
		if err := w.keys.VerifyAnswer(http.StatusOK, h, w.body, w.question, w.now); (err == nil) != c.want {
			t.Errorf("off by %s: %v", c.off, err)
		}
	}
}

func TestAuthority(t *testing.T) {
	for _, c := range []struct {
		host string
		tls  bool
		want string
	}{
		{"relay.example", true, "relay.example"},
		{"Relay.EXAMPLE", true, "relay.example"},
		{"relay.example:443", true, "relay.example"},
		{"relay.example:443", false, "relay.example:443"},
		{"relay.example:80", false, "relay.example"},
		{"relay.example:80", true, "relay.example:80"},
		{"relay.example:8443", true, "relay.example:8443"},
		{"[2001:DB8::443]:443", true, "[2001:db8::443]"},
		{"[2001:db8::443]", true, "[2001:db8::443]"},
	} {
		if got := Authority(c.host, c.tls); got != c.want {
			t.Errorf("%s: %s, want %s", c.host, got, c.want)
		}
	}
}

func TestAddressesOfARelay(t *testing.T) {
	keys := testKeys(t)
	for _, c := range []struct {
		url, address, authority string // no address: refused
		plain                   bool
	}{
		{"https://relay.example", "relay.example:443", "relay.example", false},
		{"https://Relay.example:8443/", "Relay.example:8443", "relay.example:8443", false},
		{"https://[::1]", "[::1]:443", "[::1]", false},
		{"http://127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", false},
		{"http://localhost", "localhost:80", "localhost", false},
		{"http://relay.example", "relay.example:80", "relay.example", true},
		{url: "http://relay.example"}, {url: "http://127.0.0.1.example"}, {url: "ftp://relay.example"}, {url: "relay.example"}, {url: ""},
		{url: "https://relay.example/v1"}, {url: "https://relay.example?x"}, {url: "https://relay.example/?"}, {url: "https://relay.example#x"},
		{url: "https://user@relay.example"}, {url: "https://"}, {url: "https://:443"}, {url: "https://relay.example:"}, {url: "https://rel ay"},
	} {
		s, err := New(Config{URL: c.url, Keys: keys, Plain: c.plain})
		if err != nil {
			if c.address != "" || !strings.Contains(err.Error(), fmt.Sprintf("%q", c.url)) {
				t.Errorf("%s: %v", c.url, err)
			}
			continue
		}
		if s.address != c.address || s.authority != c.authority {
			t.Errorf("%s: %s, %s", c.url, s.address, s.authority)
		}
	}
	if _, err := New(Config{URL: "https://relay.example"}); err == nil || !strings.Contains(err.Error(), "keygen") {
		t.Error(err)
	}
}
