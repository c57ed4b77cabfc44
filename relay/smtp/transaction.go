package smtp

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"formledger/ledger/failpoint"
	"formledger/relay"
	"formledger/relay/smtp/syntax"
)

// envelope holds the addresses as they go over the wire, without brackets.
type envelope struct {
	from string
	to   []string
}

// newEnvelope reads the addresses of a message. An error's stage is the command
// that the address was meant for.
func newEnvelope(m relay.Message) (e envelope, stage string, err error) {
	if e.from, err = syntax.Mailbox(m.From); err != nil {
		return e, stageMail, err
	}
	for _, text := range m.To {
		to, err := syntax.Mailbox(text)
		if err != nil {
			return e, stageRcpt, err
		}
		if !slices.Contains(e.to, to) {
			e.to = append(e.to, to)
		}
	}
	if len(e.to) == 0 {
		return e, stageRcpt, syntax.ErrAddress
	}
	return e, "", nil
}

// utf8 reports whether the envelope needs SMTPUTF8 (RFC 6531): a domain can
// always be written in ASCII, a local part cannot.
func (e envelope) utf8() bool {
	return !syntax.ASCII(e.from + strings.Join(e.to, ""))
}

func (c *call) mailFrom() *relay.Verdict {
	c.enter(stageMail, c.config.Deadlines.Mail)
	lines := syntax.WithCRLF(c.mail.Bytes)
	c.size, c.mail.Bytes = len(lines), syntax.Stuff(lines)
	if code := c.beyondServer(); code != "" {
		c.quit()
		return c.never(code, stageMail)
	}
	r, err := c.command("MAIL FROM:<" + c.envelope.from + ">" + c.mailParameters())
	switch {
	case err != nil:
		return c.broken(err)
	case r.Refusal():
		return c.refusedBy(r)
	case r.Class() != 2:
		return c.broken(syntax.ErrGarbage)
	}
	return nil
}

// beyondServer is what the message needs and the server does not offer, or "".
// The same server would be no abler the next time.
func (c *call) beyondServer() string {
	if c.envelope.utf8() && !c.offers("SMTPUTF8") {
		return codeNoUTF8
	}
	if !syntax.ASCII(string(c.mail.Bytes)) && !c.offers("8BITMIME") {
		return codeNo8Bit
	}
	_, limit := c.extension("SIZE")
	if most, err := strconv.Atoi(limit); err == nil && most > 0 && c.size > most {
		return codeTooLarge
	}
	return ""
}

func (c *call) offers(extension string) bool {
	ok, _ := c.extension(extension)
	return ok
}

// mailParameters asks for what the server offers: SIZE (RFC 1870), that a
// notification brings the header alone and names this message (DSN, RFC 3461),
// and for UTF-8 only if it is needed (RFC 6531).
func (c *call) mailParameters() string {
	var p strings.Builder
	if c.offers("SIZE") {
		fmt.Fprintf(&p, " SIZE=%d", c.size)
	}
	if c.offers("8BITMIME") && (c.envelope.utf8() || !syntax.ASCII(string(c.mail.Bytes))) {
		p.WriteString(" BODY=8BITMIME")
	}
	if c.envelope.utf8() {
		p.WriteString(" SMTPUTF8")
	}
	if c.offers("DSN") {
		p.WriteString(" RET=HDRS")
		if id := syntax.XText(c.mail.MessageID); id != "" && len(id) <= 100 { // RFC 3461 section 4.4
			p.WriteString(" ENVID=" + id)
		}
	}
	return p.String()
}

// rcptTo names the recipients, and goes on if the server takes one. 421 is no
// answer about a recipient: the server is going away.
func (c *call) rcptTo() *relay.Verdict {
	c.enter(stageRcpt, c.config.Deadlines.Rcpt)
	for _, to := range c.envelope.to {
		r, err := c.command("RCPT TO:<" + to + ">" + c.rcptParameters(to))
		switch {
		case err != nil:
			return c.broken(err)
		case r.Code == 421:
			return c.refusedBy(r)
		case r.Refusal():
			c.refused = append(c.refused, refusedRecipient{to, r})
		case r.Class() == 2:
			c.taken++
		default:
			return c.broken(syntax.ErrGarbage)
		}
	}
	if c.taken == 0 {
		return c.refusedBy(c.mildest())
	}
	return nil
}

func (c *call) rcptParameters(to string) string {
	if !c.offers("DSN") || !syntax.ASCII(to) {
		return ""
	}
	return " ORCPT=rfc822;" + syntax.XText(to)
}

// mildest is the reply that decides if every recipient was refused: as long as
// one of them may be taken later, it is not for good.
func (c *call) mildest() syntax.Reply {
	for _, r := range c.refused {
		if r.reply.Class() == 4 || aboutLogin(r.reply.Code) {
			return r.reply
		}
	}
	return c.refused[0].reply
}

func (c *call) data() *relay.Verdict {
	c.enter(stageData, c.config.Deadlines.Data)
	r, err := c.command("DATA")
	switch {
	case err != nil:
		return c.broken(err)
	case r.Refusal():
		return c.refusedBy(r)
	case r.Code != 354:
		return c.broken(syntax.ErrGarbage)
	}
	return nil
}

// body writes the message without its final dot. From here on an error closes
// the connection and says nothing more: QUIT would be a line of the message,
// and a polite ending could complete half of it.
func (c *call) body() *relay.Verdict {
	c.enter(stageBody, c.config.Deadlines.Body)
	source, piece, written := c.sender.source(c.mail.Bytes), make([]byte, 32<<10), 0
	for {
		n, err := source.Read(piece)
		written += n
		if _, err := c.text.W.Write(piece[:n]); err != nil {
			return c.broken(err)
		}
		if errors.Is(err, io.EOF) && written == len(c.mail.Bytes) {
			break
		}
		if err != nil {
			return c.notSent(codeBody, stageBody)
		}
	}
	if err := c.text.W.Flush(); err != nil {
		return c.broken(err)
	}
	c.talk.Client(fmt.Sprintf("[%d bytes]", written))
	return c.early()
}

// early looks for what the server did while it got the message. A server that
// is gone or has refused by now has proven more than it could after the dot,
// and a reply that is there already cannot be one to the dot.
func (c *call) early() *relay.Verdict {
	var err error
	c.wire.glancing(func() { _, err = c.text.R.Peek(1) })
	if c.wire.broken != nil {
		return c.broken(err)
	}
	if c.text.R.Buffered() == 0 {
		return nil
	}
	r, err := c.unasked()
	if err != nil {
		return c.broken(err)
	}
	return c.refusal(r)
}

// dot is the step that cannot be taken back. The lease is asked after the fail
// point, as after any pause: a process that slept must not go on.
func (c *call) dot() *relay.Verdict {
	failpoint.Hit("smtp.before-dot")
	c.enter(stageDot, c.config.Deadlines.Dot)
	if code := c.hindrance(); code != "" {
		return c.notSent(code, stageDot)
	}
	c.talk.Client(".")
	_, err := c.text.W.WriteString(".\r\n")
	err = errors.Join(err, c.text.W.Flush())
	failpoint.Hit("smtp.after-dot")
	var r syntax.Reply
	if err == nil {
		r, err = c.receive()
	}
	switch {
	case err != nil:
		return c.unknown(codeOf(c.ctx, err, stageDot))
	case r.Refusal():
		return c.refusedBy(r)
	case r.Class() != 2:
		return c.unknown(codeGarbage)
	}
	failpoint.Hit("smtp.after-reply")
	c.quit()
	v := relay.AcceptedWith(c.receipt(r))
	v.Partly = len(c.refused) > 0
	return &v
}

// receipt is one line for the operator: what the server said, and who was
// refused. A ledger keeps it, so no address is whole in it.
func (c *call) receipt(r syntax.Reply) string {
	text := "smtp:" + syntax.Clip(syntax.Mask(r.String()), 300)
	for i, refused := range c.refused {
		if i == 0 {
			text += "; refused:"
		}
		text += fmt.Sprintf(" %s (%d)", syntax.Mask(refused.address), refused.reply.Code)
	}
	return syntax.Clip(text, 500)
}
