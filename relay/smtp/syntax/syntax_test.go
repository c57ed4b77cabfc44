package syntax_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"formledger/relay/smtp/syntax"
)

// The left sides are what others have smuggled with.
func TestEveryLineEndBecomesCRLF(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "\r\n",
		"a":                      "a\r\n",
		"a\r\n":                  "a\r\n",
		"a\nb\rc\r\nd":           "a\r\nb\r\nc\r\nd\r\n",
		"a\r\r\nb":               "a\r\n\r\nb\r\n",
		"\n.\nMAIL":              "\r\n..\r\nMAIL\r\n",
		"\r\n.\r\nMAIL":          "\r\n..\r\nMAIL\r\n",
		"\n.\r\nMAIL":            "\r\n..\r\nMAIL\r\n",
		"\r.\r\nMAIL":            "\r\n..\r\nMAIL\r\n",
		"\r\n.\nMAIL":            "\r\n..\r\nMAIL\r\n",
		"\r\n.\rMAIL":            "\r\n..\r\nMAIL\r\n",
		"\r.\rMAIL":              "\r\n..\r\nMAIL\r\n",
		".":                      "..\r\n",
		"..\r\n.a\r\n\r\n.\r\n.": "...\r\n..a\r\n\r\n..\r\n..\r\n",
	} {
		if got := string(syntax.Stuff(syntax.WithCRLF([]byte(in)))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzDotStuff(f *testing.F) {
	for _, seed := range []string{"", ".", "a\r\n.\r\nb", "\n.\r\n", "\r.\r", "\r\r\n\n", "..\n...", "x\r\n.y"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		lines := syntax.WithCRLF(message)
		wire := syntax.Stuff(lines)
		rest := bytes.ReplaceAll(wire, []byte("\r\n"), nil)
		if bytes.ContainsAny(rest, "\r\n") || !bytes.HasSuffix(wire, []byte("\r\n")) {
			t.Fatalf("%q has a bare CR or LF, or no last line end", wire)
		}
		var back []byte
		for line := range bytes.Lines(wire) {
			if string(line) == ".\r\n" {
				t.Fatalf("%q holds the end of a message", wire)
			}
			back = append(back, bytes.TrimPrefix(line, []byte("."))...)
		}
		if !bytes.Equal(back, lines) {
			t.Fatalf("%q comes back as %q", lines, back)
		}
		if !bytes.Equal(syntax.WithCRLF(lines), lines) {
			t.Fatalf("%q is not kept", lines)
		}
	})
}

func TestRepliesAreReadWhole(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for in, want := range map[string]struct {
		text string
		err  error
	}{
		"250 ok\r\n":                           {"250 ok", nil},
		"250\r\n":                              {"250", nil},
		"250 \r\n":                             {"250", nil},
		"250 ok\n":                             {"250 ok", nil},
		"250-a\r\n250-b\r\n250 c\r\n":          {"250 a b c", nil},
		"250 ok":                               {"", io.EOF},
		"25":                                   {"", io.EOF},
		"":                                     {"", io.EOF},
		"250-a\r\n":                            {"", io.EOF},
		"250-a\r\n251 b\r\n":                   {"", syntax.ErrGarbage},
		"250-a\r\nb\r\n":                       {"", syntax.ErrGarbage},
		"650 a\r\n":                            {"", syntax.ErrGarbage},
		"050 a\r\n":                            {"", syntax.ErrGarbage},
		"2x0 a\r\n":                            {"", syntax.ErrGarbage},
		"25\r\n":                               {"", syntax.ErrGarbage},
		"2500\r\n":                             {"", syntax.ErrGarbage},
		"\r\n":                                 {"", syntax.ErrGarbage},
		"+250 a\r\n":                           {"", syntax.ErrGarbage},
		"250 " + long + "\r\n":                 {"", syntax.ErrTooLong},
		"250 " + long + long:                   {"", syntax.ErrTooLong},
		strings.Repeat("250-a\r\n", 101):       {"", syntax.ErrTooLong},
		strings.Repeat("250-a\r\n", 100):       {"", io.EOF},
		"250-" + long[:1500] + "\r\n250 b\r\n": {"250 " + long[:1500] + " b", nil},
		strings.Repeat("250-"+long[:2000]+"\r\n", 33): {"", syntax.ErrTooLong},
	} {
		r, err := syntax.ReadReply(bufio.NewReader(strings.NewReader(in)))
		if !errors.Is(err, want.err) || err == nil && r.String() != want.text {
			t.Errorf("%.40q: %q, %v; want %q, %v", in, r, err, want.text, want.err)
		}
	}
}

// endless repeats itself for ever, and counts how much of it was taken.
type endless struct {
	text  []byte
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.taken+i)%len(e.text)]
	}
	e.taken += len(p)
	return len(p), nil
}

func FuzzReply(f *testing.F) {
	for _, seed := range []string{"250 ok\r\n", "250-a\r\n", "250-a\r\n250 b\r\n", "x", "\n", "250", "421\r\n", "354 go\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 {
			return
		}
		from := &endless{text: text}
		r, err := syntax.ReadReply(bufio.NewReader(from))
		if from.taken > 80<<10 {
			t.Fatalf("%d octets read", from.taken)
		}
		if err == nil && (r.Code < 100 || r.Code > 599 || len(r.Lines) == 0 || len(r.Lines) > 100) {
			t.Fatalf("%+v", r)
		}
		var talk syntax.Transcript
		talk.Server(r)
		talk.Heard(string(text))
		if len(talk.String()) > 4<<10 || strings.Count(talk.String(), "\n") != len(r.Lines)+1 && len(r.Lines) < 4 {
			t.Fatalf("%q", talk.String())
		}
	})
}

func TestAddressesOfTheEnvelope(t *testing.T) {
	for in, want := range map[string]string{
		"a@b.example":                           "a@b.example",
		"Zoë <zoe@bücher.example>":              "zoe@xn--bcher-kva.example",
		"jürgen@shop.example":                   "jürgen@shop.example",
		`"a..b"@shop.example`:                   `"a..b"@shop.example`,
		`"a,b"@shop.example`:                    `"a,b"@shop.example`,
		`"a\"b"@shop.example`:                   `"a\"b"@shop.example`,
		`"a\\b"@shop.example`:                   `"a\\b"@shop.example`,
		`"a@b"@shop.example`:                    `"a@b"@shop.example`,
		`"plain"@shop.example`:                  `plain@shop.example`,
		"a+tag=x@shop.example":                  "a+tag=x@shop.example",
		"root@localhost":                        "root@localhost",
		"a@[192.0.2.1]":                         "a@[192.0.2.1]",
		"":                                      "",
		"a":                                     "",
		"@b.example":                            "",
		"a@":                                    "",
		`"a b"@b.example`:                       "",
		"a b@c.example":                         "",
		"a@b.example>":                          "",
		`"a>b"@c.example`:                       "",
		`"a<b"@c.example`:                       "",
		"a@b.example\r\nDATA":                   "",
		"a@b.example\r\n DATA":                  "",
		"\"a\rb\"@c.example":                    "",
		"\"a\x00b\"@c.example":                  "",
		"\"a\x7fb\"@c.example":                  "",
		"a\u2028b@c.example":                    "",
		"a@b..example":                          "",
		"a@-b.example":                          "",
		"a@[not.an.ip]":                         "",
		"a@b.example,c@d.example":               "",
		strings.Repeat("a", 64) + "@b.de":       strings.Repeat("a", 64) + "@b.de",
		strings.Repeat("a", 65) + "@b.de":       "",
		"a@" + strings.Repeat("b.", 140) + "de": "",
	} {
		got, err := syntax.Mailbox(in)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, syntax.ErrAddress) {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestXText(t *testing.T) {
	if got := syntax.XText("a+b=c d\u00fc@x"); got != "a+2Bb+3Dc+20d+C3+BC@x" {
		t.Errorf("%q", got)
	}
}

func TestMasks(t *testing.T) {
	for in, want := range map[string]string{
		"250 <anna@example.org> ok":           "250 <a***@example.org> ok",
		"RCPT TO:<\"a b\"@c.example> ORCPT=x": "RCPT TO:<\"***@c.example> ORCPT=x",
		"ORCPT=rfc822;a+2Bb@c.example":        "ORCPT=rfc822;a***@c.example",
		"jürgen@x, özil@y":                    "j***@x, ö***@y",
		"no address":                          "no address",
		"a\r\nS: 250 b\x1b\u202e\xff":         "a??S: 250 b???",
	} {
		if got := syntax.Mask(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTheTranscriptKeepsHeadAndTail(t *testing.T) {
	var talk syntax.Transcript
	talk.Client("EHLO first")
	for range 500 {
		talk.Heard(strings.Repeat("ü", 2000))
	}
	talk.Note("last")
	s := talk.String()
	if len(s) > 4<<10 || !strings.HasPrefix(s, "C: EHLO first\n") || !strings.HasSuffix(s, "-- last\n") || !strings.Contains(s, "\n[…]\n") {
		t.Errorf("%d octets: %q", len(s), s)
	}
	if s != strings.ToValidUTF8(s, "!") || talk.String() != s {
		t.Error("cut inside a character, or not the same twice")
	}
}
