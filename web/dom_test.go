package web_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"formledger/web"
)

// dom is a parsed page with the few look-ups the tests need.
type dom struct {
	source string
	root   *html.Node
}

func newPages(t *testing.T) *web.Pages {
	t.Helper()
	pages, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func parse(t *testing.T, source string) dom {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return dom{source: source, root: root}
}

func renderForm(t *testing.T, v web.Form) dom {
	t.Helper()
	var page strings.Builder
	if err := newPages(t).Form(&page, v); err != nil {
		t.Fatal(err)
	}
	return parse(t, page.String())
}

func renderReceipt(t *testing.T, v web.Receipt) dom {
	t.Helper()
	var page strings.Builder
	if err := newPages(t).Receipt(&page, v); err != nil {
		t.Fatal(err)
	}
	return parse(t, page.String())
}

func renderMessage(t *testing.T, v web.Message) dom {
	t.Helper()
	var page strings.Builder
	if err := newPages(t).Message(&page, v); err != nil {
		t.Fatal(err)
	}
	return parse(t, page.String())
}

// all returns the elements of the given names, in document order; without
// names, every element.
func (d dom) all(names ...string) []*html.Node {
	var found []*html.Node
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, n.Data)) {
			found = append(found, n)
		}
	}
	return found
}

// named returns the elements whose name attribute is name.
func (d dom) named(name string) []*html.Node {
	var found []*html.Node
	for _, n := range d.all() {
		if n.Data != "meta" && attr(n, "name") == name {
			found = append(found, n)
		}
	}
	return found
}

// control returns the only element of that name.
func (d dom) control(t *testing.T, name string) *html.Node {
	t.Helper()
	found := d.named(name)
	if len(found) != 1 {
		t.Fatalf("%d controls are named %q, want 1", len(found), name)
	}
	return found[0]
}

func (d dom) byID(id string) *html.Node {
	for _, n := range d.all() {
		if attr(n, "id") == id {
			return n
		}
	}
	return nil
}

func (d dom) text() string { return text(d.all("body")[0]) }

func (d dom) title() string { return text(d.all("title")[0]) }

func text(n *html.Node) string {
	var words strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			words.WriteString(c.Data)
		}
	}
	return words.String()
}

func attr(n *html.Node, key string) string {
	value, _ := lookup(n, key)
	return value
}

func has(n *html.Node, key string) bool {
	_, ok := lookup(n, key)
	return ok
}

func lookup(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}
