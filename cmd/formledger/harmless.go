package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formula are the characters that begin one in some spreadsheet, the last four in
// their full width, and the apostrophe that is put before them.
// Source: https://owasp.org/www-community/attacks/CSV_Injection
const formula = "'=+-@＝＋－＠"

// parting are the characters at which a spreadsheet may take one cell for two, if
// it was told another separator than the comma. Tabs and line ends are not in a
// cell any more.
const parting = ",;|\""

// harmless writes a cell as exportHelp says.
func harmless(cell string) string {
	var b strings.Builder
	begins := true
	for _, r := range oneLine(cell) {
		if begins && strings.ContainsRune(formula, r) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = strings.ContainsRune(parting, r) || begins && unicode.IsSpace(r)
	}
	return b.String()
}

// oneLine writes what ends a line, or cannot be seen, with a backslash.
func oneLine(cell string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(cell, string(utf8.RuneError)) {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
