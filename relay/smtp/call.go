package smtp

import (
	"context"
	"net/textproto"
	"time"

	"formledger/ledger/failpoint"
	"formledger/relay"
	"formledger/relay/netcause"
	"formledger/relay/smtp/syntax"
)

// call is one Send on its way through the conversation.
type call struct {
	sender *Sender
	config Config
	ctx    context.Context // of this one call
	lease  relay.Lease
	mail   relay.Mail

	stage   string
	talk    syntax.Transcript
	wire    *wire
	uncut   func() bool
	failure error // the first one in go-mail's part
	secured bool  // STARTTLS is done

	envelope  envelope
	size      int // as SIZE counts it: RFC 1870 section 5
	extension func(string) (bool, string)
	text      *textproto.Conn
	taken     int // recipients
	refused   []refusedRecipient
}

type refusedRecipient struct {
	address string
	reply   syntax.Reply
}

// A step returns the verdict that ends the call, or nil to go on.
type step func() *relay.Verdict

// run opens no connection for a message that cannot be sent.
func (c *call) run() relay.Verdict {
	defer c.close()
	for _, step := range []step{c.prepare, c.begin, c.mailFrom, c.rcptTo, c.data, c.body, c.dot} {
		if end := step(); end != nil {
			return *end
		}
	}
	return relay.UnknownAfter(codeNotConnected, c.stage) // dot always ends the call
}

// close ends the TCP connection below TLS, whose own farewell could wait for a
// server that reads no more.
func (c *call) close() {
	if c.wire != nil {
		c.uncut()
		c.wire.Conn.Close()
	}
}

// enter begins a step.
func (c *call) enter(stage string, d time.Duration) {
	c.stage = stage
	c.wire.arm(d)
}

func (c *call) prepare() *relay.Verdict {
	e, stage, err := newEnvelope(c.mail.Message)
	if err != nil {
		return c.never(codeAddress, stage)
	}
	c.envelope = e
	failpoint.Hit("smtp.before-connect")
	if code := c.hindrance(); code != "" {
		return c.notSent(code, stageConnect)
	}
	return nil
}

// begin connects, and takes over from go-mail once it has logged in.
func (c *call) begin() *relay.Verdict {
	client, err := c.open()
	if err != nil {
		return c.notSent(c.notOpened(err))
	}
	c.text, c.extension = client.Text, client.Extension
	return nil
}

// hindrance is why the call must not go on, or "".
func (c *call) hindrance() string {
	if !c.lease.Held() {
		return codeLapsed
	}
	if netcause.Over(c.ctx) {
		return codeDeadline
	}
	return ""
}

// command says one line and hears the reply.
func (c *call) command(line string) (syntax.Reply, error) {
	if c.text.R.Buffered() > 0 {
		return c.unasked()
	}
	c.talk.Client(line)
	if _, err := c.text.W.WriteString(line + "\r\n"); err != nil {
		return syntax.Reply{}, err
	}
	if err := c.text.W.Flush(); err != nil {
		return syntax.Reply{}, err
	}
	return c.receive()
}

// unasked takes a reply that came before there was a question. It may be a
// refusal, such as a 421; anything else means that we are out of step.
func (c *call) unasked() (syntax.Reply, error) {
	r, err := c.receive()
	if err == nil && !r.Refusal() {
		err = syntax.ErrGarbage
	}
	return r, err
}

func (c *call) receive() (syntax.Reply, error) {
	r, err := syntax.ReadReply(c.text.R)
	if err == nil {
		c.talk.Server(r)
	}
	return r, err
}

// quit takes leave. Whatever comes of it changes nothing.
func (c *call) quit() {
	c.wire.arm(c.config.Deadlines.Quit)
	_, _ = c.command("QUIT")
}

// aboutLogin are the replies that want a (better) login, RFC 4954 section 6:
// they speak of the configuration, whatever command they answer.
func aboutLogin(code int) bool {
	return code == 530 || code == 534 || code == 535 || code == 538
}

// refusedBy ends a call in step with a server that has refused.
func (c *call) refusedBy(r syntax.Reply) *relay.Verdict {
	if r.Code != 421 {
		c.quit()
	}
	return c.refusal(r)
}

func (c *call) refusal(r syntax.Reply) *relay.Verdict {
	v := c.notSent(replyCode(r.Code, c.stage), c.stage)
	v.Permanent = r.Class() == 5 && !aboutLogin(r.Code)
	return v
}

// broken ends a call that failed before its dot.
func (c *call) broken(err error) *relay.Verdict {
	return c.notSent(codeOf(c.ctx, err, c.stage), c.stage)
}

func (c *call) never(code, stage string) *relay.Verdict {
	v := c.notSent(code, stage)
	v.Permanent = true
	return v
}

func (c *call) notSent(code, stage string) *relay.Verdict {
	v := relay.ProvenNotSent(code, stage)
	return &v
}

func (c *call) unknown(code string) *relay.Verdict {
	v := relay.UnknownAfter(code, stageDot)
	return &v
}
