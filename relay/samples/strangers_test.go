package samples_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/relay/signed"
)

// TestSamplesTurnStrangersAway: none of these is verified, so each gets a bare
// 401, and leaves nothing behind that would refuse the real call.
func TestSamplesTurnStrangersAway(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.keyText += oldPair(t)
		r.start(accept)
		m := r.message(r.hello().Epoch)
		stranger, err := signed.ParseKeys(renamed(keyFile(t), r.keys.Names()[0]))
		must(t, err)
		unknown, err := signed.ParseKeys(keyFile(t))
		must(t, err)
		old, err := signed.ParseKeys(oldPair(t))
		must(t, err)
		id, body := m.SubmissionID.String(), encoded(t, m)

		for what, change := range map[string]func(*call){
			"a changed body":             func(c *call) { c.body = bytes.Replace(c.body, []byte("owner@"), []byte("other@"), 1) },
			"a longer body":              func(c *call) { c.body = append(c.body, ' ') },
			"another submission":         func(c *call) { c.Header.Set("Relay-Submission-Id", uuid.NewString()) },
			"a query":                    func(c *call) { c.URL.RawQuery = "a=b" },
			"another path":               func(c *call) { c.URL.Path = "/v1/message" },
			"a path with a tail":         func(c *call) { c.URL.Path += "/" },
			"another method":             func(c *call) { c.Method = http.MethodPut },
			"a content type with more":   func(c *call) { c.Header.Set("Content-Type", "application/json; charset=utf-8") },
			"no signature":               func(c *call) { c.Header.Del("Signature") },
			"no signature input":         func(c *call) { c.Header.Del("Signature-Input") },
			"two signatures":             func(c *call) { both(c, "Signature", "sig2=:"+strings.Repeat("A", 43)+"=:") },
			"two signature inputs":       func(c *call) { both(c, "Signature-Input", `sig2=("@method")`) },
			"two digests":                func(c *call) { both(c, "Content-Digest", "sha-512=:AAAA:") },
			"a later expiry":             func(c *call) { replace(c, "Signature-Input", ";expires=1", ";expires=2") },
			"another spelling of base64": func(c *call) { c.Header.Set("Signature", otherSpelling(c.Header.Get("Signature"))) },
			"a space more":               func(c *call) { replace(c, "Signature-Input", `" "`, `"  "`) },
			"a zero in front":            func(c *call) { replace(c, "Signature-Input", ";created=1", ";created=01") },
		} {
			c := r.send(m)
			change(c)
			t.Run(what, func(t *testing.T) { r.at(t).turnedAway(http.StatusUnauthorized, c) })
		}
		for _, name := range []string{"Content-Type", "Content-Digest", "Signature-Input", "Signature", "Relay-Submission-Id"} {
			c := r.send(m)
			c.Header.Add(name, c.Header.Get(name))
			t.Run("twice "+name, func(t *testing.T) { r.at(t).turnedAway(http.StatusUnauthorized, c) })
		}
		now := time.Now()
		elsewhere := r.at(t)
		elsewhere.address = "relay.example.org"
		for what, c := range map[string]*call{
			"another secret":                      r.signBy(stranger, signed.TagSend, signed.PathSend, id, body, now),
			"an unknown key":                      r.signBy(unknown, signed.TagSend, signed.PathSend, id, body, now),
			"a key that is over":                  r.signBy(old, signed.TagSend, signed.PathSend, id, body, time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)),
			"another relay's name":                elsewhere.sign(signed.TagSend, signed.PathSend, id, body, now),
			"an inquiry's tag":                    r.sign(signed.TagInquiry, signed.PathSend, id, body, now),
			"a hello's tag":                       r.sign(signed.TagHello, signed.PathSend, id, body, now),
			"the same, with another order":        r.forge(m, `"@authority" "@method" "@path" "content-type" "content-digest" "relay-submission-id"`, ""),
			"the same, with less covered":         r.forge(m, `"@method" "@authority" "@path" "content-type" "content-digest"`, ""),
			"the same, with one parameter more":   r.forge(m, usual, `;alg="hmac-sha256"`),
			"a hello outside its time":            r.sign(signed.TagHello, signed.PathHello, uuid.Nil.String(), []byte("{}"), now.Add(-time.Hour)),
			"an inquiry that was held up":         r.sign(signed.TagInquiry, signed.PathInquire, id, inquiryOf(t, m), now.Add(-time.Hour)),
			"an inquiry from the future":          r.sign(signed.TagInquiry, signed.PathInquire, id, inquiryOf(t, m), now.Add(time.Hour)),
			"the right thing signed by an answer": r.forgeBy(m, usual, "", signed.Ack),
		} {
			c.URL.Host, c.Host = r.address, r.address
			t.Run(what, func(t *testing.T) { r.at(t).turnedAway(http.StatusUnauthorized, c) })
		}
		r.wantSent(0)
		if a := r.told(r.inquiry(m, true)); a.Status != signed.StatusUnseen {
			t.Errorf("something was recorded: %+v", a)
		}
		wantAnswer(t, r.told(r.forge(m, usual, "")), m, signed.Answer{Status: signed.StatusAccepted})
		r.wantSent(1)
	})
}

// at reports to the subtest.
func (r *rig) at(t *testing.T) *rig {
	here := *r
	here.t = t
	return &here
}

// both puts a second member in front of a header's own.
func both(c *call, name, other string) { c.Header.Set(name, other+", "+c.Header.Get(name)) }

func replace(c *call, name, old, by string) {
	c.Header.Set(name, strings.Replace(c.Header.Get(name), old, by, 1))
}

// otherSpelling is the same bytes to a decoder that is not strict.
func otherSpelling(value string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := len(value) - len("=:") - 1
	return value[:at] + string(digits[strings.IndexByte(digits, value[at])+1]) + value[at+1:]
}

// renamed gives the keys of a file another name.
func renamed(file, name string) string {
	keys, _ := signed.ParseKeys(file)
	return strings.ReplaceAll(file, keys.Names()[0], name)
}

// oldPair is a pair whose time is over; the same at every call.
func oldPair(t *testing.T) string {
	t.Helper()
	secret := bytes.Repeat([]byte{7}, 65)
	text := ""
	for i, d := range []signed.Direction{signed.Call, signed.Ack} {
		text += fmt.Sprintf("old %s 2020-01-01 2026-01-01 %s\n", d, base64.StdEncoding.EncodeToString(secret[i:]))
	}
	return strings.Replace(text, "Bwc", "Bwg", 1) // no two secrets are the same
}

func inquiryOf(t *testing.T, m signed.Message) []byte {
	return encoded(t, signed.Inquiry{SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim, Epoch: m.Epoch})
}

const usual = `"@method" "@authority" "@path" "content-type" "content-digest" "relay-submission-id"`

// forge signs a call by hand, with the right key, and covers what it is told.
func (r *rig) forge(m signed.Message, covered, more string) *call {
	return r.forgeBy(m, covered, more, signed.Call)
}

func (r *rig) forgeBy(m signed.Message, covered, more string, d signed.Direction) *call {
	r.t.Helper()
	c := r.send(m)
	sum := sha256.Sum256(c.body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	values := map[string]string{`"@method"`: "POST", `"@authority"`: r.address, `"@path"`: signed.PathSend, `"content-type"`: "application/json",
		`"content-digest"`: digest, `"relay-submission-id"`: m.SubmissionID.String()}
	base := ""
	for _, name := range strings.Fields(covered) {
		base += name + ": " + values[name] + "\n"
	}
	now := time.Now().Unix()
	params := fmt.Sprintf(`(%s);created=%d;expires=%d;nonce="0123456789abcdef";keyid="%s.%s";tag="relay-send-v1"%s`,
		covered, now, now+60, r.keys.Names()[0], d, more)
	mac := hmac.New(sha256.New, r.secret(d))
	mac.Write([]byte(base + `"@signature-params": ` + params))
	c.question.Signature = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	c.Header.Set("Signature-Input", "sig1="+params)
	c.Header.Set("Signature", "sig1=:"+c.question.Signature+":")
	return c
}

// secret reads the first secret of a direction out of the key file.
func (r *rig) secret(d signed.Direction) []byte {
	r.t.Helper()
	for line := range strings.Lines(r.keyText) {
		if f := strings.Fields(line); len(f) == 5 && f[1] == string(d) {
			secret, err := base64.StdEncoding.DecodeString(f[4])
			must(r.t, err)
			return secret
		}
	}
	r.t.Fatal("there is no such key")
	return nil
}
