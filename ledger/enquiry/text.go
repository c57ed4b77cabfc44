package enquiry

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// oneLine normalizes text that has no line breaks: every kind of space becomes
// U+0020, outer white space goes. It returns a problem's code, or "".
func oneLine(s string, phone bool) (string, string) {
	s, code := clean(s, phone)
	if code != "" {
		return "", code
	}
	s = strings.Map(func(r rune) rune {
		if isBlank(r) || isLineSeparator(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Trim(s, " \n")
	if strings.Contains(s, "\n") {
		return "", codeOneLine
	}
	return s, ""
}

// multiLine normalizes text of several lines: white space at the end of lines
// and outer blank lines go, indentation and inner blank lines stay.
func multiLine(s string) (string, string) {
	s, code := clean(s, false)
	if code != "" {
		return "", code
	}
	s = strings.Map(func(r rune) rune {
		if isLineSeparator(r) {
			return '\n'
		}
		return r
	}, s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(line, isBlank)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n"), ""
}

// isBlank tells tab and the spaces (Zs), the only one of which in ASCII is ' '.
func isBlank(r rune) bool {
	return r == ' ' || r == '\t' || r > '~' && unicode.Is(unicode.Zs, r)
}

// isLineSeparator tells Unicode's own line and paragraph separator (Zl, Zp).
func isLineSeparator(r rune) bool { return r == 0x2028 || r == 0x2029 }

// clean does what all text needs: refuse what cannot be shown honestly, drop
// what nobody can see, and compose. Dropping comes before NFC, because a
// character in between keeps a letter and its accent apart; nothing that NFC
// produces is dropped or refused, so doing it twice changes nothing.
func clean(s string, phone bool) (string, string) {
	if !utf8.ValidString(s) {
		return "", codeEncoding
	}
	if strings.Contains(s, "\r") {
		s = lineEnds.Replace(s)
	}
	for _, r := range s {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return "", codeControl
		case isBidiOverride(r) && !phone:
			return "", codeBidi
		}
	}
	s = strings.Map(func(r rune) rune {
		if isInvisible(r) || phone && unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
	return norm.NFC.String(s), ""
}

// isBidiOverride tells the characters that can make text read as what it is
// not: overrides (U+202D, U+202E), and the embeddings that share their pop
// character (U+202A to U+202C). The isolates (U+2066 to U+2069) and marks
// (U+200E, U+200F, U+061C) stay: Unicode recommends them in the embeddings'
// place (UAX #9, section 2), and people who mix Arabic or Hebrew with Latin
// text need them. Only in telephone numbers all of them are dropped silently,
// because the address books of phones wrap copied numbers in them.
func isBidiOverride(r rune) bool { return 0x202A <= r && r <= 0x202E }

// isInvisible tells zero-width space, byte order mark and soft hyphen. ZWJ and
// ZWNJ are invisible too but carry meaning: emoji, Indic scripts, Persian.
func isInvisible(r rune) bool { return r == 0x200B || r == 0xFEFF || r == 0x00AD }
