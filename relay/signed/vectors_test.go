package signed

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// vectors are the examples of docs/relay-protocol.md: fixed keys, a fixed time, a
// fixed nonce.
type vectors struct {
	keyFile                      string
	body, digest, base           string
	input, signature             string
	answer, answerDigest         string
	answerBase                   string
	answerInput, answerSignature string
}

const vectorAuthority = "relay.example.com"

func newVectors(t *testing.T) vectors {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := vectors{keyFile: "k-example call 2026-01-01 - " + vectorSecret(0) + "\nk-example ack 2026-01-01 - " + vectorSecret(secretBytes)}
	keys, err := ParseKeys(v.keyFile)
	check(err)

	id := uuid.MustParse("0198c5a2-7b1e-7c3d-9a4f-5e6d7c8b9a01")
	claim := ledger.Token{15: 1}.String()
	body, err := json.Marshal(Message{
		SubmissionID: id, PayloadHash: "v1.k1.5f", Claim: claim, Epoch: "e1", Reference: ledger.ReferenceOf(id),
		From: "website@example.com", To: []string{"owner@example.com"}, ReplyTo: "ada@example.org", Subject: "Enquiry",
		Date: at.Add(-time.Second), MessageID: "m1@example.com", Text: "Name: Ada\nGrüße",
	})
	check(err)
	r, err := http.NewRequest(http.MethodPost, "https://"+vectorAuthority+PathSend, nil)
	check(err)
	nonce := vectorBytes(0, nonceBytes)
	question, err := keys.SignCall(r, vectorAuthority, TagSend, id.String(), body, at, bytes.NewReader(nonce))
	check(err)
	opened, err := OpenCall(r, vectorAuthority, func(id string) (Key, bool) { return keys.Find(id, at) })
	check(err)
	check(opened.CheckBody(body))
	v.body, v.digest, v.input, v.signature = string(body), r.Header.Get("Content-Digest"), r.Header.Get("Signature-Input"), r.Header.Get("Signature")
	v.base = string(opened.base(strings.TrimPrefix(v.input, label+"=")))

	answer, err := json.Marshal(Answer{SubmissionID: id, PayloadHash: "v1.k1.5f", Claim: claim, Epoch: "e1", Status: StatusAccepted, Receipt: "250 queued"})
	check(err)
	h := http.Header{}
	check(keys.SignAnswer(h, http.StatusOK, answer, opened, at.Add(2*time.Second)))
	check(keys.VerifyAnswer(http.StatusOK, h, answer, question, at.Add(3*time.Second)))
	v.answer, v.answerDigest, v.answerInput, v.answerSignature = string(answer), h.Get("Content-Digest"), h.Get("Signature-Input"), h.Get("Signature")
	v.answerBase = string(opened.ackBase(http.StatusOK, v.answerDigest, strings.TrimPrefix(v.answerInput, label+"=")))
	return v
}

// vectorSecret is a secret that is a secret no more: bytes that count up.
func vectorSecret(first int) string {
	return base64.StdEncoding.EncodeToString(vectorBytes(first, secretBytes))
}

func vectorBytes(first, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(first + i)
	}
	return b
}

func protocolPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/relay-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestThePageHasTheVectors: whoever implements the protocol by the page gets what
// the package makes, to the byte.
func TestThePageHasTheVectors(t *testing.T) {
	page, v := protocolPage(t), newVectors(t)
	head := func(digest, input, signature string) string {
		return fmt.Sprintf("Content-Type: %s\nContent-Digest: %s\nSignature-Input: %s\nSignature: %s", contentType, digest, input, signature)
	}
	for what, block := range map[string]string{
		"the key file":                   v.keyFile,
		"the call's body":                v.body,
		"the call's signature base":      v.base,
		"the call's headers":             "POST " + PathSend + " HTTP/1.1\nHost: " + vectorAuthority + "\n" + head(v.digest, v.input, v.signature) + "\nRelay-Submission-Id: 0198c5a2-7b1e-7c3d-9a4f-5e6d7c8b9a01",
		"the answer's body":              v.answer,
		"the answer's signature base":    v.answerBase,
		"the answer's headers":           "HTTP/1.1 200 OK\n" + head(v.answerDigest, v.answerInput, v.answerSignature),
		"what a call's signature covers": coveredByCall,
		"what an answer's covers":        coveredByAck,
	} {
		if !strings.Contains(page, "\n"+block+"\n```") {
			t.Errorf("the page lacks %s:\n%s", what, block)
		}
	}
}

// TestThePageNamesEverything that goes over the wire.
func TestThePageNamesEverything(t *testing.T) {
	page := protocolPage(t)
	names := []string{PathSend, PathInquire, PathHello, string(TagSend), string(TagInquiry), string(TagHello), string(tagAck),
		headerSubmission, CodeExpired, CodeTooEarly, CodeTooLong}
	for _, s := range []Status{StatusAccepted, StatusRefused, StatusSealed, StatusProcessing, StatusUncertain, StatusUnseen} {
		names = append(names, string(s))
	}
	for _, body := range []any{Message{}, Inquiry{}, Answer{}, Hello{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(body)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name `%s`", name)
		}
	}
	for what, number := range map[string]int{
		"seconds that a call lives": int(CallLife.Seconds()), "seconds that a clock may be ahead": int(callSkew.Seconds()),
		"minutes that an answer's clock may be off": int(answerSkew.Minutes()), "bytes of a secret": secretBytes,
		"KiB of an answer": MaxAnswer >> 10, "MiB of a call": MaxCall >> 20, "bytes of a header": maxHeader, "characters of a hash": maxHash,
	} {
		if !strings.Contains(page, strconv.Itoa(number)) {
			t.Errorf("the page does not say %d: %s", number, what)
		}
	}
}
