package relay

import (
	"cmp"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/enquiry"
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
	Text         string // all that the mail says: the enquiry, and our own lines last
	RelayEpoch   string // the far end's memory that the claim relies on, if it has one
}

// Compose makes the message of an enquiry whose row was claimed. messageID is
// the left side of its Message-ID, from ledger.KeyRing.MessageID. Whatever a
// mailbox recognises a duplicate by comes from the row.
func Compose(f *enquiry.Form, e enquiry.Enquiry, row ledger.Submission, messageID string, w Words) Message {
	def := f.Def()
	m := Message{
		SubmissionID: row.ID, PayloadHash: row.PayloadHash, Reference: row.Reference,
		From: def.From, To: def.To, Subject: cmp.Or(def.Subject, w.Subject), Date: row.CreatedAt,
		MessageID: MessageIDOf(def.From, messageID),
	}
	if address := e.Get(f.ReplyToField()); len(address) > 0 {
		m.ReplyTo = address[0]
	}
	var lines []Line
	for _, l := range f.Lines(e) {
		lines = append(lines, Line(l))
	}
	m.Text = textOf(m, lines, w)
	return m
}

// MessageIDOf is the Message-ID of a mail with this sender, without angle brackets.
// Its left side comes from ledger.KeyRing.MessageID.
func MessageIDOf(from, left string) string { return left + "@" + domainOf(from) }

// CheckForm renders a first message of a form, so that a sender, recipient or
// subject that cannot stand in a mail is found at start and not by a visitor.
func CheckForm(f *enquiry.Form, w Words) error {
	id := uuid.Max
	row := ledger.Submission{ID: id, Reference: ledger.ReferenceOf(id), CreatedAt: time.Unix(0, 0)}
	m := Compose(f, enquiry.Enquiry{Form: f.Def().Name}, row, "check", w)
	if len(m.To) == 0 {
		m.To = []string{"customer@example.com"} // of a webhook: each order brings its own
	}
	_, err := Render(m)
	return err
}

// domainOf is the domain of an address that the form's definition was checked
// for.
func domainOf(from string) string {
	a, err := mail.ParseAddress(from)
	if err != nil {
		return "formledger.invalid"
	}
	return a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}

// Words are what a mail says beside the enquiry, in the form's language. They
// are in its text before it leaves for a relay on another machine, which needs
// no languages therefore.
type Words struct {
	Subject      string // of a form that has none of its own
	Further      string // heading of the fields that the form did not declare
	NoName       string // label of a field whose name is blank
	Colon        string // as it follows a label
	Reference    string // label of the reference
	SubmissionID string // label of the ID
	CopyAddress  string // label of an address that a reply would not go to
	// RightToLeft puts a reference, an ID or an address on a line of its own: in a
	// line of Arabic its parts would change places.
	RightToLeft bool
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
