package smtp

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

var _ relay.Sender = (*Sender)(nil)

// one sends one message to a server that patch makes special.
func one(t *testing.T, mode TLSMode, m relay.Mail, patch func(line, answer string) string) (relay.Verdict, *smtptest.Server) {
	t.Helper()
	f := newFake(t, mode)
	f.Patch = patch
	f.Start()
	s, _ := newSender(t, configOf(t, f))
	v := s.Send(context.Background(), m, forever())
	f.Finish()
	return v, f
}

// instead answers one line otherwise.
func instead(prefix, answer string) func(string, string) string {
	return func(line, usual string) string {
		if strings.HasPrefix(line, prefix) {
			return answer
		}
		return usual
	}
}

func TestAMessageGoesOverTheWireAsItShould(t *testing.T) {
	for _, mode := range []TLSMode{StartTLS, Implicit, Plain} {
		m := message()
		m.To = append(m.To, "Zoë <zoe@bücher.example>", "owner@shop.example")
		v, f := one(t, mode, mailOf(m, mailText), nil)
		if v.Finding != relay.Accepted || v.Receipt != "smtp:250 2.0.0 Ok: queued as 4F2A" || v.Permanent {
			t.Errorf("%s: %+v", mode, v)
		}
		if !slices.Equal(f.Mails(), []string{mailText}) || f.Quits() != 1 {
			t.Errorf("%s: messages %q, %d times QUIT", mode, f.Mails(), f.Quits())
		}
		for _, want := range []string{
			"EHLO client.example", "MAIL FROM:<form@shop.example> SIZE=97 RET=HDRS ENVID=a+2Bb.c@shop.example",
			"RCPT TO:<owner@shop.example> ORCPT=rfc822;owner@shop.example",
			"RCPT TO:<zoe@xn--bcher-kva.example> ORCPT=rfc822;zoe@xn--bcher-kva.example", "DATA",
		} {
			if !slices.Contains(f.Heard(), want) {
				t.Errorf("%s: not said: %q in %q", mode, want, f.Heard())
			}
		}
		if rcpts := strings.Count(strings.Join(f.Heard(), "\n"), "RCPT TO"); rcpts != 2 {
			t.Errorf("%s: %d recipients", mode, rcpts)
		}
	}
}

func TestOneTakenRecipientIsEnough(t *testing.T) {
	m := message()
	m.To = []string{"gone@shop.example", "owner@shop.example", "full@shop.example"}
	v, f := one(t, Plain, mailOf(m, mailText), func(line, usual string) string {
		switch {
		case strings.HasPrefix(line, "RCPT TO:<gone"):
			return "550 5.1.1 <gone@shop.example> unknown\r\n"
		case strings.HasPrefix(line, "RCPT TO:<full"):
			return "452 4.2.2 full\r\n"
		}
		return usual
	})
	want := "smtp:250 2.0.0 Ok: queued as 4F2A; refused: g***@shop.example (550) f***@shop.example (452)"
	if v.Finding != relay.Accepted || v.Receipt != want || !v.Partly || len(f.Mails()) != 1 {
		t.Errorf("%+v", v)
	}
	if v, _ := one(t, Plain, mailOf(message(), mailText), nil); v.Partly {
		t.Errorf("nobody was refused: %+v", v)
	}
}

func TestAllRecipientsRefused(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"550 no\r\n", "553 no\r\n", "not_sent! smtp_550@rcpt"},
		{"550 no\r\n", "450 later\r\n", "not_sent smtp_450@rcpt"},
		{"450 later\r\n", "550 no\r\n", "not_sent smtp_450@rcpt"},
		{"550 no\r\n", "530 5.7.0 authenticate\r\n", "not_sent smtp_530@rcpt"},
		{"250 ok\r\n", "421 closing\r\n", "not_sent smtp_421@rcpt"},
	} {
		m := message()
		m.To = []string{"a@shop.example", "b@shop.example"}
		v, f := one(t, Plain, mailOf(m, mailText), func(line, usual string) string {
			switch {
			case strings.HasPrefix(line, "RCPT TO:<a"):
				return c.first
			case strings.HasPrefix(line, "RCPT TO:<b"):
				return c.second
			}
			return usual
		})
		if terse(v) != c.want || len(f.Mails()) != 0 {
			t.Errorf("%q %q: %s, want %s", c.first, c.second, terse(v), c.want)
		}
	}
}

// Odd replies: the class decides (RFC 5321 section 4.3.2), but for DATA.
func TestRepliesThatAreOdd(t *testing.T) {
	for _, c := range []struct{ line, answer, want string }{
		{"MAIL", "530 5.7.0 Authentication required\r\n", "not_sent smtp_530@mail"},
		{"MAIL", "354 go\r\n", "not_sent garbage@mail"},
		{"MAIL", "250-a\r\n251 b\r\n", "not_sent garbage@mail"},
		{"MAIL", "250 ok\r\n250 ok\r\n", "not_sent garbage@rcpt"},
		{"MAIL", "250 ok\r\n421 closing\r\n", "not_sent smtp_421@rcpt"},
		{"RCPT", "251 will forward\r\n", "accepted"},
		{"RCPT", "252 will try\r\n", "accepted"},
		{"RCPT", "150 hm\r\n", "not_sent garbage@rcpt"},
		{"DATA", "250 ok\r\n", "not_sent garbage@data"},
		{"DATA", "355 go\r\n", "not_sent garbage@data"},
		{"DATA", "354 go\r\n250 queued\r\n", "not_sent garbage@body"},
		{"DATA", "354 go\r\n552 too much\r\n", "not_sent! smtp_552@body"},
		{".", "354 go\r\n", "unknown garbage@dot"},
		{".", "150 hm\r\n", "unknown garbage@dot"},
		{".", "250\r\n", "accepted"},
		{".", "250-a\r\n250 b\r\n", "accepted"},
		{".", "250-a\r\n550 b\r\n", "unknown garbage@dot"},
		{".", "251 ok\n", "accepted"},
		{".", "530 5.7.0 Authentication required\r\n", "not_sent smtp_530@dot"},
	} {
		if v, _ := one(t, Plain, mailOf(message(), mailText), instead(c.line, c.answer)); terse(v) != c.want {
			t.Errorf("%s answered %q: %s, want %s\n%s", c.line, c.answer, terse(v), c.want, v.Conversation)
		}
	}
}

func TestAServerThatKnowsHELOAlone(t *testing.T) {
	v, f := one(t, Plain, mailOf(message(), mailText), instead("EHLO", "502 what?\r\n"))
	if v.Finding != relay.Accepted || !slices.Contains(f.Heard(), "HELO client.example") || !slices.Contains(f.Heard(), "MAIL FROM:<form@shop.example>") {
		t.Errorf("%+v, heard %q", v, f.Heard())
	}
	// Out of step, HELO must not find the rest of another answer.
	v, f = one(t, Plain, mailOf(message(), mailText), instead("EHLO", "what?\r\n250 ok\r\n"))
	if terse(v) != "not_sent garbage@ehlo" || slices.Contains(f.Heard(), "HELO client.example") {
		t.Errorf("%s, heard %q", terse(v), f.Heard())
	}
}

func TestWhatTheServerDoesNotOffer(t *testing.T) {
	for _, c := range []struct {
		offers []string
		to     string
		text   string
		want   string
	}{
		{[]string{"8BITMIME"}, "jürgen@shop.example", mailText, "not_sent! smtputf8_missing@mail"},
		{[]string{"SMTPUTF8", "8BITMIME"}, "jürgen@shop.example", mailText, "accepted"},
		{[]string{"PIPELINING"}, "a@shop.example", "Subject: ü\r\n\r\n", "not_sent! 8bitmime_missing@mail"},
		{[]string{"SIZE 50"}, "a@shop.example", mailText, "not_sent! too_large@mail"},
		{[]string{"SIZE 97"}, "a@shop.example", mailText, "accepted"},
		{[]string{"SIZE 0"}, "a@shop.example", mailText, "accepted"},
		{[]string{"SIZE"}, "a@shop.example", mailText, "accepted"},
	} {
		f := newFake(t, Plain)
		f.Offers = c.offers
		f.Start()
		s, _ := newSender(t, configOf(t, f))
		m := message()
		m.To = []string{c.to}
		v := s.Send(context.Background(), mailOf(m, c.text), forever())
		if terse(v) != c.want {
			t.Errorf("%v, %q: %s, want %s", c.offers, c.to, terse(v), c.want)
		}
		if utf8 := slices.Contains(f.Heard(), "MAIL FROM:<form@shop.example> BODY=8BITMIME SMTPUTF8"); utf8 != (c.want == "accepted" && c.to[1] > 0x7f) {
			t.Errorf("%v: %q", c.offers, f.Heard())
		}
	}
}

func TestABadAddressOpensNoConnection(t *testing.T) {
	f := newFake(t, Plain)
	f.Start()
	s, line := newSender(t, configOf(t, f))
	for _, bad := range []string{"", "a", "a@b\r\nRCPT TO:<c@d>", "a@b> SIZE=1", `"a b"@c.example`, "\"a\x00\"@c.example", "<a@b>,<c@d>", strings.Repeat("a", 65) + "@b.example"} {
		m := message()
		m.To = []string{"owner@shop.example", bad}
		if v := s.Send(context.Background(), mailOf(m, mailText), forever()); terse(v) != "not_sent! bad_address@rcpt" {
			t.Errorf("%q: %s", bad, terse(v))
		}
		m = message()
		m.From = bad
		if v := s.Send(context.Background(), mailOf(m, mailText), forever()); terse(v) != "not_sent! bad_address@mail" {
			t.Errorf("from %q: %s", bad, terse(v))
		}
	}
	if line.opened.Load() != 0 {
		t.Error("a connection was opened")
	}
}

func TestALapsedLeaseSendsNothing(t *testing.T) {
	f := newFake(t, Plain)
	f.Start()
	s, line := newSender(t, configOf(t, f))
	over := relay.NewLease(time.Now().Add(-time.Second), time.Now)
	if v := s.Send(context.Background(), mailOf(message(), mailText), over); terse(v) != "not_sent lease_lapsed@connect" || line.opened.Load() != 0 {
		t.Errorf("%s, %d connections", terse(v), line.opened.Load())
	}
	var lapsed atomic.Bool
	until := time.Now().Add(time.Hour)
	lease := relay.NewLease(until, func() time.Time {
		if lapsed.Load() {
			return until
		}
		return time.Now()
	})
	source := s.source
	s.source = func(b []byte) io.Reader { lapsed.Store(true); return source(b) }
	v := s.Send(context.Background(), mailOf(message(), mailText), lease)
	f.Finish()
	if terse(v) != "not_sent lease_lapsed@dot" || len(f.Mails()) != 0 || f.Quits() != 0 {
		t.Errorf("%s, messages %q", terse(v), f.Mails())
	}
}

func TestTheEndOfTheCallIsHeeded(t *testing.T) {
	for stage, want := range map[string]string{
		"banner": "not_sent deadline@banner", "tls": "not_sent deadline@tls", "mail": "not_sent deadline@mail", "dot": "unknown deadline@dot", "quit": "accepted",
	} {
		for _, cancelled := range []bool{false, true} {
			f := newFake(t, StartTLS)
			f.Ends(stage, "silence")
			f.Start()
			s, line := newSender(t, configOf(t, f))
			ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
			if cancelled {
				ctx, cancel = context.WithCancel(context.Background())
				time.AfterFunc(400*time.Millisecond, cancel)
			}
			if v := s.Send(ctx, mailOf(message(), mailText), forever()); terse(v) != want {
				t.Errorf("%s, cancelled %v: %s, want %s", stage, cancelled, terse(v), want)
			}
			cancel()
			if line.closed.Load() != 1 {
				t.Error("the connection is open")
			}
		}
	}
	f := newFake(t, Plain)
	f.Start()
	s, line := newSender(t, configOf(t, f))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v := s.Send(ctx, mailOf(message(), mailText), forever()); terse(v) != "not_sent deadline@connect" || line.opened.Load() != 0 {
		t.Errorf("%s", terse(v))
	}
}

func TestABodyThatCannotBeReadIsNotSent(t *testing.T) {
	gone := make(chan struct{})
	close(gone)
	for name, source := range map[string]func([]byte) io.Reader{
		"fails": inHalves(gone, errors.New("disk on fire")),
		"short": func(b []byte) io.Reader { return strings.NewReader(string(b[:len(b)/2])) },
	} {
		f := newFake(t, StartTLS)
		f.Start()
		s, line := newSender(t, configOf(t, f))
		s.source = source
		v := s.Send(context.Background(), mailOf(message(), strings.Repeat(mailText, 400)), forever())
		f.Finish()
		if terse(v) != "not_sent body_unreadable@body" || len(f.Mails()) != 0 || len(f.Halves()) != 1 || f.Quits() != 0 || line.closed.Load() != 1 {
			t.Errorf("%s: %s, %d messages, %d halves", name, terse(v), len(f.Mails()), len(f.Halves()))
		}
	}
}

func TestTheConversationKeepsSecrets(t *testing.T) {
	echo := func(line, usual string) string {
		if strings.HasPrefix(line, "AUTH") || !strings.Contains(line, " ") && len(line) > 12 {
			return "535 5.7.8 " + user + " / " + password + " is wrong, you sent " + line + "\r\n"
		}
		return usual
	}
	for _, auth := range []string{"plain", "LOGIN", ""} {
		for _, patch := range []func(string, string) string{nil, echo} {
			f := newFake(t, StartTLS)
			f.Patch = patch
			f.Start()
			c := configOf(t, f)
			c.Auth = auth
			s, _ := newSender(t, c)
			v := send(s)
			plain := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
			for _, secret := range []string{
				password, plain, base64.StdEncoding.EncodeToString([]byte(password)), base64.StdEncoding.EncodeToString([]byte(user)),
				"relay-user", "form@", "owner@", "Anna",
			} {
				if strings.Contains(v.Conversation+v.Receipt, secret) {
					t.Errorf("%q shows %q:\n%s", auth, secret, v.Conversation)
				}
			}
			if !strings.Contains(v.Conversation, "C: AUTH [redacted]\n") {
				t.Errorf("no AUTH in\n%s", v.Conversation)
			}
		}
	}
}

func TestTheConversationIsReadable(t *testing.T) {
	v, _ := one(t, StartTLS, mailOf(message(), mailText), instead("MAIL", "451 4.7.1 \x1b[31mtry <anna@example.org> later\r\n"))
	const want = `S: 220 fake.example ESMTP
C: EHLO client.example
S: 250-fake.example
S: 250 STARTTLS
C: STARTTLS
S: 220 go
C: EHLO client.example
S: 250-fake.example
S: 250-SIZE 50000000
S: 250-8BITMIME
S: 250-SMTPUTF8
S: 250-DSN
S: 250 AUTH PLAIN LOGIN
C: AUTH [redacted]
S: 235 welcome
C: MAIL FROM:<f***@shop.example> SIZE=97 RET=HDRS ENVID=a***@shop.example
S: 451 4.7.1 ?[31mtry <a***@example.org> later
C: QUIT
S: 221 bye
-- not_sent: smtp_451@mail
`
	if v.Conversation != want {
		t.Errorf("got\n%s\nwant\n%s", v.Conversation, want)
	}
}
