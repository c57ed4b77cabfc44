package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"formledger/ledger"
)

// original reads a cell back as the help of export tells.
func original(cell string) string {
	var plain strings.Builder
	begins := true
	for rest := []rune(cell); len(rest) > 0; rest = rest[1:] {
		if begins && rest[0] == '\'' {
			rest, begins = rest[1:], false
		}
		plain.WriteRune(rest[0])
		begins = strings.ContainsRune(`,;|"`, rest[0]) || begins && unicode.IsSpace(rest[0])
	}
	return unescaped(plain.String())
}

func unescaped(text string) string {
	var b strings.Builder
	for text != "" {
		before, after, escape := strings.Cut(text, `\`)
		b.WriteString(before)
		if text = after; !escape {
			break
		}
		letters := map[byte]rune{'\\': '\\', 'n': '\n', 'r': '\r', 't': '\t'}
		r, width := letters[text[0]], 1
		if text[0] == 'u' {
			code, _ := strconv.ParseUint(text[1:5], 16, 32)
			r, width = rune(code), 5
		}
		b.WriteRune(r)
		text = text[width:]
	}
	return b.String()
}

// isHarmless fails if a spreadsheet would take a cell, or what it may take for
// one, for a formula, whatever separator it was told.
func isHarmless(t *testing.T, table string) {
	t.Helper()
	for _, separator := range ",;|\t" {
		lines := csv.NewReader(strings.NewReader(table))
		lines.Comma, lines.LazyQuotes, lines.FieldsPerRecord = separator, true, -1
		records, err := lines.ReadAll()
		if err != nil {
			t.Errorf("with %q: %v", separator, err)
		}
		for _, cell := range slices.Concat(records...) {
			cell = strings.TrimLeftFunc(cell, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if r, _ := utf8.DecodeRuneInString(cell); strings.ContainsRune("=+-@\t\r＝＋－＠", r) && cell != "" {
				t.Errorf("with %q the cell %q is a formula, in %q", separator, cell, table)
			}
		}
	}
}

func FuzzExportedCellsAreHarmlessAndReadBack(f *testing.F) {
	for _, cell := range []string{
		"", "250 ok", "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'", "'=1", "''", " =1", "ok;=1", "ok,-1", "a|@b", `"=1`, "=HYPERLINK(\"x\",\"y\")",
		"one\r\ntwo", `\`, `\n`, `\'`, "\x00", "\u2028=", "＝1", "ok; '=1", "\xff=",
	} {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		want := strings.ToValidUTF8(cell, "\uFFFD")
		var table bytes.Buffer
		w := csv.NewWriter(&table)
		must(t, w.WriteAll([][]string{{"reference", harmless(cell), "end"}}))
		records, err := csv.NewReader(bytes.NewReader(table.Bytes())).ReadAll()
		if err != nil || len(records) != 1 || len(records[0]) != 3 || original(records[0][1]) != want {
			t.Errorf("%q became %q: %v", want, table.String(), err)
		}
		isHarmless(t, table.String())
	})
}

// The columns are the keys of the JSON, in their order.
func TestTheTableHasTheColumnsOfTheJSON(t *testing.T) {
	text, err := json.Marshal(rowJSON(ledger.Submission{}))
	must(t, err)
	var keys map[string]any
	must(t, json.Unmarshal(text, &keys))
	named := []string{}
	for _, c := range columns() {
		named = append(named, c.name)
		delete(keys, c.name)
	}
	if len(keys) > 0 || !slices.Equal(named[7:11], []string{"submitted_at", "updated_at", "lease_until", "closed_at"}) {
		t.Errorf("the table has %v and lacks %v", named, keys)
	}
}
