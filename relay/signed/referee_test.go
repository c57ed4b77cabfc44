package signed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheRFCsVector is the example of RFC 9421, Appendix B.2.5: a signature by
// HMAC-SHA-256.
func TestTheRFCsVector(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==")
	if err != nil {
		t.Fatal(err)
	}
	key := Key{Name: "test-shared-secret", Direction: Call, secret: secret}
	base := []byte(`"date": Tue, 20 Apr 2021 02:07:55 GMT` + "\n" +
		`"@authority": example.com` + "\n" +
		`"content-type": application/json` + "\n" +
		`"@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"`)
	const want = "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="
	if got := key.sign(base); got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
	if !key.signed(base, want) {
		t.Error("the RFC's signature is not taken")
	}
	if key.signed(base[1:], want) {
		t.Error("the RFC's signature is taken for something else")
	}
}

// refereeTask is what the referee is asked to do.
type refereeTask struct {
	Sign    bool            `json:"sign"`
	Secret  []byte          `json:"secret"`
	KeyID   string          `json:"keyid"`
	Message refereeMessage  `json:"message"`
	Request *refereeMessage `json:"request,omitempty"`

	// To sign.
	Fields  []string `json:"fields,omitempty"`
	Params  []string `json:"params,omitempty"`
	Created int64    `json:"created,omitempty"`
	Expires int64    `json:"expires,omitempty"`
	Nonce   string   `json:"nonce,omitempty"`
	Tag     Tag      `json:"tag,omitempty"`
}

// refereeMessage is a request or a response as the referee takes it.
type refereeMessage struct {
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers"`
}

type refereeResult struct {
	Verified bool              `json:"verified"`
	Headers  map[string]string `json:"headers"`
	Error    string            `json:"error"`
}

// startReferee installs it, as its lock file says, and returns how it is asked.
func startReferee(t *testing.T) func(...refereeTask) []refereeResult {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"package.json", "package-lock.json", "referee.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata", "referee", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := refereeRun(t, dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefer-offline", "--fetch-retries=1", "--fetch-timeout=20000"); err != nil {
		refereeMissing(t, err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		refereeMissing(t, err)
	}
	return func(tasks ...refereeTask) []refereeResult {
		t.Helper()
		asked, err := json.Marshal(tasks)
		if err != nil {
			t.Fatal(err)
		}
		said, err := refereeRun(t, dir, asked, "node", "referee.mjs")
		if err != nil {
			t.Fatal(err)
		}
		var results []refereeResult
		if err := json.Unmarshal(said, &results); err != nil || len(results) != len(tasks) {
			t.Fatalf("the referee says %s (%v)", said, err)
		}
		return results
	}
}

// refereeMissing says aloud what could not be tested, and fails where that must
// not happen.
func refereeMissing(t *testing.T, why error) {
	t.Helper()
	message := fmt.Sprintf("NOT TESTED: signatures against an independent implementation: %v; it needs node, npm and a registry", why)
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

func refereeRun(t *testing.T, dir string, input []byte, command ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", command[0], err, complained.String())
	}
	return said.Bytes(), nil
}

// refereePair is a call of ours and its acknowledgment, with what both are about.
type refereePair struct {
	keys         *Keys
	request      *http.Request
	body         []byte
	question     Question
	opened       Opened
	answerHeader http.Header
	answerBody   []byte
}

const refereeURL = "https://relay.example.com" + PathSend

func newRefereePair(t *testing.T) *refereePair {
	t.Helper()
	text, err := NewKeyFile(rand.Reader, time.Now().Add(-48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	p := &refereePair{body: []byte(`{"text":"Grüße"}`), answerHeader: http.Header{}, answerBody: []byte(`{"status":"accepted"}`)}
	if p.keys, err = ParseKeys(text); err != nil {
		t.Fatal(err)
	}
	if p.request, err = http.NewRequest(http.MethodPost, refereeURL, nil); err != nil {
		t.Fatal(err)
	}
	p.question, err = p.keys.SignCall(p.request, "relay.example.com", TagSend, "0198c5a2-7b1e-7c3d-9a4f-5e6d7c8b9a01", p.body, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.opened = p.open(t, p.request)
	if err := p.keys.SignAnswer(p.answerHeader, http.StatusOK, p.answerBody, p.opened, time.Now()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *refereePair) open(t *testing.T, r *http.Request) Opened {
	t.Helper()
	opened, err := OpenCall(r, "relay.example.com", func(id string) (Key, bool) { return p.keys.Find(id, time.Now()) })
	if err == nil {
		err = opened.CheckBody(p.body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// key is the pair's key of a direction.
func (p *refereePair) key(d Direction) Key {
	for _, k := range p.keys.keys {
		if k.Direction == d {
			return k
		}
	}
	return Key{}
}

func (p *refereePair) asRequest(h http.Header) refereeMessage {
	return refereeMessage{Method: http.MethodPost, URL: refereeURL, Headers: refereeHeaders(h)}
}

func refereeHeaders(h http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range h {
		all[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return all
}

// TestTheRefereeVerifiesOurs also changes each covered part, so that it is the
// referee's word that counts and not its good will.
func TestTheRefereeVerifiesOurs(t *testing.T) {
	ask := startReferee(t)
	p := newRefereePair(t)
	call, ack := p.key(Call), p.key(Ack)
	request := p.asRequest(p.request.Header)
	answer := refereeMessage{Status: http.StatusOK, Headers: refereeHeaders(p.answerHeader)}

	var tasks []refereeTask
	var names []string
	add := func(name string, task refereeTask) { names, tasks = append(names, name), append(tasks, task) }
	asCall := func(m refereeMessage) refereeTask {
		return refereeTask{Secret: call.secret, KeyID: call.ID(), Message: m}
	}
	asAck := func(m, to refereeMessage) refereeTask {
		return refereeTask{Secret: ack.secret, KeyID: ack.ID(), Message: m, Request: &to}
	}
	add("the call", asCall(request))
	add("the acknowledgment", asAck(answer, request))
	good := len(tasks)

	for _, name := range []string{"content-type", "content-digest", "relay-submission-id"} {
		add("another "+name+" of the call", asCall(request.with(name, "x")))
	}
	add("another path", asCall(refereeMessage{http.MethodPost, refereeURL + "x", 0, request.Headers}))
	add("another method", asCall(refereeMessage{http.MethodPut, refereeURL, 0, request.Headers}))
	add("another host", asCall(refereeMessage{http.MethodPost, "https://relay.example.org" + PathSend, 0, request.Headers}))
	for _, name := range []string{"content-type", "content-digest"} {
		add("another "+name+" of the acknowledgment", asAck(answer.with(name, "x"), request))
	}
	add("another status", asAck(refereeMessage{Status: 202, Headers: answer.Headers}, request))
	for _, name := range []string{"content-digest", "relay-submission-id"} {
		add("an acknowledgment of a call with another "+name, asAck(answer, request.with(name, "x")))
	}
	add("an acknowledgment of a call with another signature", asAck(answer, request.with("signature", "sig1=:"+strings.Repeat("A", 43)+"=:")))

	for i, result := range ask(tasks...) {
		if want := i < good; result.Verified != want || result.Error != "" {
			t.Errorf("%s: verified %v, want %v %s", names[i], result.Verified, want, result.Error)
		}
	}
}

func (m refereeMessage) with(name, value string) refereeMessage {
	headers := map[string]string{}
	for n, v := range m.Headers {
		headers[n] = v
	}
	headers[name] = value
	m.Headers = headers
	return m
}

func TestWeVerifyTheReferees(t *testing.T) {
	ask := startReferee(t)
	p := newRefereePair(t)
	now := time.Now().Unix()
	call, ack := p.key(Call), p.key(Ack)
	unsigned := p.asRequest(http.Header{"Content-Type": {contentType}, "Content-Digest": {digestOf(p.body)}, headerSubmission: {p.question.SubmissionID}})
	signed := ask(refereeTask{Sign: true, Secret: call.secret, KeyID: call.ID(), Message: unsigned,
		Fields: refereeFields(coveredByCall), Params: []string{"created", "expires", "nonce", "keyid", "tag"},
		Created: now, Expires: now + 60, Nonce: "0123456789abcdef", Tag: TagSend})[0]
	request, err := http.NewRequest(http.MethodPost, refereeURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	setAll(request.Header, signed)
	opened := p.open(t, request)
	if opened.Tag != TagSend || opened.SubmissionID != p.question.SubmissionID || opened.Created.Unix() != now || opened.Late(time.Now()) != "" {
		t.Errorf("the referee's call is read as %+v", opened)
	}

	answered := ask(refereeTask{Sign: true, Secret: ack.secret, KeyID: ack.ID(), Request: new(p.asRequest(request.Header)),
		Message: refereeMessage{Status: http.StatusOK, Headers: map[string]string{"content-type": contentType, "content-digest": digestOf(p.answerBody)}},
		Fields:  refereeFields(coveredByAck), Params: []string{"created", "keyid", "tag"}, Created: now, Tag: tagAck})[0]
	header := http.Header{}
	setAll(header, answered)
	if err := p.keys.VerifyAnswer(http.StatusOK, header, p.answerBody, opened.Question, time.Now()); err != nil {
		t.Errorf("the referee's acknowledgment is %v: %v", err, header)
	}
	if err := p.keys.VerifyAnswer(http.StatusOK, header, p.answerBody, p.question, time.Now()); err == nil {
		t.Error("the referee's acknowledgment is taken for that of another call")
	}
}

// refereeFields takes a list of components apart.
func refereeFields(covered string) []string { return strings.Fields(strings.Trim(covered, "()")) }

func setAll(h http.Header, signed refereeResult) {
	for name, value := range signed.Headers {
		h.Set(name, value)
	}
}
