package relay

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortValue = 80 // characters that stand beside their label
	rule       = "----------------------------------------"
)

// textOf is the whole text of a mail: the enquiry, and our own lines last.
func textOf(m Message, lines []Line, w Words) string {
	text := footer(m, w)
	if said := TextOf(lines, w); said != "" {
		text = said + "\n\n" + text
	}
	return text
}

// TextOf is the enquiry for a reader on a phone: the fields at once, because a
// list of mails shows the first words of each. Every value stands in it as the
// visitor typed it, neither wrapped, trimmed nor indented.
func TextOf(lines []Line, w Words) string {
	var declared, further []Line
	for _, l := range lines {
		if l.Further {
			further = append(further, l)
		} else {
			declared = append(declared, l)
		}
	}
	parts := paragraphs(declared, w)
	if more := paragraphs(further, w); len(more) > 0 {
		heading := w.Further + "\n" + strings.Repeat("-", utf8.RuneCountInString(w.Further))
		parts = append(append(parts, heading), more...)
	}
	return strings.Join(parts, "\n\n")
}

func footer(m Message, w Words) string {
	text := rule + "\n" + w.labelled(w.Reference, string(m.Reference)) + w.labelled(w.SubmissionID, m.SubmissionID.String())
	if m.ReplyTo != "" && !replyable(m.ReplyTo) {
		text += w.labelled(w.CopyAddress, m.ReplyTo)
	}
	return text
}

// labelled is a line of our own, or two.
func (w Words) labelled(label, value string) string {
	if w.RightToLeft {
		return label + w.Colon + "\n" + value + "\n"
	}
	return label + w.Colon + " " + value + "\n"
}

// paragraphs keeps short fields together and gives each long one its own.
func paragraphs(lines []Line, w Words) []string {
	var out []string
	open := false // the last paragraph takes another short field
	for _, l := range lines {
		text, short := l.text(w)
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
func (l Line) text(w Words) (text string, short bool) {
	value := strings.Join(l.Values, ", ")
	switch {
	case strings.Join(l.Values, "") == "":
		return "", true
	case len(l.Values) > 1 && !listable(l.Values):
		return l.label(w) + "\n- " + strings.Join(l.Values, "\n- "), false
	case strings.ContainsAny(value, "\r\n") || utf8.RuneCountInString(value) > shortValue:
		return l.label(w) + "\n" + value, false
	default:
		return l.label(w) + " " + value, true
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
func (l Line) label(w Words) string {
	oneLine := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' { // line and paragraph separator
			return ' '
		}
		return r
	}, l.Label)
	if oneLine = strings.TrimSpace(oneLine); oneLine == "" {
		oneLine = w.NoName
	}
	if last, _ := utf8.DecodeLastRuneInString(oneLine); strings.ContainsRune(":?؟", last) {
		return oneLine
	}
	return oneLine + w.Colon
}
