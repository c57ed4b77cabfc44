package syntax

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTranscript = 4 << 10
	maxHead       = maxTranscript / 2
	maxShown      = 400 // octets of one line
	gap           = "[…]\n"
)

// Transcript is the conversation as an operator may read it: without what was
// said inside AUTH, with masked addresses, and with the size of the body
// instead of the body. It keeps how it began and how it ended.
type Transcript struct {
	head, tail []string
	inHead     int
	inTail     int
	cut        bool
}

// Client adds a command.
func (t *Transcript) Client(line string) { t.add("C: ", Mask(line)) }

// Server adds a reply, one line for each of its lines.
func (t *Transcript) Server(r Reply) {
	code := strconv.Itoa(r.Code)
	for i, line := range r.Lines {
		between := "-"
		if i == len(r.Lines)-1 {
			between = " "
		}
		t.add("S: ", code+between+Mask(line))
	}
}

// Heard adds what came and is no reply.
func (t *Transcript) Heard(raw string) { t.add("S: ", Mask(raw)) }

// Note adds what we saw and nobody said.
func (t *Transcript) Note(text string) { t.add("-- ", text) }

func (t *Transcript) add(who, text string) {
	line := who + Clip(text, maxShown) + "\n"
	if len(t.tail) == 0 && t.inHead+len(line) <= maxHead {
		t.head, t.inHead = append(t.head, line), t.inHead+len(line)
		return
	}
	t.tail, t.inTail = append(t.tail, line), t.inTail+len(line)
	for t.inTail > maxTranscript-maxHead-len(gap) {
		t.inTail -= len(t.tail[0])
		t.tail, t.cut = t.tail[1:], true
	}
}

func (t *Transcript) String() string {
	parts := t.head
	if t.cut {
		parts = append(parts[:len(parts):len(parts)], gap)
	}
	return strings.Join(append(parts[:len(parts):len(parts)], t.tail...), "")
}

// address finds what may be a mail address, with a quoted local part or not.
var address = regexp.MustCompile(`("(?:[^"\\]|\\.)*"|[^\s<>@;:,"=]+)@([^\s<>@;,"']+)`)

// Mask hides the local parts of addresses but for their first character, and
// what could pretend to be another line.
func Mask(s string) string {
	return address.ReplaceAllStringFunc(oneLine(s), maskAddress)
}

func maskAddress(a string) string {
	first, _ := utf8.DecodeRuneInString(a)
	return string(first) + "***" + a[strings.LastIndexByte(a, '@'):]
}

// oneLine keeps what can be seen. Servers are free to send anything.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r) && r != utf8.RuneError:
			return r
		}
		return '?'
	}, s)
}

// Clip cuts at a character, not inside one.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// WithoutSecrets removes the login from a reply that repeats it.
func WithoutSecrets(s string, secrets ...string) string {
	for _, secret := range secrets {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if secret != "" {
				s = strings.ReplaceAll(s, form, "[redacted]")
			}
		}
	}
	return s
}
