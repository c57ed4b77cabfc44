package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// lines knows on which line of a TOML file a setting stands. The decoder tells
// the line of a syntax error, but not of a setting that is well-formed and wrong.
type lines map[string]int

var (
	header     = regexp.MustCompile(`^\s*(\[\[?)\s*([A-Za-z0-9_.\-" ]+?)\s*\]\]?\s*(#.*)?$`)
	assignment = regexp.MustCompile(`^\s*([A-Za-z0-9_.\-"]+)\s*=`)
)

// linesOf reads the headers and keys of a file, counting the elements of arrays
// of tables: the second [[form.field]] of the first form is "form.0.field.1".
func linesOf(text string) lines {
	l := lines{}
	counts := map[string]int{}
	path, quote := "", ""
	for i, line := range strings.Split(text, "\n") {
		if quote != "" || openQuote(line) != "" {
			inside := quote != ""
			quote = nextQuote(quote, line)
			if inside {
				continue
			}
		}
		if m := header.FindStringSubmatch(line); m != nil {
			path = numbered(counts, m[2], m[1] == "[[")
			l.note(path, i+1)
		} else if m := assignment.FindStringSubmatch(line); m != nil {
			l.note(join(path, strings.Trim(m[1], `"`)), i+1)
		}
	}
	return l
}

func (l lines) note(path string, line int) {
	if _, known := l[path]; !known {
		l[path] = line
	}
}

// numbered writes the indices of arrays of tables into a header's path, and
// begins a new element for a [[header]].
func numbered(counts map[string]int, name string, element bool) string {
	path := ""
	parts := strings.Split(strings.ReplaceAll(name, `"`, ""), ".")
	for i, part := range parts {
		path = join(path, strings.TrimSpace(part))
		if last := i == len(parts)-1; last && element {
			counts[path]++
		}
		if n := counts[path]; n > 0 {
			path = join(path, fmt.Sprint(n-1))
		}
	}
	return path
}

func join(path, part string) string {
	if path == "" {
		return part
	}
	return path + "." + part
}

// openQuote is the multi-line quote that a line opens and does not close.
func openQuote(line string) string {
	for _, q := range []string{`"""`, `'''`} {
		if strings.Count(line, q)%2 == 1 {
			return q
		}
	}
	return ""
}

func nextQuote(quote, line string) string {
	if quote == "" {
		return openQuote(line)
	}
	if strings.Count(line, quote)%2 == 1 {
		return ""
	}
	return quote
}

// of is the line of a setting inside an element of an array of tables, or of
// the nearest thing around it.
func (l lines) of(table string, index int, path ...any) int {
	full := []string{fmt.Sprintf("%s.%d", table, index)}
	for _, p := range path {
		full = append(full, fmt.Sprint(p))
	}
	for n := len(full); n > 0; n-- {
		if line, ok := l[strings.Join(full[:n], ".")]; ok {
			return line
		}
	}
	return 1
}

// unknown is the line of a key that the decoder could not place. It names no
// element of an array, so the first key that fits is meant.
func (l lines) unknown(key toml.Key) int {
	return l.earliest(func(path string) bool { return withoutIndices(path) == strings.Join(key, ".") })
}

// first is the line on which a table begins, however it is written.
func (l lines) first(table string) int {
	return l.earliest(func(path string) bool { return path == table || strings.HasPrefix(path, table+".") })
}

func (l lines) earliest(meant func(path string) bool) int {
	found := 0
	for path, line := range l {
		if meant(path) && (found == 0 || line < found) {
			found = line
		}
	}
	return max(found, 1)
}

var index = regexp.MustCompile(`\.\d+`)

func withoutIndices(path string) string { return index.ReplaceAllString(path, "") }
