package smtp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"strings"
	"testing"
	"time"

	"formledger/relay"
)

func (p *postfix) sender() *Sender {
	s, _ := newSender(p.t, Config{Host: "127.0.0.1", Port: p.port, TLS: Plain, HelloName: "client.example", Deadlines: patience(20 * time.Second)})
	return s
}

// enquiry is a message with one field, and a Message-ID of its own.
func enquiry(id, value string) relay.Message {
	m := message()
	m.MessageID = id + "@shop.example"
	m.Text = relay.TextOf([]relay.Line{{Label: "Message", Values: []string{value}}}, relay.Words{Colon: ":"})
	return m
}

func (p *postfix) send(m relay.Message) relay.Verdict {
	p.t.Helper()
	rendered, err := relay.Render(m)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.sender().Send(context.Background(), rendered, forever())
}

func TestPostfixTakesAnEnquiryWhole(t *testing.T) {
	p := startPostfix(t, true)
	const typed = "Grüße 👋🏽\n\n.\n..\n.dot\n   spaces   \nthe end"
	m := enquiry("whole", typed)
	m.Subject = "Anfrage über Möbel 🪑"
	v := p.send(m)
	if v.Finding != relay.Accepted || !strings.HasPrefix(v.Receipt, "smtp:250 2.0.0 Ok: queued as ") {
		t.Fatalf("%+v", v)
	}
	raw := p.delivered(m.MessageID)
	if !strings.Contains(raw, "X-Original-To: owner@shop.example\n") || !strings.HasPrefix(raw, "Return-Path: <form@shop.example>\n") {
		t.Errorf("envelope in\n%s", raw)
	}
	h, text := parse(t, raw)
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || subject != m.Subject+" ["+string(m.Reference)+"]" {
		t.Errorf("%v, subject %q", err, subject)
	}
	for name, want := range map[string]string{
		"From": `"Website" <form@shop.example>`, "To": "<owner@shop.example>", "Reply-To": "<anna@example.org>",
		"Message-Id": "<whole@shop.example>", "X-Submission-Reference": string(m.Reference),
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if date, err := h.Date(); err != nil || !date.Equal(m.Date) {
		t.Errorf("%v, date %s", err, date)
	}
	if !strings.Contains(text, "\n"+typed+"\n") {
		t.Errorf("not what was typed:\n%s", text)
	}
}

// awkward are values that have broken mail programs and servers.
var awkward = map[string]string{
	"dots":       strings.Repeat(".\n", 200),
	"long-line":  strings.Repeat("x", 20_000),
	"long-words": strings.Repeat("wörtchen ", 3000),
	"bare":       "a\rb\nc\r\nd\r\r\ne",
	"lf-dot-lf":  "a\n.\nMAIL FROM:<evil@shop.example>\nRCPT TO:<evil@shop.example>\nDATA\nSubject: evil\n\nevil\n.\n",
	"crlf-dot":   "a\r\n.\r\nMAIL FROM:<evil@shop.example>\r\nRCPT TO:<evil@shop.example>\r\nDATA\r\nSubject: evil\r\n\r\nevil\r\n.\r\n",
	"lf-dot":     "a\n.\r\nMAIL FROM:<evil@shop.example>\r\nRCPT TO:<evil@shop.example>\r\nDATA\r\n",
	"cr-dot":     "a\r.\r\nMAIL FROM:<evil@shop.example>\r\nRCPT TO:<evil@shop.example>\r\nDATA\r\n",
	"cr-dot-cr":  "a\r.\rQUIT\r",
	"header":     "a\r\nBcc: evil@shop.example\r\n\r\nContent-Type: text/html",
	"nothing":    "",
}

func TestPostfixTakesAwkwardTextWholeAndAlone(t *testing.T) {
	p := startPostfix(t, true)
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	for name, value := range awkward {
		m := enquiry(name, value)
		if v := p.send(m); v.Finding != relay.Accepted {
			t.Fatalf("%s: %+v", name, v)
		}
		_, text := parse(t, p.delivered(m.MessageID))
		if !strings.Contains(text, lines.Replace(value)) {
			t.Errorf("%s: not what was typed:\n%.2000s", name, text)
		}
	}
	p.alone(len(awkward))
}

// The same sequences raw in the message, as no renderer of ours writes them.
func TestPostfixIsNotSmuggledThrough(t *testing.T) {
	p := startPostfix(t, true)
	for name, value := range awkward {
		m := enquiry("raw-"+name, "")
		raw := relay.Mail{Message: m, Bytes: []byte("Message-ID: <" + m.MessageID + ">\r\nSubject: ours\r\n\r\n" + value)}
		if !strings.Contains(name, "long") {
			if v := p.sender().Send(context.Background(), raw, forever()); v.Finding != relay.Accepted {
				t.Fatalf("%s: %+v", name, v)
			}
			p.delivered(m.MessageID)
		}
	}
	p.alone(len(awkward) - 2)
}

func TestPostfixIsNotInjectedInto(t *testing.T) {
	p := startPostfix(t, true)
	m := enquiry("injected", "hello")
	m.ReplyTo = "anna@example.org\r\nBcc: evil@shop.example"
	m.Text = relay.TextOf([]relay.Line{{Label: "Name\r\nBcc: evil@shop.example\r\n\r\n.", Values: []string{"hello"}}}, relay.Words{Colon: ":"})
	if v := p.send(m); v.Finding != relay.Accepted {
		t.Fatalf("%+v", v)
	}
	h, _ := parse(t, p.delivered(m.MessageID))
	if h.Get("Bcc") != "" || h.Get("Reply-To") != "" {
		t.Errorf("header %v", h)
	}
	for _, to := range []string{"owner@shop.example>\r\nRCPT TO:<evil@shop.example", "owner@shop.example> ORCPT=rfc822;evil@shop.example", "\"a\r\nb\"@shop.example"} {
		m := enquiry("refused", "hello")
		m.To = []string{to}
		if v := p.sender().Send(context.Background(), mailOf(m, mailText), forever()); terse(v) != "not_sent! bad_address@rcpt" {
			t.Errorf("%q: %s", to, terse(v))
		}
	}
	p.alone(1)
}

// alone asserts that nothing else was taken or delivered, and to nobody else.
func (p *postfix) alone(n int) {
	p.t.Helper()
	log := p.log()
	if queued := strings.Count(log, "(queue active)"); queued != n || len(p.mails()) != n {
		p.t.Errorf("%d queued, %d delivered, want %d", queued, len(p.mails()), n)
	}
	if strings.Contains(log, "evil@") {
		p.t.Errorf("mail to a stranger:\n%s", log)
	}
}

func TestPostfixAndAddresses(t *testing.T) {
	for _, utf8 := range []bool{true, false} {
		p := startPostfix(t, utf8)
		for i, c := range []struct{ to, original, without string }{
			{`"a..b"@shop.example`, `"a..b"@shop.example`, "accepted"},
			{`"a,b"@shop.example`, `"a,b"@shop.example`, "accepted"},
			{"a+tag@shop.example", "a+tag@shop.example", "accepted"},
			{"zoe@bücher.example", "", "not_sent! smtp_554@rcpt"}, // not theirs: but as an A-label
			{"jürgen@shop.example", "jürgen@shop.example", "not_sent! smtputf8_missing@mail"},
		} {
			m := enquiry(fmt.Sprintf("to-%d", i), "hello")
			m.To = []string{c.to}
			text := "Message-ID: <" + m.MessageID + ">\r\nSubject: ours\r\n\r\nhello\r\n"
			v := p.sender().Send(context.Background(), mailOf(m, text), forever())
			want := c.without
			if utf8 && c.original != "" {
				want = "accepted"
			}
			if terse(v) != want {
				t.Errorf("utf8 %v, %s: %s, want %s\n%s", utf8, c.to, terse(v), want, v.Conversation)
				continue
			}
			if asked := strings.Contains(v.Conversation, " BODY=8BITMIME SMTPUTF8"); asked != (utf8 && strings.HasPrefix(c.to, "jür")) {
				t.Errorf("SMTPUTF8 asked for: %v\n%s", asked, v.Conversation)
			}
			if want == "accepted" && !strings.Contains(p.delivered(m.MessageID), "X-Original-To: "+c.original+"\n") {
				t.Errorf("%s: delivered otherwise", c.to)
			}
		}
	}
}

func TestPostfixHasNothingOfABodyThatFailed(t *testing.T) {
	p := startPostfix(t, true)
	gone := make(chan struct{})
	close(gone)
	s := p.sender()
	s.source = inHalves(gone, errors.New("disk on fire"))
	m := enquiry("half", "")
	text := "Message-ID: <" + m.MessageID + ">\r\nSubject: ours\r\n\r\n" + strings.Repeat("a line of the body\r\n", 5000)
	if v := s.Send(context.Background(), mailOf(m, text), forever()); terse(v) != "not_sent body_unreadable@body" {
		t.Errorf("%s", terse(v))
	}
	p.await("Postfix notices", func() bool { return strings.Contains(p.log(), "lost connection after DATA") })
	if !strings.Contains(p.log(), "message-id=<"+m.MessageID+">") {
		t.Error("the mail did not come far enough for the test to mean anything")
	}
	after := enquiry("after", "hello")
	if v := p.send(after); v.Finding != relay.Accepted {
		t.Errorf("%+v", v)
	}
	p.delivered(after.MessageID)
	if len(p.queued(m.MessageID)) != 0 {
		t.Error("Postfix took a half mail")
	}
	p.alone(1)
}
