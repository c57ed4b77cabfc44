package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"formledger/web"
)

// pagesOf renders one page of each sort from the samples.
func pagesOf(t *testing.T, f fill) map[string]dom {
	t.Helper()
	pages := map[string]dom{
		"form":       renderForm(t, sampleForm(f)),
		"fresh form": renderForm(t, web.Form{Title: f("Contact us"), Action: "/f/contact"}),
		"message":    renderMessage(t, sampleMessage(f)),
	}
	for _, outcome := range outcomes() {
		pages[outcome] = renderReceipt(t, sampleReceipt(f, outcome))
	}
	return pages
}

// skeleton lists the elements with the names of their attributes.
func skeleton(d dom) []string {
	var list []string
	for _, n := range d.all() {
		line := n.Data
		for _, a := range n.Attr {
			line += " " + a.Key
		}
		list = append(list, line)
	}
	return list
}

func TestHostileWordsAddNoMarkup(t *testing.T) {
	canary := `"'><img src=x onerror=alert(1)></textarea></title></style><script>alert(1)</script><!--{{.}}`
	hostile := pagesOf(t, func(words string) string { return words + canary })
	for name, benign := range pagesOf(t, plain) {
		// Attributes may differ: a hostile value does not check a checkbox, and
		// does not fit in a date input.
		want, got := elements(skeleton(benign)), elements(skeleton(hostile[name]))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: elements differ (-plain +hostile):\n%s", name, diff)
		}
		if n := strings.Count(hostile[name].source, "<script"); n != strings.Count(benign.source, "<script") {
			t.Errorf("%s: %d script tags", name, n)
		}
		if !strings.Contains(hostile[name].text(), canary) {
			t.Errorf("%s: the words did not arrive whole", name)
		}
	}
}

// elements drops the attributes, and the hint that a field gets only if its
// value is not a date.
func elements(skeleton []string) []string {
	var names []string
	for _, line := range skeleton {
		name, attributes, _ := strings.Cut(line, " ")
		if name == "p" && attributes == "class id" {
			continue
		}
		if strings.Contains(attributes, "onerror") {
			name += " onerror"
		}
		names = append(names, name)
	}
	return names
}

func TestHostileURLsAreHarmless(t *testing.T) {
	link := []web.Link{{Text: "x", URL: "javascript:alert(1)", Primary: true}}
	for name, d := range map[string]dom{
		"form":    renderForm(t, web.Form{Action: "javascript:alert(1)", Notice: &web.Notice{Kind: "info", Links: link}}),
		"receipt": renderReceipt(t, web.Receipt{Outcome: "accepted", Links: link}),
		"message": renderMessage(t, web.Message{Links: link}),
	} {
		if strings.Contains(d.source, "javascript:") {
			t.Errorf("%s: a javascript URL survived", name)
		}
	}
}

func TestIDsAreUnique(t *testing.T) {
	for name, d := range pagesOf(t, plain) {
		seen := map[string]bool{}
		for _, n := range d.all() {
			if id := attr(n, "id"); id != "" {
				if seen[id] {
					t.Errorf("%s: id %q twice", name, id)
				}
				seen[id] = true
			}
		}
	}
}

func TestStyleHashCoversTheStyleOfEveryPage(t *testing.T) {
	for name, d := range pagesOf(t, plain) {
		_, rest, _ := strings.Cut(d.source, "<style>")
		style, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(style))
		want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if got := web.StyleHash(); got != want {
			t.Errorf("%s: StyleHash() = %s, page has %s", name, got, want)
		}
		if n := len(d.all("style")); n != 1 || strings.Contains(style, "\r") || !strings.Contains(style, "--accent") {
			t.Errorf("%s: %d style elements, or not our bytes", name, n)
		}
	}
}

// What a strict policy would block, or what would leave the page, is not there.
// The one script is our own, and named by what it is.
func TestPagesAreSelfContained(t *testing.T) {
	assets, err := web.NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range pagesOf(t, plain) {
		scripts := d.all("script")
		for _, n := range scripts {
			script, found := assets.Get(strings.TrimPrefix(attr(n, "src"), assets.Path("")))
			if !found || attr(n, "integrity") != script.Integrity || n.FirstChild != nil {
				t.Errorf("%s: a script that is not ours: %v", name, n.Attr)
			}
		}
		if want := strings.Contains(d.source, "<form") || strings.Contains(d.source, "data-formledger-receipt"); (len(scripts) == 1) != want {
			t.Errorf("%s: %d scripts", name, len(scripts))
		}
		if found := d.all("img", "iframe", "object", "embed", "base"); len(found) > 0 {
			t.Errorf("%s: has <%s>", name, found[0].Data)
		}
		for _, n := range d.all() {
			if has(n, "style") || has(n, "src") && n.Data != "script" || has(n, "onclick") {
				t.Errorf("%s: <%s> has style, src or onclick", name, n.Data)
			}
			if n.Data == "link" && attr(n, "href") != "data:," {
				t.Errorf("%s: links to %s", name, attr(n, "href"))
			}
		}
		if strings.Contains(d.source, "url(") || strings.Contains(d.source, "@import") {
			t.Errorf("%s: the style sheet loads something", name)
		}
	}
}

func TestEveryPageHasItsHead(t *testing.T) {
	want := map[string]string{
		"viewport": "width=device-width, initial-scale=1", "robots": "noindex",
		"referrer": "same-origin", "color-scheme": "light dark",
	}
	for name, d := range pagesOf(t, plain) {
		got := map[string]string{}
		for _, n := range d.all("meta") {
			if has(n, "name") {
				got[attr(n, "name")] = attr(n, "content")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: meta (-want +got):\n%s", name, diff)
		}
		if attr(d.all("html")[0], "lang") != "en" || len(d.all("h1")) != 1 || len(d.all("main")) != 1 {
			t.Errorf("%s: wants a language, one h1 and one main", name)
		}
		if !strings.HasPrefix(d.source, "<!DOCTYPE html>") {
			t.Errorf("%s: starts with %.20q", name, d.source)
		}
	}
}

func TestNoHalfPages(t *testing.T) {
	pages := newPages(t)
	var out bytes.Buffer
	for name, err := range map[string]error{
		"kind":    pages.Form(&out, web.Form{Fields: []web.Field{{Name: "a", Kind: "file"}}}),
		"notice":  pages.Form(&out, web.Form{Notice: &web.Notice{Kind: "other"}}),
		"outcome": pages.Receipt(&out, web.Receipt{Outcome: "sent"}),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "web: ") {
			t.Errorf("unknown %s: error %v", name, err)
		}
	}
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}

var errWrite = errors.New("write failed")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errWrite }

func TestWriteErrorsAreReported(t *testing.T) {
	if err := newPages(t).Message(failingWriter{}, web.Message{}); !errors.Is(err, errWrite) {
		t.Errorf("error %v, want %v", err, errWrite)
	}
}

// Elements that need no explanation on a page that has nothing to say.
func TestEmptyPartsLeaveNoTrace(t *testing.T) {
	for name, d := range map[string]dom{
		"form":    renderForm(t, web.Form{Title: "Contact us"}),
		"receipt": renderReceipt(t, web.Receipt{Outcome: "unseen"}),
		"message": renderMessage(t, web.Message{Heading: "Not found"}),
	} {
		var empty []string
		for _, n := range d.all("p", "ul", "section", "time", "dt") {
			if strings.TrimSpace(text(n)) == "" {
				empty = append(empty, n.Data)
			}
		}
		if empty != nil || len(d.all("section", "time", "ul")) > 0 {
			t.Errorf("%s: empty parts %v in %s", name, empty, body(d))
		}
	}
}

func body(d dom) string {
	var out strings.Builder
	if err := html.Render(&out, d.all("main")[0]); err != nil {
		return err.Error()
	}
	return out.String()
}
