package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Tag says what a signature is for, so that none can stand for another.
type Tag string

// The tags.
const (
	TagSend    Tag = "relay-send-v1"
	TagInquiry Tag = "relay-inquiry-v1"
	TagHello   Tag = "relay-hello-v1"
	tagAck     Tag = "relay-ack-v1"
)

// Times of the profile.
const (
	// CallLife is between created and expires of a call. Whatever arrives later
	// was held up on the way and is not sent any more.
	CallLife = time.Minute
	// callSkew is how far a form server's clock may be ahead of its relay's.
	callSkew = 30 * time.Second
	// answerSkew is how far an answer's clock may be off. The answer is bound to
	// the call's own signature, so that this bounds nothing but absurdity.
	answerSkew = 10 * time.Minute
)

const (
	contentType = "application/json"
	label       = "sig1" // of the one signature, in calls and acknowledgments
	nonceBytes  = 18
	maxHeader   = 1024 // bytes of a covered header
)

// headerSubmission names the submission, outside the body, so that it is checked
// before the body is parsed.
const headerSubmission = "Relay-Submission-Id"

// What a signature covers, in this order and no other.
const (
	coveredByCall = `("@method" "@authority" "@path" "content-type" "content-digest" "relay-submission-id")`
	coveredByAck  = `("@status" "content-type" "content-digest" "@method";req "@authority";req "@path";req ` +
		`"content-digest";req "relay-submission-id";req "signature";req;key="sig1")`
)

// The only spellings of the parameters: no zeros in front, this order.
var (
	callInput = regexp.MustCompile(`^` + label + `=` + regexp.QuoteMeta(coveredByCall) +
		`;created=([1-9][0-9]{0,10});expires=([1-9][0-9]{0,10});nonce="([A-Za-z0-9_-]{16,64})"` +
		`;keyid="([a-z0-9-]{1,32}\.call)";tag="(relay-(?:send|inquiry|hello)-v1)"$`)
	ackInput = regexp.MustCompile(`^` + label + `=` + regexp.QuoteMeta(coveredByAck) +
		`;created=([1-9][0-9]{0,10});keyid="([a-z0-9-]{1,32}\.ack)";tag="relay-ack-v1"$`)
	signatureValue = regexp.MustCompile(`^` + label + `=:([A-Za-z0-9+/]{43}=):$`)
	digestValue    = regexp.MustCompile(`^sha-256=:([A-Za-z0-9+/]{43}=):$`)
)

// ErrUnverified says that something is not signed as the profile says. Whatever
// it claims is worth nothing.
var ErrUnverified = errors.New("not verified")

func unverified(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnverified, fmt.Sprintf(format, args...))
}

// Question is what an acknowledgment is bound to: the covered parts of its call.
type Question struct {
	Method, Authority, Path string
	Digest                  string // the value of Content-Digest
	SubmissionID            string
	Signature               string // in base64
	Created                 time.Time
}

// base is the signature base of a call (RFC 9421 section 2.5).
func (q Question) base(params string) []byte {
	return []byte(`"@method": ` + q.Method + "\n" +
		`"@authority": ` + q.Authority + "\n" +
		`"@path": ` + q.Path + "\n" +
		`"content-type": ` + contentType + "\n" +
		`"content-digest": ` + q.Digest + "\n" +
		`"relay-submission-id": ` + q.SubmissionID + "\n" +
		`"@signature-params": ` + params)
}

// ackBase is the signature base of the answer to a call (RFC 9421 section 2.4).
func (q Question) ackBase(status int, digest, params string) []byte {
	return []byte(`"@status": ` + strconv.Itoa(status) + "\n" +
		`"content-type": ` + contentType + "\n" +
		`"content-digest": ` + digest + "\n" +
		`"@method";req: ` + q.Method + "\n" +
		`"@authority";req: ` + q.Authority + "\n" +
		`"@path";req: ` + q.Path + "\n" +
		`"content-digest";req: ` + q.Digest + "\n" +
		`"relay-submission-id";req: ` + q.SubmissionID + "\n" +
		`"signature";req;key="sig1": :` + q.Signature + ":\n" +
		`"@signature-params": ` + params)
}

// SignCall sets the headers of a call with the first key that is valid now, and
// returns what its answer has to be bound to. authority is the relay's, in lower
// case and without a default port.
func (all *Keys) SignCall(r *http.Request, authority string, tag Tag, submissionID string, body []byte, now time.Time, random io.Reader) (Question, error) {
	key, err := all.signer(now)
	if err != nil {
		return Question{}, err
	}
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return Question{}, fmt.Errorf("drawing a nonce: %w", err)
	}
	q := Question{Method: r.Method, Authority: authority, Path: r.URL.EscapedPath(),
		Digest: digestOf(body), SubmissionID: submissionID, Created: now.Truncate(time.Second)}
	params := fmt.Sprintf(`%s;created=%d;expires=%d;nonce="%s";keyid="%s";tag="%s"`, coveredByCall, now.Unix(),
		now.Add(CallLife).Unix(), base64.RawURLEncoding.EncodeToString(nonce), key.ID(), tag)
	q.Signature = key.sign(q.base(params))
	r.Header.Set(headerSubmission, submissionID)
	setSigned(r.Header, q.Digest, params, q.Signature)
	return q, nil
}

func setSigned(h http.Header, digest, params, signature string) {
	h.Set("Content-Type", contentType)
	h.Set("Content-Digest", digest)
	h.Set("Signature-Input", label+"="+params)
	h.Set("Signature", label+"=:"+signature+":")
}

func (k Key) sign(base []byte) string {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write(base)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed reports whether a signature, of the profile's spelling, is the key's.
func (k Key) signed(base []byte, signature string) bool {
	return hmac.Equal([]byte(k.sign(base)), []byte(signature))
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// Opened is a call whose signature is its key's. Its body has not been looked at,
// nor has the time.
type Opened struct {
	Question
	Tag     Tag
	Key     Key
	Expires time.Time
}

// OpenCall verifies the headers of a call. find knows the keys that are valid
// now. It fails with ErrUnverified.
func OpenCall(r *http.Request, authority string, find func(keyID string) (Key, bool)) (Opened, error) {
	h, err := readSigned(r.Header)
	if err != nil {
		return Opened{}, err
	}
	id, err := one(r.Header, headerSubmission)
	if err != nil {
		return Opened{}, err
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return Opened{}, unverified("the address has a query, which no signature covers")
	}
	in := callInput.FindStringSubmatch(h.input)
	if in == nil {
		return Opened{}, unverified("Signature-Input is not the profile's")
	}
	o := Opened{Tag: Tag(in[5]), Expires: unix(in[2]), Question: Question{Method: r.Method, Authority: authority,
		Path: r.URL.EscapedPath(), Digest: h.digest, SubmissionID: id, Signature: h.signature, Created: unix(in[1])}}
	ok := false
	if o.Key, ok = find(in[4]); !ok {
		return Opened{}, unverified("the key is not known, or not valid now")
	}
	if !o.Key.signed(o.base(strings.TrimPrefix(h.input, label+"=")), h.signature) {
		return Opened{}, unverified("the signature is not the key's")
	}
	return o, nil
}

// CheckBody fails with ErrUnverified if the raw body is not the one that was
// signed.
func (o Opened) CheckBody(body []byte) error { return checkDigest(o.Digest, body) }

func checkDigest(digest string, body []byte) error {
	if !hmac.Equal([]byte(digest), []byte(digestOf(body))) {
		return unverified("the body is not the one that was signed")
	}
	return nil
}

// Code of a call that came outside its window.
const (
	CodeExpired  = "call_expired" // held up on the way, or one of the clocks is wrong
	CodeTooEarly = "call_from_the_future"
	CodeTooLong  = "call_lives_too_long"
)

// Late is why a call is outside its window, as a code, or "".
func (o Opened) Late(now time.Time) string {
	switch {
	case !now.Before(o.Expires):
		return CodeExpired
	case o.Created.After(now.Add(callSkew)):
		return CodeTooEarly
	case o.Expires.Sub(o.Created) > CallLife:
		return CodeTooLong
	}
	return ""
}

// Find knows a key of calls by its ID, if it is valid now: for OpenCall.
func (all *Keys) Find(id string, now time.Time) (Key, bool) { return all.valid(id, Call, now) }

// SignAnswer sets the headers of the answer to a call, with the key that is the
// pair of the call's. So a form server that uses a pair needs no other.
func (all *Keys) SignAnswer(h http.Header, status int, body []byte, to Opened, now time.Time) error {
	key, ok := all.valid(to.Key.Name+"."+string(Ack), Ack, now)
	if !ok {
		return fmt.Errorf("%w: %s.%s", ErrNoKey, to.Key.Name, Ack)
	}
	digest := digestOf(body)
	params := fmt.Sprintf(`%s;created=%d;keyid="%s";tag="%s"`, coveredByAck, now.Unix(), key.ID(), tagAck)
	setSigned(h, digest, params, key.sign(to.ackBase(status, digest, params)))
	return nil
}

// VerifyAnswer checks that an answer is the acknowledgment of this very call,
// and that the body is the one that was signed. It fails with ErrUnverified.
func (all *Keys) VerifyAnswer(status int, header http.Header, body []byte, to Question, now time.Time) error {
	h, err := readSigned(header)
	if err != nil {
		return err
	}
	in := ackInput.FindStringSubmatch(h.input)
	if in == nil {
		return unverified("Signature-Input is not the profile's")
	}
	key, ok := all.valid(in[2], Ack, now)
	if !ok {
		return unverified("the key is not known, or not valid now")
	}
	if !key.signed(to.ackBase(status, h.digest, strings.TrimPrefix(h.input, label+"=")), h.signature) {
		return unverified("the signature is not the key's, or the answer is to another call")
	}
	if created := unix(in[1]); created.Before(to.Created.Add(-answerSkew)) || created.After(now.Add(answerSkew)) {
		return unverified("the answer is of another time")
	}
	return checkDigest(h.digest, body)
}

// signedHeaders are those that calls and answers have in common.
type signedHeaders struct{ digest, input, signature string }

func readSigned(h http.Header) (s signedHeaders, err error) {
	kind, err := one(h, "Content-Type")
	if err == nil && kind != contentType {
		err = unverified("Content-Type is not %s", contentType)
	}
	if err == nil {
		s.digest, err = one(h, "Content-Digest")
	}
	if err == nil && !strictBase64(digestValue, s.digest, nil) {
		err = unverified("Content-Digest is not the profile's")
	}
	if err == nil {
		s.input, err = one(h, "Signature-Input")
	}
	raw := ""
	if err == nil {
		raw, err = one(h, "Signature")
	}
	if err == nil && !strictBase64(signatureValue, raw, &s.signature) {
		err = unverified("Signature is not the profile's")
	}
	return s, err
}

// one is the value of a covered header, which has to stand there exactly once.
func one(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", unverified("%s stands there %d times instead of once", name, len(values))
	}
	if v := values[0]; v == "" || len(v) > maxHeader || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", unverified("%s is empty, too long or not in ASCII", name)
	}
	return values[0], nil
}

// strictBase64 reports whether a value is of the form, and its base64 the only
// spelling of its bytes (RFC 4648 section 3.5).
func strictBase64(form *regexp.Regexp, value string, found *string) bool {
	in := form.FindStringSubmatch(value)
	if in == nil {
		return false
	}
	if found != nil {
		*found = in[1]
	}
	_, err := base64.StdEncoding.Strict().DecodeString(in[1])
	return err == nil
}

// unix reads a time that the profile's spelling has been checked of.
func unix(digits string) time.Time {
	n, _ := strconv.ParseInt(digits, 10, 64) // at most 11 digits
	return time.Unix(n, 0)
}

// Authority is the covered form of a host: in lower case, without the default
// port of its scheme (RFC 9421 section 2.2.3).
func Authority(host string, tls bool) string {
	host = strings.ToLower(host)
	if tls {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
