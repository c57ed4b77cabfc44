//go:build linux

package handlers

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tab is the browser's tab in the hands of one test. What it is asked for fails
// the test if it does not come in time.
type tab struct {
	t    *testing.T
	b    *browser
	lang string // of the pages that it opens, where that matters
}

func (b *browser) tab(t *testing.T) *tab {
	v := &tab{t: t, b: b}
	t.Cleanup(v.leave)
	return v
}

// leave also looks for what the pages did against their own policy.
func (v *tab) leave() {
	if v.b.session == "" {
		return // the browser was killed
	}
	if said := v.violations(); len(said) > 0 {
		v.t.Errorf("the browser says: %s", strings.Join(said, "\n"))
	}
	if v.t.Failed() {
		v.picture()
	}
	v.devtools("Emulation.clearDeviceMetricsOverride", toSend{}, nil)
}

// picture keeps what a failed test saw; go test -artifacts keeps the file.
func (v *tab) picture() {
	var encoded string
	if err := v.b.call("GET", "/screenshot", nil, &encoded); err != nil {
		v.t.Logf("no picture of the page: %v", err)
		return
	}
	image, err := base64.StdEncoding.DecodeString(encoded)
	must(v.t, err)
	file := filepath.Join(v.t.ArtifactDir(), "page.png")
	must(v.t, os.WriteFile(file, image, 0o600))
	v.t.Logf("the page at the end (%s): %s\n%s", file, v.address(), v.text())
}

func (v *tab) command(method, path string, in toSend, out any) {
	v.t.Helper()
	must(v.t, v.b.call(method, path, in, out))
}

func (v *tab) open(url string) { v.t.Helper(); v.command("POST", "/url", toSend{"url": url}, nil) }
func (v *tab) back()           { v.t.Helper(); v.command("POST", "/back", toSend{}, nil) }
func (v *tab) reload()         { v.t.Helper(); v.command("POST", "/refresh", toSend{}, nil) }

func (v *tab) address() (url string) {
	v.t.Helper()
	v.command("GET", "/url", nil, &url)
	return url
}

func (v *tab) title() (title string) {
	v.t.Helper()
	v.command("GET", "/title", nil, &title)
	return title
}

func (v *tab) arrives(url string) {
	v.t.Helper()
	eventually(v.t, "the browser is at "+url, func() bool { return v.address() == url })
}

// element is a reference to an element, in an answer. WebDriver, section 12.2,
// gives the name.
type element struct {
	ID string `json:"element-6066-11e4-a52e-4f735466cecf"`
}

func (e element) path() string { return "/element/" + e.ID }

// element finds the first element of an XPath.
func (v *tab) element(xpath string) (path string, err error) {
	var found element
	err = v.b.call("POST", "/element", toSend{"using": "xpath", "value": xpath}, &found)
	return found.path(), err
}

// wantFocus names the element with the focus by a property.
func (v *tab) wantFocus(property, want string) {
	v.t.Helper()
	eventually(v.t, fmt.Sprintf("the focus is on %s %q", property, want), func() bool {
		var active element
		var got string
		return v.b.call("GET", "/element/active", nil, &active) == nil &&
			v.b.call("GET", active.path()+"/property/"+property, nil, &got) == nil && got == want
	})
}

// read asks an element for something until it answers: the page may be changing.
func (v *tab) read(xpath, what string, out any) {
	v.t.Helper()
	eventually(v.t, xpath+" can be read", func() bool {
		element, err := v.element(xpath)
		return err == nil && v.b.call("GET", element+what, nil, out) == nil
	})
}

// text is what can be seen.
func (v *tab) text() (text string) {
	v.t.Helper()
	v.read("//body", "/text", &text)
	return text
}

func (v *tab) sees(parts ...string) {
	v.t.Helper()
	eventually(v.t, fmt.Sprintf("the page says %q", parts), func() bool {
		text := v.text()
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	})
}

func (v *tab) find(xpath string) (element string) {
	v.t.Helper()
	eventually(v.t, "there is "+xpath, func() (is bool) {
		var err error
		element, err = v.element(xpath)
		return err == nil
	})
	return element
}

func (v *tab) click(xpath string) {
	v.t.Helper()
	v.command("POST", v.find(xpath)+"/click", toSend{}, nil)
}

// labelled is the XPath of a button or a link by its words.
func labelled(words string) string {
	return fmt.Sprintf("//*[self::button or self::a][normalize-space()=%q]", words)
}

// press clicks a button or a link.
func (v *tab) press(words string) { v.t.Helper(); v.click(labelled(words)) }

// write replaces what stands in a field, key by key.
func (v *tab) write(xpath, text string) {
	v.t.Helper()
	field := v.find(xpath)
	if v.value(xpath) != "" {
		v.command("POST", field+"/clear", toSend{}, nil)
	}
	v.command("POST", field+"/value", toSend{"text": text}, nil)
}

// violations are the console's new lines about the pages' policy.
func (v *tab) violations() (said []string) {
	v.t.Helper()
	var lines []struct{ Source, Message string }
	v.command("POST", "/se/log", toSend{"type": "browser"}, &lines)
	for _, l := range lines {
		if l.Source == "security" || strings.Contains(l.Message, "Content Security Policy") {
			said = append(said, l.Message)
		}
	}
	return said
}

// devtools makes a command of Chromium's own protocol.
func (v *tab) devtools(command string, in toSend, out any) {
	v.t.Helper()
	v.command("POST", "/goog/cdp/execute", toSend{"cmd": command, "params": in}, out)
}

// middle is where to click on an element.
func (v *tab) middle(xpath string) (x, y float64) {
	v.t.Helper()
	var r struct{ X, Y, Width, Height float64 }
	v.read(xpath, "/rect", &r)
	return r.X + r.Width/2, r.Y + r.Height/2
}

// clickAt clicks on a point. In an impatient browser it does so while the answer
// to a click before is under way; WebDriver's own click waits for that.
func (v *tab) clickAt(x, y float64) {
	v.t.Helper()
	for _, event := range []string{"mousePressed", "mouseReleased"} {
		v.devtools("Input.dispatchMouseEvent",
			toSend{"type": event, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
}

const phoneWidth = 360.0 // CSS pixels: a small phone

// phone gives the tab such a screen.
func (v *tab) phone() {
	v.t.Helper()
	v.devtools("Emulation.setDeviceMetricsOverride",
		toSend{"width": phoneWidth, "height": 740, "deviceScaleFactor": 1, "mobile": true}, nil)
}

// width is that of the whole page, in CSS pixels. A phone would let the visitor
// scroll, or shrink the page, if it is more than the screen's.
func (v *tab) width() float64 {
	v.t.Helper()
	var m struct{ CSSContentSize struct{ Width float64 } }
	v.devtools("Page.getLayoutMetrics", toSend{}, &m)
	return m.CSSContentSize.Width
}
