package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"formledger/web"
)

const publicSite = "public_url = \"https://forms.shop.example\"\n"

// snippet prints a form's snippet and parses it.
func (s *site) snippet(args ...string) []*html.Node {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	must(s.t, err)
	if !strings.Contains(string(text), publicSite) {
		must(s.t, os.WriteFile(s.config, append([]byte(publicSite), text...), 0o600))
	}
	r := s.command(append([]string{"snippet", "contact"}, args...)...)
	r.check(s.t, exitDone)
	root, err := html.Parse(strings.NewReader(r.out))
	must(s.t, err)
	var all []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// named finds the elements of a kind, by one attribute if that is not empty.
func named(all []*html.Node, tag, attr, value string) []*html.Node {
	var found []*html.Node
	for _, n := range all {
		if n.Data == tag && (attr == "" || attribute(n, attr) == value) {
			found = append(found, n)
		}
	}
	return found
}

func one(t *testing.T, all []*html.Node, tag, attr, value string) *html.Node {
	t.Helper()
	found := named(all, tag, attr, value)
	if len(found) != 1 {
		t.Fatalf("there are %d <%s %s=%q>", len(found), tag, attr, value)
	}
	return found[0]
}

// checksOut fails unless the element loads what the server serves, by its hash.
func checksOut(t *testing.T, n *html.Node, attr, name string) {
	t.Helper()
	assets, err := web.NewAssets()
	must(t, err)
	asset, _ := assets.Get(name)
	if got, want := attribute(n, attr), "https://forms.shop.example"+assets.Path(name); got != want {
		t.Errorf("%s is loaded from %q, not %q", name, got, want)
	}
	if attribute(n, "integrity") != asset.Integrity || attribute(n, "crossorigin") != "anonymous" {
		t.Errorf("%s is not checked: %v", name, n.Attr)
	}
}

func TestASnippetIsTheWholeForm(t *testing.T) {
	t.Parallel()
	all := newSite(t, patient).snippet()
	form := one(t, all, "form", "", "")
	for name, want := range map[string]string{"method": "post", "action": "https://forms.shop.example/f/contact", "data-contact": "Call us on 01234 567890."} {
		if got := attribute(form, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if one(t, all, "input", "name", "email"); attribute(one(t, all, "input", "name", "name"), "autocomplete") != "name" {
		t.Error("a browser would not fill in the name")
	}
	one(t, all, "textarea", "name", "message")
	if n := len(named(all, "input", "name", "services")); n != 3 {
		t.Errorf("%d services", n)
	}
	for _, label := range named(all, "label", "", "") {
		if id := attribute(label, "for"); id != "" && len(named(all, "input", "id", id))+len(named(all, "textarea", "id", id)) != 1 {
			t.Errorf("a label is for %q, which is not there", id)
		}
	}
}

func TestASnippetsScriptIsCheckedByItsHash(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	classic := s.snippet()
	checksOut(t, one(t, classic, "script", "", ""), "src", "formledger.js")
	checksOut(t, one(t, classic, "link", "rel", "stylesheet"), "href", "formledger.css")
	module := s.snippet("--kind", "module")
	checksOut(t, one(t, module, "link", "rel", "modulepreload"), "href", "formledger.mjs")
	script := one(t, module, "script", "type", "module")
	if text := script.FirstChild.Data; !strings.Contains(text, `from "`+attribute(one(t, module, "link", "rel", "modulepreload"), "href")+`"`) {
		t.Errorf("the module imports something else:\n%s", text)
	}
	if plain := s.snippet("--kind", "plain"); len(named(plain, "script", "", ""))+len(named(plain, "link", "", "")) != 0 {
		t.Error("a plain form loads something")
	}
}

func TestASnippetSpeaksTheLanguage(t *testing.T) {
	t.Parallel()
	all := newSite(t, patient).snippet("--lang", "de")
	if got := attribute(one(t, all, "input", "name", "_lang"), "value"); got != "de" {
		t.Errorf("the server would answer in %q", got)
	}
	if got := attribute(one(t, all, "form", "", ""), "data-lang"); got != "de" {
		t.Errorf("the script would speak %q", got)
	}
	if got := one(t, all, "button", "type", "submit").FirstChild.Data; got == "Send message" {
		t.Error("the button is in English")
	}
}

func TestASnippetThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	s.command("snippet", "contact").check(t, exitFailed, "public_url = ")
	s.command("snippet").check(t, exitUsage)
	s.command("snippet", "nothing").check(t, exitUsage, "contact")
	s.command("snippet", "contact", "--kind", "magic").check(t, exitUsage, "script, module or plain")
	s.snippet()
	s.command("snippet", "contact", "--lang", "xx").check(t, exitUsage, `"xx"`)
}
