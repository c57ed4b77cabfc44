package relay

import (
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Message is one enquiry on its way to a mailbox. Everything in it is the same
// on every attempt of the same content but the claim, so that a mailbox can
// recognise a duplicate by its Message-ID.
type Message struct {
	SubmissionID uuid.UUID
	PayloadHash  string // as stored in the ledger
	Claim        ledger.Token
	Reference    ledger.Reference
	From         string   // the form's own address, never the visitor's
	To           []string // the form's recipients
	ReplyTo      string   // the visitor's address, or empty
	Subject      string   // the form's subject; the reference is added to it
	Date         time.Time
	MessageID    string // without angle brackets
	Lines        []Line
}

// Line is one field of the enquiry as the reader of the mail sees it.
type Line struct {
	Label   string
	Values  []string
	Further bool // a field that the form did not declare
}

// Mail is a message rendered whole, before anything is dialled.
type Mail struct {
	Message
	Bytes []byte // RFC 5322 text with CRLF line ends
}
