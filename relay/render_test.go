package relay_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

const (
	persian = "سلام، می\u200cخواهم یک وب\u200cسایت بسازم" // with ZWNJ
	emoji   = "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 thanks 🙏🏽"  // with ZWJ
)

// english are the words of a form without a language.
var english = relay.Words{Further: "Further fields", NoName: "(no name)", Colon: ":", Reference: "Reference",
	SubmissionID: "Submission ID", CopyAddress: "A plain reply would not reach the visitor. Please copy this address"}

func message(lines ...relay.Line) relay.Message {
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	return relay.Message{
		SubmissionID: id,
		PayloadHash:  "v1.k1.00",
		Claim:        ledger.Token{1, 2, 3},
		Reference:    ledger.ReferenceOf(id),
		From:         "Website <form@shop.example>",
		To:           []string{"owner@shop.example", "Zoë <zoe@shop.example>"},
		ReplyTo:      "anna@example.org",
		Subject:      "Enquiry",
		Date:         time.Date(2025, 3, 1, 12, 30, 5, 987e6, time.FixedZone("CET", 3600)),
		MessageID:    "abc.def@shop.example",
		Text:         relay.TextOf(lines, english),
	}
}

func field(label string, values ...string) relay.Line {
	return relay.Line{Label: label, Values: values}
}

func render(t *testing.T, m relay.Message) relay.Mail {
	t.Helper()
	out, err := relay.Render(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// read is what a mail program makes of the bytes: the header and the text with
// LF line ends. It fails the test on anything that breaks RFC 5322's limits.
func read(t *testing.T, raw []byte) (mail.Header, string) {
	t.Helper()
	checkWire(t, raw)
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var body io.Reader
	switch enc := parsed.Header.Get("Content-Transfer-Encoding"); enc {
	case "quoted-printable":
		body = quotedprintable.NewReader(parsed.Body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, parsed.Body)
	default:
		t.Fatalf("encoding %q", enc)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Header, strings.ReplaceAll(string(text), "\r\n", "\n")
}

// checkWire holds the bytes against RFC 5322 section 2.1.1 and RFC 2045 section
// 2.7: lines of at most 78 octets where they can be folded and never more than
// 998, CR and LF only as a pair, ASCII alone.
func checkWire(t *testing.T, raw []byte) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\r\n"), "\r\n") {
		unfoldable := !strings.Contains(strings.TrimPrefix(line, " "), " ")
		if len(line) > 998 || len(line) > 78 && !unfoldable || strings.ContainsAny(line, "\r\n\x00") {
			t.Errorf("line of %d octets: %.100q", len(line), line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Errorf("not ASCII: %.100q", line)
		}
	}
	if !bytes.HasSuffix(raw, []byte("\r\n")) {
		t.Error("the last line has no end")
	}
}

// checkHeader asserts exactly our header fields, once each, and recipients.
func checkHeader(t *testing.T, h mail.Header, replyTo string) {
	t.Helper()
	want := []string{"Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version",
		"Subject", "To", "X-Submission-Reference"}
	if replyTo != "" {
		want = append(want, "Reply-To")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(h))); diff != "" {
		t.Errorf("header fields (-want +got):\n%s", diff)
	}
	for name, values := range h {
		if len(values) != 1 {
			t.Errorf("%s occurs %d times", name, len(values))
		}
	}
	checkAddresses(t, h, "To", "owner@shop.example", "zoe@shop.example")
	checkAddresses(t, h, "From", "form@shop.example")
	if replyTo != "" {
		checkAddresses(t, h, "Reply-To", replyTo)
	}
}

func checkAddresses(t *testing.T, h mail.Header, name string, want ...string) {
	t.Helper()
	list, err := h.AddressList(name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var got []string
	for _, a := range list {
		got = append(got, a.Address)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestRenderedFieldsAreThoseOfTheMessage(t *testing.T) {
	m := message(field("Name", "Anna"))
	h, _ := read(t, render(t, m).Bytes)
	checkHeader(t, h, "anna@example.org")
	want := map[string]string{
		"Subject":                "Enquiry [" + string(m.Reference) + "]",
		"Date":                   "Sat, 01 Mar 2025 11:30:05 +0000",
		"Message-ID":             "<abc.def@shop.example>",
		"X-Submission-Reference": string(m.Reference),
		"Content-Type":           "text/plain; charset=UTF-8",
		"MIME-Version":           "1.0",
	}
	for name, value := range want {
		if got := h.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

func TestTheSameMessageGivesTheSameBytes(t *testing.T) {
	m := message(field("Name", "Anna"), field("Message", "a\n"+persian))
	first := render(t, m).Bytes
	m.Claim = ledger.Token{9} // another attempt
	for range 20 {
		if again := render(t, m).Bytes; !bytes.Equal(first, again) {
			t.Fatalf("first\n%s\nagain\n%s", first, again)
		}
	}
}

func TestSubjectKeepsEveryScript(t *testing.T) {
	for _, subject := range []string{"Anfrage über Möbel für Käse-Läden", persian, emoji, strings.Repeat("Straße ", 60) + "z",
		"", "many  " + strings.Repeat("words ", 40) + "here"} {
		m := message()
		m.Subject = subject
		h, _ := read(t, render(t, m).Bytes)
		got, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
		want := strings.Join(append(strings.Fields(subject), "["+string(m.Reference)+"]"), " ")
		if err != nil || got != want {
			t.Errorf("%v\n got %q\nwant %q", err, got, want)
		}
	}
}

// What a visitor can write is a field's value, an undeclared field's name, and
// the address in Reply-To. None of it makes a header field or a recipient.
func TestNothingAVisitorWritesBecomesAHeader(t *testing.T) {
	hostile := []string{
		"a@b.example\r\nBcc: x@y.example", "a@b.example\nBcc: x@y.example", "a@b.example\rBcc: x@y.example",
		"\"a@b.example\r\nBcc: x@y\"", "\"a\r\n \r\nb\"@b.example", "\"a b\"@b.example", "a@b.example, x@y.example",
		"=?utf-8?q?=0D=0ABcc:_x=40y.example?=", "=?utf-8?q?=0D=0ABcc:x?=@b.example",
		"Eve <x@y.example>", "<x@y.example>", "x@y.example (comment)", "g:x@y.example;", "üñî@b.example", "a@bücher.example",
		"\r\n\r\nbody", "a\x00@b.example", "", "@", strings.Repeat("a", 300) + "@b.example", "a@b.example\u2028Bcc: x@y.example",
	}
	for _, text := range hostile {
		m := message(field("Message", text), relay.Line{Label: text, Values: []string{text}, Further: true})
		m.ReplyTo = text
		h, body := read(t, render(t, m).Bytes)
		checkHeader(t, h, "")
		if typed := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text); !strings.Contains(body, typed) {
			t.Errorf("%q is lost in %q", text, body)
		}
	}
}

func TestReplyToTakesOrdinaryAddresses(t *testing.T) {
	for _, a := range []string{"a+tag@example.org", "o'neill@example.photography", "a@xn--bcher-kva.example",
		"1@2.museum", strings.Repeat("l", 64) + "@" + strings.Repeat("d.", 90) + "example"} {
		m := compose(t, "Enquiry", "Anna", a, english)
		h, body := read(t, render(t, m).Bytes)
		if got, err := h.AddressList("Reply-To"); err != nil || len(got) != 1 || got[0].Address != a {
			t.Errorf("%v: %v, want %q", got, err, a)
		}
		if strings.Contains(body, "copy this address") {
			t.Errorf("needless advice in %q", body)
		}
	}
}

// An address that no header can hold is in the text, with a word to the owner.
func TestAnAddressThatNoHeaderTakesIsInTheText(t *testing.T) {
	m := compose(t, "Enquiry", "Anna", "jörg@example.org", english)
	h, body := read(t, render(t, m).Bytes)
	checkHeader(t, h, "")
	if !strings.Contains(body, "Please copy this address: jörg@example.org\n") {
		t.Errorf("%q", body)
	}
}

func TestValuesArriveWhole(t *testing.T) {
	for name, value := range map[string]string{
		"long word":       strings.Repeat("x", 20_000),
		"long emoji":      strings.Repeat(emoji, 500),
		"persian":         strings.Repeat(persian+"\n", 30),
		"dots":            "...\n.\n..a",
		"one dot":         ".",
		"from lines":      "From here\nFrom there\n\nFrom: me",
		"trailing spaces": "a  \nb\t\n c ",
		"leading spaces":  "   a",
		"blank lines":     "\n\na\n\n\nb\n",
		"equals":          "a=3D=0D=0A=\n=?utf-8?q?=41?=",
		"separator":       "-- \nnot a signature",
	} {
		_, body := read(t, render(t, message(field("Name", "Anna"), field("Message", value), field("City", "Köln"))).Bytes)
		if !strings.Contains(body, value) || !strings.Contains(body, "City: Köln\n") {
			t.Errorf("%s: %.300q", name, body)
		}
	}
}

func TestEncodingSuitsTheScript(t *testing.T) {
	for value, want := range map[string]string{
		strings.Repeat("Grüße aus Köln, bitte rufen Sie zurück. ", 50): "quoted-printable",
		strings.Repeat(persian, 50):                                    "base64",
	} {
		h, _ := read(t, render(t, message(field("Message", value))).Bytes)
		if got := h.Get("Content-Transfer-Encoding"); got != want {
			t.Errorf("%.40q: %s, want %s", value, got, want)
		}
	}
}

func TestMisconfigurationIsAnError(t *testing.T) {
	for name, breakIt := range map[string]func(*relay.Message){
		"no sender":          func(m *relay.Message) { m.From = "" },
		"sender injects":     func(m *relay.Message) { m.From = "a@b.example\r\nBcc: x@y.example" },
		"name injects":       func(m *relay.Message) { m.From = "=?utf-8?q?=0D=0ABcc:_x=40y?= <a@b.example>" },
		"two senders":        func(m *relay.Message) { m.From = "a@b.example, c@d.example" },
		"no recipient":       func(m *relay.Message) { m.To = nil },
		"recipient injects":  func(m *relay.Message) { m.To = []string{"a@b.example\nCc: x@y.example"} },
		"recipient no ASCII": func(m *relay.Message) { m.To = []string{"info@bücher.example"} },
		"subject injects":    func(m *relay.Message) { m.Subject = "a\r\nBcc: x@y.example" },
		"subject invalid":    func(m *relay.Message) { m.Subject = "a\xff" },
		"subject too long":   func(m *relay.Message) { m.Subject = strings.Repeat("x", 1000) },
		"no date":            func(m *relay.Message) { m.Date = time.Time{} },
		"no message ID":      func(m *relay.Message) { m.MessageID = "" },
		"message ID injects": func(m *relay.Message) { m.MessageID = "a@b\r\nBcc: x" },
		"message ID spaces":  func(m *relay.Message) { m.MessageID = "a b@c" },
		"two ats":            func(m *relay.Message) { m.MessageID = "a@b@c" },
		"no reference":       func(m *relay.Message) { m.Reference = "" },
		"reference in lower": func(m *relay.Message) { m.Reference = ledger.Reference(strings.ToLower(string(m.Reference))) },
	} {
		m := message(field("Message", "confidential"))
		m.ReplyTo = "secret@visitor.example"
		breakIt(&m)
		out, err := relay.Render(m)
		if err == nil {
			t.Errorf("%s: rendered\n%s", name, out.Bytes)
			continue
		}
		if strings.Contains(err.Error(), "confidential") || strings.Contains(err.Error(), "visitor.example") {
			t.Errorf("%s: the error holds what the visitor wrote: %v", name, err)
		}
	}
}

// FuzzRender: whatever a visitor writes comes back whole, under our header.
func FuzzRender(f *testing.F) {
	f.Add("Name", "Anna", "b", "anna@example.org")
	f.Add("x\r\nBcc: y", ".\nFrom a\n", persian, "a@b.example\r\nBcc: x@y")
	f.Add("", " trailing \n", emoji+", and", "=?utf-8?q?=0D=0A?=@x")
	f.Fuzz(func(t *testing.T, label, one, two, replyTo string) {
		one, two = normal(one), normal(two)
		m := message(field("Message", one), field("Services", one, two),
			relay.Line{Label: strings.ToValidUTF8(label, "?"), Values: []string{two}, Further: true})
		replyTo = strings.ToValidUTF8(replyTo, "?")
		m.ReplyTo = replyTo
		h, body := read(t, render(t, m).Bytes)
		if h.Get("Reply-To") == "" {
			replyTo = ""
		}
		checkHeader(t, h, replyTo)
		if !strings.Contains(body, one) || !strings.Contains(body, two) {
			t.Errorf("%q and %q are not in %q", one, two, body)
		}
	})
}

// normal is what the enquiry's normalization leaves: valid UTF-8, and of the
// controls tab and newline only.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' || r >= 0x7f && r < 0xa0) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
