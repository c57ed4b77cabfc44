package smtp

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

var stages = []string{"connect", "banner", "ehlo", "starttls", "tls", "auth", "mail", "rcpt", "data", "body", "dot", "quit"}

// endings are the columns of the table below.
var endings = []string{"close", "reset", "silence", "4xx", "5xx", "421", "garbage", "half", "line", "endless", "late"}

// verdicts is written by hand from the design: what each ending at each stage
// of a conversation with STARTTLS and AUTH has to come to. "x" is not sent, "X"
// not sent for good, "?" unknown.
//
// Some cells cannot be met to the letter. At connect, nobody listens for 4xx,
// 5xx and 421, nobody accepts for silence and late, and the rest comes from a
// server that speaks before it is its turn. At tls, a text stands where the
// handshake should be. At body, the reply comes in the middle of the message,
// and silence and late do not read it.
var verdicts = map[string][]string{
	"connect": {"x closed@banner", "x reset@banner", "x timeout@connect", "x connect_refused@connect", "x connect_refused@connect", "x connect_refused@connect",
		"x garbage@banner", "x closed@banner", "x reply_too_long@banner", "x reply_too_long@banner", "x timeout@connect"},
	"banner": {"x closed@banner", "x reset@banner", "x timeout@banner", "x smtp_451@banner", "x smtp_550@banner", "x smtp_421@banner",
		"x garbage@banner", "x closed@banner", "x reply_too_long@banner", "x reply_too_long@banner", "x timeout@banner"},
	"ehlo": {"x closed@ehlo", "x reset@ehlo", "x timeout@ehlo", "x smtp_451@ehlo", "x smtp_550@ehlo", "x smtp_421@ehlo",
		"x garbage@ehlo", "x closed@ehlo", "x reply_too_long@ehlo", "x reply_too_long@ehlo", "x timeout@ehlo"},
	"starttls": {"x closed@starttls", "x reset@starttls", "x timeout@starttls", "x smtp_451@starttls", "x smtp_550@starttls", "x smtp_421@starttls",
		"x garbage@starttls", "x closed@starttls", "x reply_too_long@starttls", "x reply_too_long@starttls", "x timeout@starttls"},
	"tls": {"x closed@tls", "x reset@tls", "x timeout@tls", "x not_tls@tls", "x not_tls@tls", "x not_tls@tls",
		"x not_tls@tls", "x closed@tls", "x not_tls@tls", "x not_tls@tls", "x timeout@tls"},
	"auth": {"x closed@auth", "x reset@auth", "x timeout@auth", "x smtp_451@auth", "x auth_refused@auth", "x smtp_421@auth",
		"x garbage@auth", "x closed@auth", "x reply_too_long@auth", "x reply_too_long@auth", "x timeout@auth"},
	"mail": {"x closed@mail", "x reset@mail", "x timeout@mail", "x smtp_451@mail", "X smtp_550@mail", "x smtp_421@mail",
		"x garbage@mail", "x closed@mail", "x reply_too_long@mail", "x reply_too_long@mail", "x timeout@mail"},
	"rcpt": {"x closed@rcpt", "x reset@rcpt", "x timeout@rcpt", "x smtp_451@rcpt", "X smtp_550@rcpt", "x smtp_421@rcpt",
		"x garbage@rcpt", "x closed@rcpt", "x reply_too_long@rcpt", "x reply_too_long@rcpt", "x timeout@rcpt"},
	"data": {"x closed@data", "x reset@data", "x timeout@data", "x smtp_451@data", "X smtp_550@data", "x smtp_421@data",
		"x garbage@data", "x closed@data", "x reply_too_long@data", "x reply_too_long@data", "x timeout@data"},
	"body": {"x reset@body", "x reset@body", "x timeout@body", "x smtp_451@body", "X smtp_550@body", "x smtp_421@body",
		"x garbage@body", "x closed@body", "x reply_too_long@body", "x reply_too_long@body", "x timeout@body"},
	"dot": {"? closed@dot", "? reset@dot", "? timeout@dot", "x smtp_451@dot", "X smtp_550@dot", "x smtp_421@dot",
		"? garbage@dot", "? closed@dot", "? reply_too_long@dot", "? reply_too_long@dot", "? timeout@dot"},
	"quit": {"accepted", "accepted", "accepted", "accepted", "accepted", "accepted",
		"accepted", "accepted", "accepted", "accepted", "accepted"},
}

const short = 150 * time.Millisecond

// cell is one run of the table.
type cell struct {
	mode          TLSMode
	stage, ending string
	want          string
}

func cells() []cell {
	var all []cell
	for _, mode := range []TLSMode{StartTLS, Implicit, Plain} {
		for i, stage := range stages {
			for j, ending := range endings {
				if mode == StartTLS || i >= 6 { // from MAIL on, all modes are alike
					all = append(all, cell{mode, stage, ending, spelled(verdicts[stage][j])})
				}
			}
		}
	}
	return all
}

func spelled(short string) string {
	return strings.NewReplacer("x ", "not_sent ", "X ", "not_sent! ", "? ", "unknown ").Replace(short)
}

func TestEveryEndingAtEveryStage(t *testing.T) {
	all := cells()
	if len(all) < 12*11 {
		t.Fatalf("%d cells", len(all))
	}
	for _, c := range all {
		t.Run(string(c.mode)+"/"+c.stage+"/"+c.ending, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c cell) waits() bool { return c.ending == "silence" || c.ending == "late" }

func (c cell) run(t *testing.T) {
	f := newFake(t, c.mode)
	f.Late = 3 * short
	f.Ends(c.stage, c.ending)
	config := c.config(t, f)
	s, line := newSender(t, config)
	f.Ready = func() bool { return line.opened.Load() > 0 }
	f.Start()
	text := mailText
	if c.stage == stageBody {
		text += strings.Repeat(strings.Repeat("x", 76)+"\r\n", 500)
		if c.waits() {
			text += strings.Repeat(strings.Repeat("x", 998)+"\r\n", 12_000)
		} else {
			s.source = inHalves(f.Acted(), nil)
		}
	}
	began := time.Now()
	v := s.Send(context.Background(), mailOf(message(), text), forever())
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("took %s", took)
	}
	if got := terse(v); got != c.want {
		t.Errorf("%s, want %s\n%s", got, c.want, v.Conversation)
	}
	c.check(t, f, line, v)
}

// config shortens only the deadline that has to pass.
func (c cell) config(t *testing.T, f *smtptest.Server) Config {
	config := configOf(t, f)
	if c.stage == stageConnect {
		switch c.ending {
		case "silence", "late":
			config.Port = full(t)
		case "4xx", "5xx", "421":
			f.Refuse()
		}
	}
	if !c.waits() && c.stage != "quit" {
		return config
	}
	d := &config.Deadlines
	*map[string]*time.Duration{
		"connect": &d.Connect, "banner": &d.Greeting, "ehlo": &d.Hello, "starttls": &d.StartTLS, "tls": &d.TLS, "auth": &d.Auth,
		"mail": &d.Mail, "rcpt": &d.Rcpt, "data": &d.Data, "body": &d.Body, "dot": &d.Dot, "quit": &d.Quit,
	}[c.stage] = short
	return config
}

// check looks at the server's side: one connection, at most one message, and
// nothing left open.
func (c cell) check(t *testing.T, f *smtptest.Server, line *line, v relay.Verdict) {
	opened := int64(1)
	if strings.HasSuffix(c.want, "@connect") {
		opened = 0
	}
	if line.opened.Load() != opened || line.closed.Load() != opened {
		t.Errorf("%d connections opened, %d closed, want %d", line.opened.Load(), line.closed.Load(), opened)
	}
	if n := line.read.Load(); n > 3*maxUnanswered {
		t.Errorf("%d octets read", n)
	}
	if len(v.Conversation) > 4<<10 || strings.Contains(v.Conversation, "anna@") {
		t.Errorf("conversation of %d octets:\n%s", len(v.Conversation), v.Conversation)
	}
	f.Finish()
	if int64(f.Connections()) > opened || len(f.Mails()) > 1 {
		t.Errorf("the server saw %d connections and %d messages", f.Connections(), len(f.Mails()))
	}
	if whole := c.stage == "dot" || c.stage == "quit"; whole != (len(f.Mails()) == 1) {
		t.Errorf("the server has %d messages", len(f.Mails()))
	}
	if late := c.stage == stageBody || c.stage == stageDot && strings.HasPrefix(c.want, "unknown"); late && f.Quits() != 0 {
		t.Error("said QUIT inside a message, or in doubt")
	}
}

var _ net.Conn = (*wire)(nil)
