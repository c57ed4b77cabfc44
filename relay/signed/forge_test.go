package signed

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answer is what goes over the wire, in parts that a test can change.
type answer struct {
	status int
	lines  []string // of the header
	body   []byte
}

// signs is the genuine answer with a body, signed as the package does it.
func (h *heard) signs(body []byte) *answer {
	header := http.Header{}
	if err := h.relay.keys.SignAnswer(header, http.StatusOK, body, h.opened, h.opened.Created); err != nil {
		h.relay.t.Error(err)
	}
	a := &answer{status: http.StatusOK, body: body}
	for _, name := range signedNames {
		a.lines = append(a.lines, name+": "+header.Get(name))
	}
	a.lines = append(a.lines, fmt.Sprintf("Content-Length: %d", len(body)))
	return a
}

// signedNames are the headers of an answer that its signature is about.
var signedNames = []string{"Content-Type", "Content-Digest", "Signature-Input", "Signature"}

func (a *answer) bytes() []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d Said\r\n%s\r\n\r\n%s", a.status, strings.Join(a.lines, "\r\n"), a.body)
}

func (h *heard) writes(a *answer) { h.Write(a.bytes()) }

func (a *answer) at(name string) int {
	for i, l := range a.lines {
		if strings.HasPrefix(l, name+":") {
			return i
		}
	}
	panic("no header " + name)
}

func (a *answer) value(name string) string {
	return strings.TrimPrefix(a.lines[a.at(name)], name+": ")
}

func (a *answer) set(name, value string) { a.lines[a.at(name)] = name + ": " + value }

func (a *answer) drop(name string) {
	i := a.at(name)
	a.lines = append(a.lines[:i], a.lines[i+1:]...)
}

// forgery makes answers that are signed with a right key but are otherwise what
// a test likes: the signature is over just what they say that it is over.
type forgery struct {
	key        Key
	status     int
	digest     string
	components []string
	values     map[string]string
	params     string
	body       []byte
}

func (h *heard) forges() *forgery {
	body := h.says(StatusAccepted, nil)
	o := h.opened
	key, _ := h.relay.keys.byID(o.Key.Name + ".ack")
	return &forgery{
		key: key, status: http.StatusOK, digest: digestOf(body), body: body,
		components: strings.Split(strings.Trim(coveredByAck, "()"), " "),
		values: map[string]string{
			`"@status"`: "200", `"content-type"`: contentType, `"content-digest"`: digestOf(body),
			`"@method";req`: o.Method, `"@authority";req`: o.Authority, `"@path";req`: o.Path, `"content-digest";req`: o.Digest,
			`"relay-submission-id";req`: o.SubmissionID, `"signature";req;key="sig1"`: ":" + o.Signature + ":",
			`"signature";req`: "sig1=:" + o.Signature + ":", `"date"`: "Mon, 30 Nov 2026 12:00:00 GMT",
		},
		params: fmt.Sprintf(`;created=%d;keyid="%s";tag="relay-ack-v1"`, o.Created.Unix(), key.ID()),
	}
}

// answer signs.
func (f *forgery) answer() *answer {
	var base strings.Builder
	for _, c := range f.components {
		fmt.Fprintf(&base, "%s: %s\n", c, f.values[c])
	}
	params := "(" + strings.Join(f.components, " ") + ")" + f.params
	fmt.Fprintf(&base, `"@signature-params": %s`, params)
	return &answer{status: f.status, body: f.body, lines: []string{
		"Content-Type: " + f.values[`"content-type"`], "Content-Digest: " + f.digest,
		"Signature-Input: sig1=" + params, "Signature: sig1=:" + f.key.sign([]byte(base.String())) + ":",
		"Date: " + f.values[`"date"`], fmt.Sprintf("Content-Length: %d", len(f.body)),
	}}
}

// If the forgery were not signed well, the hostile answers made from it would
// show nothing.
func TestTheForgeryIsGenuineUntilItIsChanged(t *testing.T) {
	r := newRelay(t, false)
	r.plays(func(h *heard) {
		if ours, genuine := h.forges().answer(), h.signs(h.says(StatusAccepted, nil)); ours.value("Signature") != genuine.value("Signature") {
			t.Errorf("%s\nis not\n%s", ours.bytes(), genuine.bytes())
		}
		h.writes(h.forges().answer())
	})
	if v := send(t, newSender(t, r)); terse(v) != "accepted" {
		t.Error(terse(v))
	}
}

// keyNamed is a key with any name and secret.
func keyNamed(name, secret string) Key {
	return Key{Name: name, Direction: Ack, secret: []byte(secret)}
}

// signedBy has the answer signed with a key, which it names.
func signedBy(key func(*heard) Key) func(*heard) {
	return func(h *heard) {
		f := h.forges()
		own := f.key.ID()
		f.key = key(h)
		f.params = strings.Replace(f.params, own, f.key.ID(), 1)
		h.writes(f.answer())
	}
}

func heldKey(id string) func(*heard) {
	return signedBy(func(h *heard) Key { k, _ := h.relay.keys.byID(id); return k })
}

func forged(change func(*forgery)) func(*heard) {
	return func(h *heard) {
		f := h.forges()
		change(f)
		h.writes(f.answer())
	}
}

// changed has the genuine acceptance changed on its way.
func changed(change func(*answer)) func(*heard) {
	return func(h *heard) {
		a := h.signs(h.says(StatusAccepted, nil))
		change(a)
		h.writes(a)
	}
}

// saysOf has a genuine answer with another content.
func saysOf(status Status, change func(*Answer)) func(*heard) {
	return func(h *heard) { h.writes(h.signs(h.says(status, change))) }
}

// spells has the genuine JSON of an acceptance rewritten, and then signed.
func spells(rewrite func(string) string) func(*heard) {
	return func(h *heard) { h.writes(h.signs([]byte(rewrite(string(h.says(StatusAccepted, nil)))))) }
}

// raw answers with just these bytes.
func raw(format string, args ...any) func(*heard) {
	return func(h *heard) { fmt.Fprintf(h, format, args...) }
}

func after(d time.Duration, f *forgery) {
	created := strings.SplitN(strings.TrimPrefix(f.params, ";created="), ";", 2)[0]
	var at int64
	must1(fmt.Sscan(created, &at))
	f.params = strings.Replace(f.params, created, fmt.Sprint(at+int64(d/time.Second)), 1)
}
