//go:build linux

package handlers

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay"
	"formledger/web"
)

// scriptedFields is a form as somebody writes it who cares.
const scriptedFields = `<p><label>Your name <input name="name" autocomplete="name" required></label></p>
<p><label>Your address <input name="email" autocomplete="email"></label></p>
<fieldset><legend>Services</legend>
<label><input type="checkbox" name="services" value="Advice"> Advice</label>
<label><input type="checkbox" name="services" value="Repair"> Repair</label>
<label><input type="checkbox" name="services" value="Other"> Other</label></fieldset>
<p><label>Message <textarea name="message" rows="5"></textarea></label></p>`

// withScript is somebody's site, on an origin of its own, whose page has a form
// and our script.
func withScript(t *testing.T, change ...func(*options)) (*webSite, *kit) {
	t.Helper()
	s := newSite(t)
	k := newKit(t, append(change, func(o *options) { o.form.Origins = []string{s.url} })...)
	assets, err := web.NewAssets()
	must(t, err)
	script, found := assets.Get(web.ClientScript)
	if !found {
		t.Fatal("there is no script")
	}
	s.page("/contact", fmt.Sprintf(`<html lang="en"><title>Our garden</title><h1>Our garden</h1>
		<script src="%s" integrity=%q crossorigin="anonymous" defer></script>
		<form method="post" action=%q accept-charset="utf-8">%s<p><button>Send</button></p></form>`,
		k.url+assets.Path(web.ClientScript), script.Integrity, k.hostedForm(), scriptedFields))
	s.page("/elsewhere", `<title>Elsewhere</title><p>Another page.`)
	return s, k
}

// unhurried gives the far end more time than a test takes to hold it up.
func unhurried(o *options) { o.timing.Call, o.timing.Lease = time.Minute, 2*time.Minute }

// hurry lets a page wait a fiftieth of the time between two tries.
const hurry = `Math.random = () => 0.02`

// visitor opens the site's page.
func (s *webSite) visitor(t *testing.T, b *browser) *tab {
	t.Helper()
	v := b.tab(t)
	v.devtools("Page.addScriptToEvaluateOnNewDocument", toSend{"source": hurry}, nil)
	v.open(s.url + "/contact")
	v.forgetsAll()
	v.open(s.url + "/contact")
	v.inState("draft")
	return v
}

// forgetsAll empties what an earlier test left in this browser.
func (v *tab) forgetsAll() {
	v.t.Helper()
	v.script("sessionStorage.clear(); localStorage.clear()")
}

// script runs in the page and gives what it returns.
func (v *tab) script(text string) (result any) {
	v.t.Helper()
	v.command("POST", "/execute/sync", toSend{"script": text, "args": []any{}}, &result)
	return result
}

const box = `//div[contains(concat(" ", @class, " "), " formledger ")]`

func (v *tab) state() (state string) {
	v.t.Helper()
	v.read(box, "/attribute/data-state", &state)
	return state
}

// inState waits for a state of the form.
func (v *tab) inState(want string) {
	v.t.Helper()
	last := ""
	eventually(v.t, "the form is "+want, func() bool {
		last = v.state()
		return last == want
	})
}

// shown is the reference that the page shows.
func (v *tab) shown() (reference string) {
	v.t.Helper()
	v.read(box+`//code`, "/text", &reference)
	return reference
}

// presses fills in the form and presses its button.
func (v *tab) presses(w written) {
	v.t.Helper()
	v.fillIn(w)
	v.press("Send")
}

// arrivedOnce fails unless one mail went out, and the page shows its reference.
func (k *kit) arrivedOnce(v *tab, reference string) {
	k.t.Helper()
	v.inState("accepted")
	v.sees("Your message has been received", reference)
	k.wantMails(1)
	if v.shown() != reference {
		k.t.Errorf("the page shows %s, and began with %s", v.shown(), reference)
	}
	if kept := v.script("return JSON.stringify(sessionStorage) + JSON.stringify(localStorage)"); strings.Contains(fmt.Sprint(kept), "Hello") {
		k.t.Errorf("words were left behind: %s", kept)
	}
}

// A real Chromium with our script, on a page of another site.
func TestWithTheScript(t *testing.T) {
	d := startDriver(t)
	b := d.scripted(t, patient)
	for _, c := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"sent", sendsByScript},
		{"lost answer", losesOneAnswer},
		{"two lost answers", losesTwoAnswers},
		{"six lost answers", losesSixAnswers},
		{"lost request", losesARequest},
		{"uncertain, received", staysUncertainUntilReceived},
		{"uncertain, not received", staysUncertainUntilNotReceived},
		{"Enter again and again", pressesEnterOften},
		{"reload in mid-send", reloadsInMidSend},
		{"back after success", goesBackAfterSuccess},
		{"draft over a reload", keepsTheDraft},
		{"duplicated tab", duplicatesTheTab},
		{"two tabs", writesInTwoTabs},
		{"offline", isOfflineForAWhile},
		{"captive portal", passesAPortal},
		{"422", isCorrected},
		{"503", isNotSent},
		{"409", isInConflict},
		{"429", isLimited},
		{"stores that throw", hasNoStores},
		{"strict policy", keepsAStrictPolicy},
		{"hosted form", sendsTheHostedForm},
		{"receipt, followed", followsTheReceipt},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
	t.Run("double click", func(t *testing.T) { clicksTwiceByScript(t, d.scripted(t, impatient)) })
}

func sendsByScript(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	v.presses(adas)
	k.arrivedOnce(v, v.shown())
	if n := k.posts.Load(); n != 1 {
		t.Errorf("%d posts", n)
	}
	if m := k.mails(); len(m) == 1 && m[0].Header.Get("Reply-To") != "<ada@example.org>" {
		t.Errorf("the mail is from %q", m[0].Header.Get("Reply-To"))
	}
	v.wantFocus("tagName", "H2")
	v.press("Write another message")
	v.inState("draft")
	v.presses(second)
	v.inState("accepted")
	k.wantMails(2)
}

func losesOneAnswer(t *testing.T, b *browser)  { losesAnswersOf(t, b, 1) }
func losesTwoAnswers(t *testing.T, b *browser) { losesAnswersOf(t, b, 2) }
func losesSixAnswers(t *testing.T, b *browser) { losesAnswersOf(t, b, 6) }

func losesAnswersOf(t *testing.T, b *browser, n int) {
	s, k := withScript(t)
	k.is(losesAnswers(n))
	v := s.visitor(t, b)
	v.presses(adas)
	reference := v.shown()
	k.arrivedOnce(v, reference)
	if got := k.posts.Load(); got != int64(n+1) {
		t.Errorf("%d posts, want %d", got, n+1)
	}
	if rows, err := k.ledger.ByReference(t.Context(), ledger.Reference(reference)); err != nil || len(rows) != 1 || rows[0].Claims != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}

func losesARequest(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(losesRequests(2))
	v := s.visitor(t, b)
	v.presses(adas)
	k.arrivedOnce(v, v.shown())
}

// doubted leaves an enquiry uncertain, and checks what the page says and does.
func doubted(t *testing.T, b *browser) (*kit, *tab, string) {
	t.Helper()
	s, k := withScript(t)
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	v := s.visitor(t, b)
	v.presses(adas)
	v.inState("uncertain")
	reference := v.shown()
	v.sees("Please check with us first", "check with us before you send it again", "Call 030 901820", reference)
	k.far.well()
	v.command("POST", v.find(labelled("Send"))+"/click", toSend{}, nil) // an impatient visitor
	v.inState("uncertain")
	if n := k.posts.Load(); n != 1 {
		t.Errorf("%d posts, want 1: what is uncertain is not sent again", n)
	}
	return k, v, reference
}

func (k *kit) decidesOn(reference string, kind ledger.DecisionKind) {
	k.t.Helper()
	rows, err := k.ledger.ByReference(k.t.Context(), ledger.Reference(reference))
	must(k.t, err)
	k.decides(rows[0].ID, kind)
}

func staysUncertainUntilReceived(t *testing.T, b *browser) {
	k, v, reference := doubted(t, b)
	k.decidesOn(reference, ledger.Received)
	v.inState("accepted")
	v.sees("Your message has been received", reference)
	k.wantMails(0)
}

func staysUncertainUntilNotReceived(t *testing.T, b *browser) {
	k, v, reference := doubted(t, b)
	k.decidesOn(reference, ledger.NotReceived)
	v.inState("not_sent")
	v.sees("Your message was not sent")
	v.wantWritten(adas)
	v.press("Send again")
	k.arrivedOnce(v, reference)
}

func pressesEnterOften(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	v.fillIn(adas)
	const enter = "\uE007"
	v.command("POST", v.find(nameField)+"/value", toSend{"text": strings.Repeat(enter, 5)}, nil)
	k.arrivedOnce(v, v.shown())
	if n := k.posts.Load(); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func clicksTwiceByScript(t *testing.T, b *browser) {
	s, k := withScript(t, unhurried)
	gate := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	k.far.set(func(f *farEnd) { f.gate = gate })
	v := s.visitor(t, b)
	v.fillIn(adas)
	x, y := v.middle(labelled("Send"))
	for range 3 {
		v.clickAt(x, y)
	}
	eventually(t, "the post is there", func() bool { return k.waiters() == 1 })
	letGo()
	k.arrivedOnce(v, v.shown())
	if n := k.posts.Load(); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func reloadsInMidSend(t *testing.T, b *browser) {
	s, k := withScript(t, unhurried)
	gate := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	k.far.set(func(f *farEnd) { f.gate = gate })
	v := s.visitor(t, b)
	v.presses(adas)
	eventually(t, "the post is there", func() bool { return k.waiters() >= 1 })
	reference := v.shown()
	v.reload()
	v.inState("sending")
	if v.shown() != reference {
		t.Errorf("after the reload it is %s, and was %s", v.shown(), reference)
	}
	v.wantWritten(adas)
	letGo()
	k.arrivedOnce(v, reference)
}

func goesBackAfterSuccess(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	v.presses(adas)
	reference := v.shown()
	k.arrivedOnce(v, reference)
	v.open(s.url + "/elsewhere")
	v.back()
	k.arrivedOnce(v, reference)
	v.reload()
	k.arrivedOnce(v, reference)
}

func keepsTheDraft(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	v.fillIn(adas)
	eventually(t, "the draft is kept", func() bool {
		return strings.Contains(fmt.Sprint(v.script("return JSON.stringify(sessionStorage)")), "there")
	})
	v.reload()
	v.sees("Your draft was restored.")
	v.wantWritten(adas)
	v.press("Send")
	k.arrivedOnce(v, v.shown())
	v.reload()
	v.press("Write another message")
	v.wantWritten(written{})
}

// windows are the handles of the browser's tabs.
func (v *tab) windows() (handles []string) {
	v.t.Helper()
	v.command("GET", "/window/handles", nil, &handles)
	return handles
}

func (v *tab) turnsTo(handle string) {
	v.t.Helper()
	v.command("POST", "/window", toSend{"handle": handle}, nil)
}

// closesOthers leaves the first tab alone.
func (v *tab) closesOthers(first string) {
	v.t.Helper()
	for _, h := range v.windows() {
		if h != first {
			v.turnsTo(h)
			v.command("DELETE", "/window", nil, nil)
		}
	}
	v.turnsTo(first)
}

func duplicatesTheTab(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(losesRequests(1000))
	v := s.visitor(t, b)
	v.presses(adas)
	v.inState("unreached")
	reference, first := v.shown(), v.windows()[0]
	defer v.closesOthers(first)
	v.script("window.open(location.href)") // which copies the session's store
	eventually(t, "there is another tab", func() bool { return len(v.windows()) == 2 })
	for _, h := range v.windows() {
		v.turnsTo(h)
		v.inState("unreached")
		v.wantWritten(adas)
		if v.shown() != reference {
			t.Errorf("one tab shows %s, the other %s", reference, v.shown())
		}
	}
	k.is(nil)
	for _, h := range v.windows() {
		v.turnsTo(h)
		k.arrivedOnce(v, reference)
	}
}

func writesInTwoTabs(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	first := v.windows()[0]
	defer v.closesOthers(first)
	v.fillIn(adas)
	v.command("POST", "/window/new", toSend{"type": "tab"}, nil)
	v.turnsTo(v.windows()[1])
	v.open(s.url + "/contact")
	v.inState("draft")
	v.wantWritten(written{})
	v.presses(second)
	v.inState("accepted")
	other := v.shown()
	v.turnsTo(first)
	v.wantWritten(adas)
	v.press("Send")
	v.inState("accepted")
	k.wantMails(2)
	if v.shown() == other {
		t.Error("two enquiries have one reference")
	}
}

func (v *tab) network(offline bool) {
	v.t.Helper()
	v.devtools("Network.enable", toSend{}, nil)
	v.devtools("Network.emulateNetworkConditions",
		toSend{"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
}

func isOfflineForAWhile(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	v.fillIn(adas)
	v.network(true)
	defer v.network(false)
	v.press("Send")
	v.inState("unreached")
	v.sees("You are offline")
	reference := v.shown()
	v.network(false)
	k.arrivedOnce(v, reference)
	if n := k.posts.Load(); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func passesAPortal(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(portal(2))
	v := s.visitor(t, b)
	v.presses(adas)
	k.arrivedOnce(v, v.shown())
	if n := k.posts.Load(); n != 3 {
		t.Errorf("%d posts, want 3", n)
	}
}

func isCorrected(t *testing.T, b *browser) {
	s, k := withScript(t)
	v := s.visitor(t, b)
	wrong := adas
	wrong.email = "nonsense@"
	v.presses(wrong)
	v.inState("invalid")
	reference := v.shown()
	v.sees("Please correct the form")
	v.wantFocus("tagName", "H2")
	v.click(box + `//li/a`)
	v.wantFocus("name", "email")
	var invalid, described string
	v.read(emailField, "/attribute/aria-invalid", &invalid)
	v.read(emailField, "/attribute/aria-describedby", &described)
	if invalid != "true" || described == "" {
		t.Errorf("aria-invalid %q, aria-describedby %q", invalid, described)
	}
	v.write(emailField, adas.email)
	v.press("Send")
	k.arrivedOnce(v, reference)
}

func isNotSent(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	v := s.visitor(t, b)
	v.presses(adas)
	v.inState("not_sent")
	reference := v.shown()
	v.sees("Your message was not sent", "Call 030 901820")
	v.wantWritten(adas)
	k.far.well()
	v.press("Send again")
	k.arrivedOnce(v, reference)
}

// Other content came under the page's own ID, while nothing got through.
func isInConflict(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(losesRequests(1000))
	v := s.visitor(t, b)
	v.presses(second)
	v.inState("unreached")
	reference := v.shown()
	id := fmt.Sprint(v.script("return Object.values(sessionStorage).map((text) => JSON.parse(text).id)[0]"))
	k.is(nil)
	other := k.postForm(url.Values{"submission_id": {id}, "name": {"Eve"}, "email": {"eve@example.org"}, "message": {"other words"}})
	if other.status != http.StatusSeeOther {
		// the page may have been quicker; then there is nothing to show
		t.Fatalf("the other content got %d: %s", other.status, other.text)
	}
	v.inState("conflict")
	v.sees("This is a different message")
	k.wantMails(1)
	v.press("Send as a new message")
	v.inState("accepted")
	if v.shown() == reference {
		t.Error("the new message has the old reference")
	}
	k.wantMails(2)
}

func isLimited(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(says(1, http.StatusTooManyRequests, "limited", "Retry-After", "1"))
	v := s.visitor(t, b)
	v.presses(adas)
	k.arrivedOnce(v, v.shown())
	if n := k.posts.Load(); n != 2 {
		t.Errorf("%d posts, want 2", n)
	}
}

func hasNoStores(t *testing.T, b *browser) {
	s, k := withScript(t)
	k.is(losesAnswers(1))
	v := s.visitor(t, b)
	v.script(`Storage.prototype.setItem = Storage.prototype.getItem = Storage.prototype.removeItem = () => { throw new Error("full") }`)
	v.presses(adas)
	v.inState("accepted")
	k.wantMails(1)
}

// A site that loads nothing from elsewhere, with the script on it, and the
// strictest policy: what is blocked is said on the console, and fails the test.
func keepsAStrictPolicy(t *testing.T, b *browser) {
	s := newSite(t)
	k := newKit(t, func(o *options) { o.form.Origins = []string{s.url} })
	there, err := url.Parse(k.url)
	must(t, err)
	s.mux.Handle("/", httputil.NewSingleHostReverseProxy(there))
	assets, err := web.NewAssets()
	must(t, err)
	s.page("/contact", fmt.Sprintf(`<html lang="de"><title>Our garden</title>
		<link rel="stylesheet" href="%s"><script src="%s" defer></script>
		<form method="post" action="/f/contact">%s<button>Send</button></form>`,
		assets.Path("formledger.css"), assets.Path(web.ClientScript), scriptedFields),
		"Content-Security-Policy", "default-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'")
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	v := s.visitor(t, b)
	v.presses(adas)
	v.inState("not_sent")
	v.sees("Ihre Nachricht wurde nicht gesendet")
	k.far.well()
	v.press("Noch einmal senden")
	v.inState("accepted")
	k.wantMails(1)
}

// The browser is killed in mid-send, once what it knows has reached the disk, and
// started again with its session: the ID and the words are there, and go on.
func TestABrowserThatWasKilledGoesOn(t *testing.T) {
	d := startDriver(t)
	s, k := withScript(t)
	k.is(losesRequests(1000))
	profile := d.profile(t)
	b := d.start(t, patient, toSend{}, profile)
	v := s.visitor(t, b)
	v.presses(adas)
	v.inState("unreached")
	reference := v.shown()
	id := fmt.Sprint(v.script("return Object.values(sessionStorage).map((text) => JSON.parse(text).id)[0]"))
	eventuallyWithin(t, time.Minute, "the session has reached the disk", func() bool {
		return onDisk(profile, "Session Storage", id) && onDisk(profile, "Sessions", s.url+"/contact")
	})
	b.killed()
	// once the browser has noted its crash (some ten seconds after its start), it
	// would ask before it restores; the visitor says yes
	after := d.start(t, patient, toSend{"profile.exit_type": "Normal"}, profile, "--restore-last-session").tab(t)
	eventuallyWithin(t, time.Minute, "the tab is restored", func() bool {
		for _, h := range after.windows() {
			if after.turnsTo(h); after.address() == s.url+"/contact" {
				return true
			}
		}
		return false
	})
	after.inState("unreached")
	after.wantWritten(adas)
	if after.shown() != reference {
		t.Errorf("after the restart it is %s, and was %s", after.shown(), reference)
	}
	k.is(nil)
	after.press("Try now")
	k.arrivedOnce(after, reference)
}

// killed ends the browser as a crash does.
func (b *browser) killed() {
	b.t.Helper()
	must(b.t, syscall.Kill(b.pid, syscall.SIGKILL))
	eventually(b.t, "the browser is gone", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // chromedriver may leave it unburied
	})
	b.session = ""
}

// onDisk looks for a text in the files of a profile's folder; Chromium stores some
// texts in UTF-16.
func onDisk(profile, folder, text string) bool {
	wide := strings.Join(strings.Split(text, ""), "\x00")
	found := false
	_ = filepath.WalkDir(filepath.Join(profile, "Default", folder), func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it may have gone meanwhile
		}
		content, err := os.ReadFile(file)
		found = found || err == nil && (strings.Contains(string(content), text) || strings.Contains(string(content), wide))
		return nil
	})
	return found
}

// The hosted form's own ID goes with the first message: whoever posted it before
// the script was there meant the same one.
func sendsTheHostedForm(t *testing.T, b *browser) {
	k, v := newKit(t), b.tab(t)
	v.hosted(k, "en")
	id := v.submissionID()
	k.is(losesAnswers(1))
	v.fillIn(adas)
	v.submits()
	k.arrivedOnce(v, string(ledger.ReferenceOf(id)))
	v.press("Write another message")
	v.fillIn(second)
	v.submits()
	v.inState("accepted")
	k.wantMails(2)
}

// The page changes with the operator's decision, and is never loaded anew.
func followsTheReceipt(t *testing.T, b *browser) {
	for decision, says := range map[ledger.DecisionKind]string{ledger.Received: "Your message has been received", ledger.NotReceived: "Your message was not sent"} {
		k, v, id := newKit(t), b.tab(t), newID()
		v.devtools("Page.addScriptToEvaluateOnNewDocument", toSend{"source": hurry}, nil)
		k.far.answering(unknown)
		k.post(words(id))
		v.open(k.receiptPage(id))
		v.sees("Please check with us first", string(ledger.ReferenceOf(id)), "Print", "Save", "Copy")
		v.script("window.here = true")
		k.decides(id, decision)
		v.sees(says, string(ledger.ReferenceOf(id)))
		if here := v.script("return window.here"); here != true {
			t.Errorf("%s: the page was loaded anew", decision)
		}
	}
}
