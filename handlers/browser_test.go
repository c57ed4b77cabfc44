//go:build linux

package handlers

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
)

// A real Chromium, scripts off, on the real server.
func TestWithoutJavaScript(t *testing.T) {
	d := startDriver(t)
	b := d.browser(t, patient)
	for _, c := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"what the tests rely on", reliesOn},
		{"form, receipt, reload", sendsAndReloads},
		{"back, same words", goesBackWithTheSameWords},
		{"back, new words", goesBackWithNewWords},
		{"invalid input", correctsInput},
		{"not sent", sendsWhatWasNotSent},
		{"uncertain, not received, sent again", sendsAgainWhenTold},
		{"uncertain, received", isToldOfReceipt},
		{"static form", sendsAStaticFormTwice},
		{"thanks page", isThankedElsewhere},
		{"small screen", fitsAPhone},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
	t.Run("double click", func(t *testing.T) { clicksTwice(t, d.browser(t, impatient)) })
	// A browser keeps a page it leaves whole if it can afford it (above), and
	// otherwise makes it anew from what its HTTP cache holds.
	t.Run("back, same words, page made anew", func(t *testing.T) {
		goesBackWithTheSameWords(t, d.browser(t, patient, "--disable-features=BackForwardCache"))
	})
}

// Each of these would hide a fault of the others if it were not so.
func reliesOn(t *testing.T, b *browser) {
	v, s := b.tab(t), newSite(t)
	s.page("/script", `<title>off</title><script>document.title = "on"</script><noscript><p>no script</p></noscript>`)
	v.open(s.url + "/script")
	if v.sees("no script"); v.title() != "off" {
		t.Errorf("scripts are %s", v.title())
	}
	s.page("/policy", `<style>p { color: red }</style>`, "Content-Security-Policy", "default-src 'none'")
	v.open(s.url + "/policy")
	eventually(t, "the console names a violated policy", func() bool { return len(v.violations()) > 0 })
	s.page("/wide", `<div style="width: 400px">wide</div>`)
	v.phone()
	v.open(s.url + "/wide")
	if v.width() <= phoneWidth {
		t.Errorf("a page that is too wide measures %v", v.width())
	}
}

func sendsAndReloads(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	id := v.sends(k, adas)
	for range 2 {
		v.sees("Received", string(ledger.ReferenceOf(id)), "Call 030 901820")
		v.reload()
		v.arrives(k.receiptPage(id))
	}
	k.wantMails(1)
	if m := k.mails(); len(m) > 0 && m[0].Header.Get("Reply-To") != "<ada@example.org>" {
		t.Errorf("the mail is from %q", m[0].Header.Get("Reply-To"))
	}
}

// The far end is held until both posts are there, so the second click comes
// while the first is being answered.
func clicksTwice(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	gate := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo) // the kit waits for its sends
	k.far.set(func(f *farEnd) { f.gate = gate })
	v.open(k.hostedForm())
	id := v.submissionID()
	v.fillIn(adas)
	x, y := v.middle(labelled("Send message"))
	for n := range 2 {
		v.clickAt(x, y)
		eventually(t, fmt.Sprintf("%d posts are there", n+1), func() bool { return k.waiters() == n+1 })
	}
	letGo()
	v.arrives(k.receiptPage(id))
	v.sees("Received", string(ledger.ReferenceOf(id)))
	k.wantMails(1)
}

// It begins at the address of a page that came back for correction, opened anew.
func goesBackWithTheSameWords(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	v.open(k.hostedForm() + "?" + pageMark)
	id := v.submissionID()
	v.fillIn(adas)
	v.press("Send message")
	v.arrives(k.receiptPage(id))
	for range 2 {
		v.back()
		v.arrives(k.hostedForm())
		v.wantID(id)
		v.wantWritten(adas)
		v.press("Send message")
		v.arrives(k.receiptPage(id))
	}
	k.wantMails(1)
}

func goesBackWithNewWords(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	id := v.sends(k, adas)
	v.back()
	v.arrives(k.hostedForm())
	v.wantID(id)
	v.fillIn(second)
	v.press("Send message")
	v.sees("This is a different message", string(ledger.ReferenceOf(id)))
	v.wantWritten(second)
	next := v.submissionID()
	if next == id {
		t.Error("the words would go under the first message's ID")
	}
	k.wantMails(1)
	v.press("Send as a new message")
	v.arrives(k.receiptPage(next))
	k.wantMails(2)
}

// The message begins with an empty line, which HTML would drop, and the name
// holds what HTML would read as its own.
func correctsInput(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	typed := written{`<b>Ada</b> & "co"`, "nonsense@", "Advice Other", "\none\n\n  two & </textarea>\n"}
	v.open(k.hostedForm())
	id := v.submissionID()
	v.fillIn(typed)
	v.press("Send message")
	v.sees("Please correct the form")
	v.wantWritten(typed)
	v.wantID(id)
	k.wantMails(0)
	v.wantFocus("id", "notice") // a screen reader begins here
	v.click(`//section[@id="notice"]//li/a`)
	v.wantFocus("name", "email")
	v.write(emailField, adas.email)
	v.press("Send message")
	v.arrives(k.receiptPage(id))
	k.wantMails(1)
}

func sendsWhatWasNotSent(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	v.open(k.hostedForm())
	id := v.submissionID()
	v.fillIn(adas)
	v.press("Send message")
	v.sees("Your message was not sent")
	v.wantID(id)
	v.wantWritten(adas)
	k.far.well()
	v.press("Send message")
	v.arrives(k.receiptPage(id))
	v.sees("Received")
	k.wantMails(1)
}

func sendsAgainWhenTold(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	id := v.leavesInDoubt(k)
	k.decides(id, ledger.NotReceived)
	v.reload()
	v.press("Send it again")
	v.wantID(id)
	v.fillIn(adas)
	k.wantMails(0)
	v.press("Send message")
	v.arrives(k.receiptPage(id))
	v.sees("Received")
	k.wantMails(1)
}

func isToldOfReceipt(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	id := v.leavesInDoubt(k)
	k.decides(id, ledger.Received)
	v.reload()
	v.sees("Your message has been received", string(ledger.ReferenceOf(id)))
	k.wantMails(0)
}

func sendsAStaticFormTwice(t *testing.T, b *browser) {
	s, k := withStaticForm(t, copiedFields)
	v := b.tab(t)
	v.open(s.url + "/contact")
	v.fillIn(adas)
	v.press("Send")
	v.sees("Received", "Call 030 901820")
	receipt := v.address()
	v.reload()
	v.back()
	v.arrives(s.url + "/contact")
	v.wantWritten(adas)
	v.press("Send")
	v.arrives(receipt)
	k.wantMails(1)
}

func isThankedElsewhere(t *testing.T, b *browser) {
	s := newSite(t)
	s.page("/thanks", `<title>Thank you</title><p>We will answer soon.`)
	k, v := newKit(t, func(o *options) { o.form.ThanksURL = s.url + "/thanks" }), b.tab(t)
	v.open(k.hostedForm())
	v.fillIn(adas)
	for range 2 { // the second time after the back button
		v.press("Send message")
		v.arrives(s.url + "/thanks")
		v.sees("We will answer soon.")
		v.back()
	}
	k.wantMails(1)
}

// unbroken is wider than any screen, and has no place to break it.
var unbroken = strings.Repeat("W", 90)

// wideForm has every kind of field, and such a word wherever one can stand.
func wideForm(o *options) {
	o.form.Title, o.form.Contact = unbroken, o.form.Contact+unbroken
	o.form.Fields[0].Label, o.form.Fields[2].Options = unbroken, append(services, unbroken)
	for _, kind := range []enquiry.Kind{enquiry.Tel, enquiry.URL, enquiry.Date, enquiry.Select, enquiry.Checkbox} {
		f := enquiry.Field{Name: string(kind), Kind: kind, Label: unbroken}
		if kind == enquiry.Select {
			f.Options = []string{unbroken}
		}
		o.form.Fields = append(o.form.Fields, f)
	}
}

// fitsAPhone goes over every page, and no page may be wider than the screen.
func fitsAPhone(t *testing.T, b *browser) {
	fields := fmt.Sprintf(`<input name="name" value=%[1]q><input name="email" value=%[1]q><input name="date" value=%[1]q>
		<input name="select" value=%[1]q><input name=%[1]q value=%[1]q><textarea name="message">%[1]s</textarea>`, unbroken)
	s, k := withStaticForm(t, fields, wideForm)
	v := b.tab(t)
	v.phone()
	v.open(k.hostedForm())
	v.fits("Send message")
	v.open(s.url + "/contact")
	v.press("Send")
	v.fits("Please correct the form")
	v.write(emailField, adas.email)
	v.write(`//input[@name="date"]`, "2026-11-30")
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	v.press("Send message")
	v.fits("Your message was not sent")
	id := v.leavesInDoubt(k)
	v.fits("Please check with us first")
	v.back()
	v.write(nameField, "Bob")
	v.press("Send message")
	v.fits("This is a different message")
	v.press("Send as a new message")
	v.fits("Your message has been received")
	k.decides(id, ledger.NotReceived)
	v.open(k.receiptPage(id))
	v.fits("Send it again")
	v.open(k.receiptPage(newID()))
	v.fits("Not known here")
	v.open(k.url + "/" + unbroken)
	v.fits("Nothing here")
}

// fits waits for a page by words of it, and measures it.
func (v *tab) fits(words string) {
	v.t.Helper()
	v.sees(words)
	if got := v.width(); got != phoneWidth {
		v.t.Errorf("the page %q is %v wide on a screen of %v", words, got, phoneWidth)
	}
}
