package web

import (
	"html/template"
	"strings"
	"testing"
)

func TestFailingTemplateWritesNothing(t *testing.T) {
	broken := template.Must(template.New("message").Parse(`half a page {{index .Links 7}}`))
	pages, err := New()
	if err != nil {
		t.Fatal(err)
	}
	pages.templates[English] = broken
	var out strings.Builder
	if err := pages.Message(&out, Message{}); err == nil {
		t.Error("no error")
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestSpell(t *testing.T) {
	if got, want := spell("YYH9-FP7R-Y5A9"), "Y Y H 9, F P 7 R, Y 5 A 9"; got != want {
		t.Errorf("spell = %q, want %q", got, want)
	}
	if got := spell(""); got != "" {
		t.Errorf("spell of nothing = %q", got)
	}
}

func TestTitles(t *testing.T) {
	for _, tt := range []struct{ happened, name, want string }{
		{"Received", "Contact us", "Received – Contact us"},
		{"", "Contact us", "Contact us"},
		{"Received", "", "Received"},
		{"Not found", "Not found", "Not found"},
	} {
		if got := newHead(tt.happened, tt.name).Title; got != tt.want {
			t.Errorf("newHead(%q, %q) has title %q, want %q", tt.happened, tt.name, got, tt.want)
		}
	}
}
