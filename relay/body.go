package relay

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortValue = 80 // characters that stand beside their label
	rule       = "----------------------------------------"
)

var lineEnds = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")

// TextOf is the enquiry for a reader on a phone: the fields at once, because a
// list of mails shows the first words of each. Every value stands in it as the
// visitor typed it, neither wrapped, trimmed nor indented.
func TextOf(lines []Line) string {
	var declared, further []Line
	for _, l := range lines {
		if l.Further {
			further = append(further, l)
		} else {
			declared = append(declared, l)
		}
	}
	parts := paragraphs(declared)
	if more := paragraphs(further); len(more) > 0 {
		parts = append(append(parts, "Further fields\n--------------"), more...)
	}
	return strings.Join(parts, "\n\n")
}

// bodyText is the mail's text: the enquiry, and our own lines last. Lines end in
// CRLF, which RFC 2045 section 6.8 wants before base64.
func bodyText(m Message) string {
	text := footer(m)
	if m.Text != "" {
		text = m.Text + "\n\n" + text
	}
	return lineEnds.Replace(text)
}

func footer(m Message) string {
	text := fmt.Sprintf("%s\nReference: %s\nSubmission ID: %s\n", rule, m.Reference, m.SubmissionID)
	if m.ReplyTo != "" && !replyable(m.ReplyTo) {
		text += "A plain reply would not reach the visitor. Please copy this address: " + m.ReplyTo + "\n"
	}
	return text
}

// paragraphs keeps short fields together and gives each long one its own.
func paragraphs(lines []Line) []string {
	var out []string
	open := false // the last paragraph takes another short field
	for _, l := range lines {
		text, short := l.text()
		switch {
		case text == "":
			continue
		case short && open:
			out[len(out)-1] += "\n" + text
		default:
			out = append(out, text)
		}
		open = short
	}
	return out
}

// text is the field as it is read, and whether it takes a single short line. A
// field without any value has no text.
func (l Line) text() (text string, short bool) {
	value := strings.Join(l.Values, ", ")
	switch {
	case strings.Join(l.Values, "") == "":
		return "", true
	case len(l.Values) > 1 && !listable(l.Values):
		return l.label() + "\n- " + strings.Join(l.Values, "\n- "), false
	case strings.ContainsAny(value, "\r\n") || utf8.RuneCountInString(value) > shortValue:
		return l.label() + "\n" + value, false
	default:
		return l.label() + " " + value, true
	}
}

// listable reports whether the values stay apart when commas separate them.
func listable(values []string) bool {
	for _, v := range values {
		if v == "" || strings.ContainsAny(v, ",\r\n") {
			return false
		}
	}
	return true
}

// label is the label on one line, with a colon unless it ends in a mark of its
// own. That of an undeclared field is the name that the client sent, which may
// hold anything.
func (l Line) label() string {
	oneLine := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' { // line and paragraph separator
			return ' '
		}
		return r
	}, l.Label)
	if oneLine = strings.TrimSpace(oneLine); oneLine == "" {
		oneLine = "(no name)"
	}
	if strings.HasSuffix(oneLine, ":") || strings.HasSuffix(oneLine, "?") {
		return oneLine
	}
	return oneLine + ":"
}
