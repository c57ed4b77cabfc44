package signed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// The paths of a relay, below its address.
const (
	PathSend    = "/v1/messages"
	PathInquire = "/v1/inquiries"
	PathHello   = "/v1/hello"
)

// Most bytes of a body. A message is a form's body as JSON, which escapes up to
// six bytes for one.
const (
	MaxCall   = 1 << 20
	MaxAnswer = 64 << 10
)

// Message is the body of a call that asks the relay to send. Epoch is the one
// that the claim relies on: a relay with another one refuses.
type Message struct {
	SubmissionID uuid.UUID        `json:"submission_id"`
	PayloadHash  string           `json:"payload_hash"`
	Claim        string           `json:"claim"`
	Epoch        string           `json:"epoch"`
	Reference    ledger.Reference `json:"reference"`
	From         string           `json:"from"`
	To           []string         `json:"to"`
	ReplyTo      string           `json:"reply_to,omitempty"`
	Subject      string           `json:"subject"`
	Date         time.Time        `json:"date"`
	MessageID    string           `json:"message_id"`
	Text         string           `json:"text"`
}

// NewMessage is the call for a message that is to be sent.
func NewMessage(m relay.Message) Message {
	return Message{
		SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim.String(), Epoch: m.RelayEpoch,
		Reference: m.Reference, From: m.From, To: m.To, ReplyTo: m.ReplyTo, Subject: m.Subject,
		Date: m.Date.UTC(), MessageID: m.MessageID, Text: m.Text,
	}
}

// Relayed is the message as the relay renders and sends it.
func (m Message) Relayed() (relay.Message, error) {
	token, err := ledger.ParseToken(m.Claim)
	if err != nil {
		return relay.Message{}, err
	}
	return relay.Message{
		SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: token, RelayEpoch: m.Epoch,
		Reference: m.Reference, From: m.From, To: m.To, ReplyTo: m.ReplyTo, Subject: m.Subject,
		Date: m.Date, MessageID: m.MessageID, Text: m.Text,
	}, nil
}

// Inquiry is the body of a call that asks what became of a claim. Unless Peek is
// set, the relay seals a claim that it has never seen.
type Inquiry struct {
	SubmissionID uuid.UUID `json:"submission_id"`
	PayloadHash  string    `json:"payload_hash"`
	Claim        string    `json:"claim"`
	Epoch        string    `json:"epoch"`
	Peek         bool      `json:"peek,omitempty"`
}

// Status is what a relay knows of a claim.
type Status string

// The statuses. Refused and sealed are final, and proof that nothing was sent.
const (
	StatusAccepted   Status = "accepted"
	StatusRefused    Status = "refused"
	StatusSealed     Status = "sealed"     // will be refused, should the call still arrive
	StatusProcessing Status = "processing" // a call is under way
	StatusUncertain  Status = "uncertain"  // the relay itself does not know
	StatusUnseen     Status = "unseen"     // only to a peek
)

// Answer is the body of an acknowledgment.
type Answer struct {
	SubmissionID uuid.UUID `json:"submission_id"`
	PayloadHash  string    `json:"payload_hash"`
	Claim        string    `json:"claim"`
	Epoch        string    `json:"epoch"`
	Status       Status    `json:"status"`
	// Earlier is the claim under which the same content was accepted before: then
	// this call has sent nothing.
	Earlier   string `json:"earlier_claim,omitempty"`
	Receipt   string `json:"receipt,omitempty"`
	Partly    bool   `json:"partly,omitempty"`    // accepted, but not for every recipient
	Permanent bool   `json:"permanent,omitempty"` // refused, and would be again
	Code      string `json:"code,omitempty"`      // why it is not accepted
	Stage     string `json:"stage,omitempty"`     // how far it had come
	// Conversation is what the mail server said, redacted, for the operator.
	Conversation string `json:"conversation,omitempty"`
}

// causeWord is what causes are made of: they are logged, and stored with the
// submission.
var causeWord = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// tidy drops causes that are none: what the relay decided stands without them.
func (a Answer) tidy() Answer {
	for _, word := range []*string{&a.Code, &a.Stage} {
		if !causeWord.MatchString(*word) {
			*word = ""
		}
	}
	return a
}

// Hello is the answer to a hello: what a form server and its doctor need to know
// before the first call.
type Hello struct {
	Epoch string    `json:"epoch"`
	Time  time.Time `json:"time"` // the relay's clock
	From  []string  `json:"from"` // the senders that it allows for the key
	To    []string  `json:"to"`   // the recipients; "any" stands for every one
}

// decode reads a JSON body that holds the value and nothing else.
func decode(body []byte, into any) error {
	if err := plain(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the body is not what the protocol says: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body goes on after its end")
	}
	return nil
}

// memberName is how the protocol's names are spelled. encoding/json would take
// "STATUS" for "status" as well.
var memberName = regexp.MustCompile(`^[a-z_]+$`)

// plain wants an object whose members each have one reading: encoding/json takes
// the last of two members of a name, others take the first.
func plain(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.New("the body is not a JSON object")
	}
	for seen := map[string]bool{}; d.More(); {
		token, err := d.Token()
		name, _ := token.(string)
		if err != nil || !memberName.MatchString(name) || seen[name] {
			return errors.New("the body has a member twice, or one with a name that the protocol does not know")
		}
		seen[name] = true
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return fmt.Errorf("the body is not JSON: %w", err)
		}
	}
	return nil // what follows the members is decode's to check
}

// ParseMessage reads the body of a call that asks to send.
func ParseMessage(body []byte) (m Message, err error) {
	if err = decode(body, &m); err == nil {
		err = named(m.SubmissionID, m.PayloadHash, m.Claim)
	}
	m.Date = m.Date.UTC()
	if y := m.Date.Year(); err == nil && (y < 1 || y > 9999) { // by its offset from UTC
		err = errors.New("the date cannot be written in UTC")
	}
	return m, err
}

// ParseInquiry reads the body of a call that asks what became of a claim.
func ParseInquiry(body []byte) (q Inquiry, err error) {
	if err = decode(body, &q); err == nil {
		err = named(q.SubmissionID, q.PayloadHash, q.Claim)
	}
	return q, err
}

// ParseAnswer reads the body of an acknowledgment.
func ParseAnswer(body []byte) (a Answer, err error) {
	if err = decode(body, &a); err == nil {
		err = named(a.SubmissionID, a.PayloadHash, a.Claim)
	}
	return a, err
}

// named checks what every body has to name.
func named(id uuid.UUID, payloadHash, claim string) error {
	if _, err := ledger.ParseToken(claim); err != nil {
		return err
	}
	if id == uuid.Nil || payloadHash == "" || len(payloadHash) > maxHash {
		return errors.New("the body names no submission ID, or no payload hash")
	}
	return nil
}

// maxHash is the most characters of a payload hash: version, key ID, digest.
const maxHash = 128
