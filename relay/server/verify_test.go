package server

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/relay/signed"
)

func signedHeaders() []string {
	return []string{"Content-Type", "Content-Digest", "Signature-Input", "Signature", "Relay-Submission-Id"}
}

// spoilt are the ways in which a call is not as it was signed.
func spoilt() map[string]func(*http.Request) {
	all := map[string]func(*http.Request){
		"another path":      func(r *http.Request) { r.URL.Path = signed.PathInquire },
		"an escaped path":   func(r *http.Request) { r.URL.RawPath = "/v1/%6dessages" },
		"another authority": func(r *http.Request) { r.Host = "relay.example" },
		"another body": func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", int(r.ContentLength))))
		},
		"a shorter body": func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{}")), 2
		},
		"another ID":      func(r *http.Request) { r.Header.Set("Relay-Submission-Id", uuid.NewString()) },
		"another key ID":  rewrite("Signature-Input", `keyid="k`, `keyid="x`),
		"another nonce":   rewrite("Signature-Input", `nonce="`, `nonce="x`),
		"another label":   rewrite("Signature-Input", "sig1=", "sig2="),
		"less is covered": rewrite("Signature-Input", `"@authority" `, ""),
		"another tag":     rewrite("Signature-Input", "relay-send-v1", "relay-inquiry-v1"),
		"a later end":     rewrite("Signature-Input", "expires=1", "expires=2"),
		"a charset":       func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
		"no signature at all": func(r *http.Request) {
			for _, name := range signedHeaders() {
				r.Header.Del(name)
			}
		},
	}
	for _, name := range signedHeaders() {
		all[name+" missing"] = func(r *http.Request) { r.Header.Del(name) }
		all[name+" empty"] = func(r *http.Request) { r.Header.Set(name, "") }
		all[name+" twice"] = func(r *http.Request) { r.Header.Add(name, r.Header.Get(name)) }
		all[name+" joined"] = func(r *http.Request) { r.Header.Set(name, r.Header.Get(name)+", "+r.Header.Get(name)) }
	}
	return all
}

func rewrite(name, from, to string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, strings.Replace(r.Header.Get(name), from, to, 1)) }
}

func TestWhatIsNotSignedAsItStandsIsTurnedAway(t *testing.T) {
	b := newBench(t)
	m := b.message()
	for name, spoil := range spoilt() {
		t.Run(name, func(t *testing.T) {
			b.t = t
			res, err := b.form.send(m, spoil)
			b.turnedAway(http.StatusUnauthorized, res, err)
			b.wantRows(0)
		})
	}
	b.t = t
	b.wantMails(0)
	b.wants(b.sends(m), signed.StatusAccepted, "")
}

func TestASignatureForOneThingIsNoneForAnother(t *testing.T) {
	b := newBench(t)
	m := b.message()
	tags := map[string]signed.Tag{signed.PathSend: signed.TagSend, signed.PathInquire: signed.TagInquiry, signed.PathHello: signed.TagHello}
	for path, right := range tags {
		for tag := range maps.Values(tags) {
			if tag == right {
				continue
			}
			res, err := b.form.post(path, tag, m.SubmissionID.String(), jsonOf(m))
			b.turnedAway(http.StatusUnauthorized, res, err)
		}
	}
	res, err := b.form.post("/v1/%6dessages", signed.TagSend, m.SubmissionID.String(), jsonOf(m)) // another spelling, signed
	b.turnedAway(http.StatusUnauthorized, res, err)
	b.wantRows(0)
}

func TestAKeyThatIsNotTheRelaysIsTurnedAway(t *testing.T) {
	b := newBench(t)
	text := pair(t)
	name := readKeys(t, text).Names()[0]
	namesake := strings.ReplaceAll(text, name, b.form.keys.Names()[0])
	for _, keys := range []*signed.Keys{readKeys(t, text), readKeys(t, namesake)} {
		stranger := &formServer{keys: keys, now: time.Now, address: b.form.address}
		res, err := stranger.send(b.message())
		b.turnedAway(http.StatusUnauthorized, res, err)
	}
	b.wantRows(0)
}

// dated gives a pair of keys a time from which and until which it counts.
func dated(text, from, until string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); f[0] != "#" {
			lines = append(lines, fmt.Sprintln(f[0], f[1], from, until, f[4]))
		}
	}
	return strings.Join(lines, "")
}

func TestAKeyCountsOnlyInItsTime(t *testing.T) {
	text := pair(t)
	b := newBench(t, func(c *Config) { c.Callers[0].Keys = readKeys(t, dated(text, "2020-01-01", "2020-02-01")) })
	b.form.keys = readKeys(t, text)
	res, err := b.form.send(b.message())
	b.turnedAway(http.StatusUnauthorized, res, err)
	b.start(b.calls, func(c *Config) { c.Callers[0].Keys = readKeys(t, dated(text, "2999-01-01", "-")) })
	res, err = b.form.send(b.message())
	b.turnedAway(http.StatusUnauthorized, res, err)
	b.wantRows(0)
	b.start(b.calls, func(c *Config) { c.Callers[0].Keys = readKeys(t, dated(text, "2020-01-01", "2999-01-01")) })
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
}

// What could not be acknowledged is not sent either.
func TestWithoutAKeyForItsAnswerTheRelayDoesNothing(t *testing.T) {
	text := pair(t)
	b := newBench(t, func(c *Config) {
		lines := strings.SplitAfter(dated(text, "2020-01-01", "-"), "\n")
		lines[1] = strings.Replace(lines[1], " - ", " 2020-02-01 ", 1)
		c.Callers[0].Keys = readKeys(t, lines...)
	})
	b.form.keys = readKeys(t, text)
	res, err := b.form.send(b.message())
	b.turnedAway(http.StatusServiceUnavailable, res, err)
	b.wantMails(0)
	b.wantRows(0)
}

func TestTheConfiguredAuthorityIsTheOneThatCounts(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Authority = "Relay.example" })
	res, err := b.form.send(b.message()) // signed for the address on loopback
	b.turnedAway(http.StatusUnauthorized, res, err)
	m := b.message()
	r := httptest.NewRequest(http.MethodPost, "http://proxy.example"+signed.PathSend, strings.NewReader(jsonOf(m)))
	q, err := b.form.keys.SignCall(r, "relay.example", signed.TagSend, m.SubmissionID.String(), []byte(jsonOf(m)), time.Now(), strings.NewReader(strings.Repeat("n", 18)))
	must(t, err)
	w := httptest.NewRecorder()
	b.server.Handler().ServeHTTP(w, r)
	if err := b.form.keys.VerifyAnswer(w.Code, w.Header(), w.Body.Bytes(), q, time.Now()); err != nil || b.box.calls() != 1 {
		t.Errorf("%v, %d %s", err, w.Code, w.Body)
	}
}

// Bodies that a caller has signed, but that are none of the protocol.
func TestASignedCallThatIsNoneIsNotAnswered(t *testing.T) {
	b := newBench(t)
	m := b.message()
	id := m.SubmissionID.String()
	other := b.message()
	for name, c := range map[string]struct {
		id, body string
		status   int
	}{
		"not JSON":           {id, "send it", 400},
		"empty":              {id, "", 400},
		"two values":         {id, jsonOf(m) + "{}", 400},
		"an unknown field":   {id, strings.Replace(jsonOf(m), "{", `{"bcc":"x",`, 1), 400},
		"no claim":           {id, strings.Replace(jsonOf(m), m.Claim, "", 1), 400},
		"another ID":         {other.SubmissionID.String(), jsonOf(m), 400},
		"an ID in capitals":  {strings.ToUpper(id), jsonOf(m), 400},
		"an ID in braces":    {"{" + id + "}", jsonOf(m), 400},
		"more than the most": {id, jsonOf(m) + strings.Repeat(" ", signed.MaxCall), 413},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			res, err := b.form.post(signed.PathSend, signed.TagSend, c.id, c.body)
			b.turnedAway(c.status, res, err)
			if c.status == 400 {
				res, err = b.form.post(signed.PathInquire, signed.TagInquiry, c.id, c.body)
				b.turnedAway(c.status, res, err)
			}
		})
	}
	b.t = t
	b.wantRows(0)
	b.wantMails(0)
}

func TestOtherMethodsAndPathsAreNotServed(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]int{signed.PathSend: 405, signed.PathInquire: 405, signed.PathHello: 405, "/": 404, "/v2/messages": 404, "/healthz": 200} {
		w := httptest.NewRecorder()
		b.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// Strangers can make the relay keep nothing: no row, no memory, no log.
func TestAFloodOfUnverifiedCallsLeavesNothingBehind(t *testing.T) {
	b := newBench(t)
	m := b.message()
	body := jsonOf(m)
	right, _, err := b.form.request(signed.PathSend, signed.TagSend, m.SubmissionID.String(), body)
	must(t, err)
	right.Header.Set("Signature", "sig1=:"+strings.Repeat("A", 43)+"=:")
	bare := httptest.NewRequest(http.MethodPost, signed.PathInquire, nil)
	handler := b.server.Handler()
	before := heap()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			calls := []*http.Request{right.Clone(t.Context()), bare.Clone(t.Context())}
			for i := range floodCalls / 2 {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, calls[i%2])
				if w.Code != http.StatusUnauthorized {
					t.Errorf("call %d: %d", i, w.Code)
					return
				}
			}
		})
	}
	all.Wait()
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d bytes of memory more", grown)
	}
	if size := len(b.log.String()); size > 4<<10 {
		t.Errorf("%d bytes of log", size)
	}
	b.wantRows(0)
	b.wantMails(0)
}

// heap is what is in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
