package relay

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"formledger/ledger"
)

// maxLine is the most octets a line may have without its CRLF: RFC 5322
// section 2.1.1.
const maxLine = 998

// Render writes the whole message as RFC 5322 text. The same message gives the
// same bytes: there is one text part, hence no random boundary, and the claim
// is not in them. It adds no words.
//
// An error means that the form is misconfigured, so that none of its messages
// could be rendered. It holds nothing that the visitor wrote: no input of a
// visitor makes Render fail.
func Render(m Message) (Mail, error) {
	text := wireText(m.Text)
	msg := gomail.NewMsg(gomail.WithEncoding(encodingFor(text)), gomail.WithNoDefaultUserAgent())
	if err := errors.Join(setAddresses(msg, m), setFields(msg, m)); err != nil {
		return Mail{}, fmt.Errorf("rendering the mail: %w", err)
	}
	msg.SetBodyString(gomail.TypeTextPlain, text)
	var out bytes.Buffer
	if _, err := msg.WriteTo(&out); err != nil {
		return Mail{}, fmt.Errorf("rendering the mail: %w", err)
	}
	if err := checkLines(out.Bytes()); err != nil {
		return Mail{}, fmt.Errorf("rendering the mail: %w", err)
	}
	return Mail{Message: m, Bytes: out.Bytes()}, nil
}

var lineEnds = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")

// wireText ends every line in CRLF, which RFC 2045 section 6.8 wants before
// base64.
func wireText(text string) string {
	if !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\r") {
		text += "\n"
	}
	return lineEnds.Replace(text)
}

func setAddresses(msg *gomail.Msg, m Message) error {
	from, err := ownAddress("sender", m.From)
	if err != nil {
		return err
	}
	if len(m.To) == 0 {
		return errors.New("no recipient")
	}
	var to []*mail.Address
	for _, text := range m.To {
		a, err := ownAddress("recipient", text)
		if err != nil {
			return err
		}
		to = append(to, a)
	}
	msg.FromMailAddress(from)
	msg.ToMailAddress(to...)
	if replyable(m.ReplyTo) {
		msg.ReplyToMailAddress(&mail.Address{Address: m.ReplyTo})
	}
	return nil
}

// setFields sets the fields that are not addresses. There is no Auto-Submitted:
// by RFC 3834 section 5 it marks what no person wrote, and a person wrote this.
// So the owner's "closed until Monday" is sent as it would be for any letter.
func setFields(msg *gomail.Msg, m Message) error {
	ref, err := ledger.ParseReference(string(m.Reference))
	switch {
	case err != nil:
		return err
	case ref != m.Reference:
		return fmt.Errorf("%w: %q is not spelled as %q", ledger.ErrReference, m.Reference, ref)
	case !utf8.ValidString(m.Subject) || strings.ContainsFunc(m.Subject, unicode.IsControl):
		return fmt.Errorf("subject %q: not one line of text", m.Subject)
	case m.Date.UTC().Year() < 1900 || m.Date.UTC().Year() > 9999: // RFC 5322 section 3.3
		return fmt.Errorf("date %v: not a date of a mail", m.Date)
	case !validMessageID(m.MessageID):
		return fmt.Errorf("message ID %q: want left@right in ASCII, without angle brackets", m.MessageID)
	}
	msg.Subject(subjectLine(m.Subject, ref))
	msg.SetDateWithValue(m.Date.UTC())
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetGenHeader("X-Submission-Reference", string(ref))
	return nil
}

// subjectLine adds the reference. Runs of spaces become one: folding at them
// can give a line of blanks alone, which RFC 5322 section 3.2.2 forbids.
func subjectLine(subject string, ref ledger.Reference) string {
	words := strings.FieldsFunc(subject, func(r rune) bool { return r == ' ' })
	return strings.Join(append(words, "["+string(ref)+"]"), " ")
}

// ownAddress reads an address of the configuration, "Name <a@b>" or bare.
func ownAddress(role, text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%s address %q: %w", role, text, err)
	}
	if !printableASCII(a.Address) {
		return nil, fmt.Errorf("%s address %q: not in ASCII; write its domain as xn--…", role, text)
	}
	if strings.ContainsFunc(a.Name, unicode.IsControl) {
		return nil, fmt.Errorf("%s address %q: the name is not one line of text", role, text)
	}
	return a, nil
}

// replyable reports whether the visitor's address can stand in Reply-To. It
// must be a bare address that comes out of the parser as it went in.
//
// A local part outside ASCII is right in a header only by RFC 6532, which every
// server on the way must support, and RFC 2047 section 5 forbids to encode it;
// go-mail would write it raw. Such an address, and one that looks like an
// encoded word, is left out here and stands in the text instead.
func replyable(address string) bool {
	if len(address) > 254 || !printableASCII(address) || strings.Contains(address, "=?") {
		return false // 254: RFC 5321 section 4.5.3.1.3, less the angle brackets
	}
	a, err := mail.ParseAddress(address)
	return err == nil && a.String() == "<"+address+">"
}

func validMessageID(id string) bool {
	left, right, _ := strings.Cut(id, "@")
	return left != "" && right != "" && printableASCII(id) &&
		!strings.Contains(right, "@") && !strings.ContainsAny(id, "<>")
}

// printableASCII reports whether there is nothing but visible ASCII, no space.
func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// encodingFor prefers quoted-printable, which stays readable in the raw mail
// and which spam filters like better. It makes each byte outside ASCII three,
// so that text in another script is far shorter in base64.
func encodingFor(text string) gomail.Encoding {
	outside := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			outside++
		}
	}
	if outside > len(text)/3 {
		return gomail.EncodingB64
	}
	return gomail.EncodingQP
}

// checkLines catches what go-mail cannot fold: a very long word in a header.
func checkLines(rendered []byte) error {
	for line := range bytes.Lines(rendered) {
		if len(bytes.TrimRight(line, "\r\n")) > maxLine {
			return fmt.Errorf("a word in a header field makes a line of more than %d octets", maxLine)
		}
	}
	return nil
}
