package relay

import (
	"encoding/json"
	"fmt"
	"io"

	"formledger/ledger"
)

// Letter is what the outbox keeps of a message, sealed: all that stands neither
// in the row nor in the form's configuration. Whatever was said once is the same
// on every attempt.
type Letter struct {
	Subject   string   `json:"subject"`
	Text      string   `json:"text"`
	ReplyTo   string   `json:"reply_to,omitempty"`
	To        []string `json:"to,omitempty"` // of a verified intake; none: the form's own recipients
	MessageID string   `json:"message_id"`   // without angle brackets
}

// Envelope is what a form says of its mails' way. It is taken from the
// configuration at each attempt, so that a recipient who was mistyped can be put
// right while messages wait.
type Envelope struct {
	From string
	To   []string
}

// SealLetter seals a letter for its row.
func SealLetter(s *ledger.Seals, row ledger.Submission, l Letter, random io.Reader) (ledger.Sealed, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return ledger.Sealed{}, fmt.Errorf("writing the letter: %w", err)
	}
	return s.Seal(row.ID, row.PayloadHash, text, random)
}

// OpenLetter is the reverse of SealLetter. Its errors hold no word of the letter.
func OpenLetter(s *ledger.Seals, row ledger.Submission, w ledger.Sealed) (Letter, error) {
	text, err := s.Open(row.ID, row.PayloadHash, w)
	if err != nil {
		return Letter{}, err
	}
	var l Letter
	if json.Unmarshal(text, &l) != nil {
		return Letter{}, fmt.Errorf("the unsealed letter cannot be read: it was written by another version")
	}
	return l, nil
}

// message is the letter of a row on its way.
func (l Letter) message(row ledger.Submission, e Envelope) Message {
	m := Message{
		SubmissionID: row.ID, PayloadHash: row.PayloadHash, Reference: row.Reference, Date: row.CreatedAt,
		From: e.From, To: e.To, ReplyTo: l.ReplyTo, Subject: l.Subject, MessageID: l.MessageID, Text: l.Text,
	}
	if len(l.To) > 0 {
		m.To = l.To
	}
	return m
}
