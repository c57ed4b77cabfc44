package main

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

const tricky = `# a comment with = and [header]
title = """
[[form]]
name = "not a key"
"""
"quoted" = 1
one = """one line"""
[[form]]
name = "a"
  [[form.field]]  # indented
  name = "a1"
  [[form.field]]
  name = "a2"
[timing]
sweep = "1s"
[[ form ]]
name = "b"
text = '''
[[form.field]]
'''
[[form.field]]
name = "b1"
unknown = 1
`

func TestLinesOfSettings(t *testing.T) {
	l := linesOf(tricky)
	for _, c := range []struct {
		want int
		got  int
	}{
		{8, l.of("form", 0)}, {9, l.of("form", 0, "name")}, {10, l.of("form", 0, "field", 0)}, {11, l.of("form", 0, "field", 0, "name")},
		{13, l.of("form", 0, "field", 1, "name")}, {12, l.of("form", 0, "field", 1, "kind")}, {12, l.of("form", 0, "field", 1, "options", 2)},
		{8, l.of("form", 0, "contact")}, {16, l.of("form", 1)}, {17, l.of("form", 1, "name")}, {22, l.of("form", 1, "field", 0, "name")},
		{16, l.of("form", 1, "to", 3)}, {1, l.of("form", 7)}, {14, l.first("timing")}, {1, l.first("times")},
		{23, l.unknown(toml.Key{"form", "field", "unknown"})}, {6, l.unknown(toml.Key{"quoted"})}, {7, l.unknown(toml.Key{"one"})},
		{2, l.unknown(toml.Key{"title"})}, {1, l.unknown(toml.Key{"nowhere"})}, {15, l.unknown(toml.Key{"timing", "sweep"})},
	} {
		if c.got != c.want {
			t.Errorf("line %d, want %d: %q", c.got, c.want, strings.Split(tricky, "\n")[c.want-1])
		}
	}
}

// FuzzLinesOf: whatever a file holds, every line named is one of its own.
func FuzzLinesOf(f *testing.F) {
	for _, text := range []string{tricky, exampleConfig, demoConfig, "", "[[a]]\n[[a.b]]\n[a.b.c]\nd=1", "[[]]\n=\n.=1\n[.]", "a='''\n'''b=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, last := linesOf(text), strings.Count(text, "\n")+1
		for path, line := range l {
			if line < 1 || line > last {
				t.Errorf("%q is said to be on line %d of %d", path, line, last)
			}
		}
		for _, got := range []int{l.of("form", 0), l.of("form", 1, "field", 2, "name"), l.first("timing"), l.unknown(toml.Key{"form", "x"})} {
			if got < 1 || got > last {
				t.Errorf("line %d of %d", got, last)
			}
		}
	})
}
