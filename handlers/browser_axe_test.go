//go:build linux

package handlers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"formledger/ledger"
	"formledger/relay"
)

// axe is the source of axe-core, an engine that looks for barriers.
// https://github.com/dequelabs/axe-core
func axe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "axe", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	install := exec.CommandContext(t.Context(), programFor(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefer-offline", "--fetch-retries=1", "--fetch-timeout=20000")
	install.Dir = dir
	var said bytes.Buffer
	install.Stderr = &said
	if err := install.Run(); err != nil {
		missing(t, fmt.Errorf("axe-core cannot be installed: %w: %s", err, said.String()))
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	must(t, err)
	return string(source)
}

// barriers are what axe finds by the rules of WCAG 2.2 AA and its own advice.
func (v *tab) barriers(source string) []string {
	v.t.Helper()
	v.script(source + "; window.axe = axe")
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	text := ""
	v.command("POST", "/execute/async", toSend{"args": []any{}, "script": `
		const done = arguments[arguments.length - 1];
		axe.run().then((r) => done(JSON.stringify(r.violations)), (e) => done(JSON.stringify([{ id: String(e) }])));`}, &text)
	must(v.t, json.Unmarshal([]byte(text), &found))
	var all []string
	for _, f := range found {
		for _, n := range f.Nodes {
			all = append(all, fmt.Sprintf("%s (%s): %s: %s", f.ID, f.Help, n.HTML, n.FailureSummary))
		}
		if len(f.Nodes) == 0 {
			all = append(all, f.ID)
		}
	}
	return all
}

// scene is a page in a state, and how it comes to be so.
type scene struct {
	name string
	play func(*tab, *kit) // on the hosted form, which is open
}

// scenes are every state that a visitor can meet, on the hosted form with the
// script, and on the receipt's page.
func scenes() []scene {
	fails := func(verdict relay.Verdict, state string) func(*tab, *kit) {
		return func(v *tab, k *kit) {
			k.far.answering(verdict)
			v.fillIn(adas)
			v.submits()
			v.inState(state)
		}
	}
	receipt := func(verdict relay.Verdict, decision ledger.DecisionKind) func(*tab, *kit) {
		return func(v *tab, k *kit) {
			id := newID()
			k.far.answering(verdict)
			k.post(words(id))
			if decision != "" {
				k.decides(id, decision)
			}
			v.open(v.inItsLanguage(k.receiptPage(id)))
		}
	}
	return []scene{
		{"form", func(*tab, *kit) {}},
		{"invalid", func(v *tab, _ *kit) {
			v.fillIn(written{name: "Ada", email: "nonsense@", message: "Hello"})
			v.submits()
			v.inState("invalid")
		}},
		{"sending", func(v *tab, k *kit) {
			gate := make(chan struct{})
			v.t.Cleanup(func() { close(gate) })
			k.far.set(func(f *farEnd) { f.gate = gate })
			v.fillIn(adas)
			v.submits()
			v.inState("sending")
		}},
		{"unreached", func(v *tab, k *kit) {
			k.is(losesRequests(1000))
			v.fillIn(adas)
			v.submits()
			v.inState("unreached")
		}},
		{"accepted", fails(relay.AcceptedWith("taken"), "accepted")},
		{"uncertain", fails(unknown, "uncertain")},
		{"not_sent", fails(relay.ProvenNotSent("down", "dial"), "not_sent")},
		{"limited", func(v *tab, k *kit) {
			k.is(says(1000, 429, "limited", "Retry-After", "60"))
			v.fillIn(adas)
			v.submits()
			v.inState("limited")
		}},
		{"conflict", func(v *tab, k *kit) {
			k.is(says(1000, 409, "conflict"))
			v.fillIn(adas)
			v.submits()
			v.inState("conflict")
		}},
		{"receipt-accepted", receipt(relay.AcceptedWith("taken"), "")},
		{"receipt-uncertain", receipt(unknown, "")},
		{"receipt-not_sent", receipt(unknown, ledger.NotReceived)},
		{"receipt-closed", receipt(unknown, ledger.Close)},
		{"receipt-unseen", func(v *tab, k *kit) { v.open(v.inItsLanguage(k.receiptPage(newID()))) }},
	}
}

// submits presses the hosted form's button, whatever it is called.
func (v *tab) submits() {
	v.t.Helper()
	v.click(`//form//button[@type="submit"]`)
}

func (v *tab) inItsLanguage(url string) string { return url + "?lang=" + v.lang }

// opens the hosted form in a language, with nothing left of another test.
func (v *tab) hosted(k *kit, lang string) {
	v.t.Helper()
	v.lang = lang
	v.open(v.inItsLanguage(k.hostedForm()))
	v.forgetsAll()
	v.open(v.inItsLanguage(k.hostedForm()))
	v.inState("draft")
}

func TestAxeFindsNoBarrier(t *testing.T) {
	source := axe(t)
	b := startDriver(t).scripted(t, patient)
	t.Run("axe finds barriers where there are some", func(t *testing.T) {
		v, s := b.tab(t), newSite(t)
		s.page("/barrier", `<title>A field without a label</title><input>`)
		v.open(s.url + "/barrier")
		if len(v.barriers(source)) == 0 {
			t.Error("none was found")
		}
	})
	for _, lang := range []string{"en", "ar"} {
		for _, s := range scenes() {
			if lang != "en" && !slices.Contains([]string{"form", "invalid", "uncertain", "receipt-uncertain"}, s.name) {
				continue // another language changes words and direction, and no element
			}
			t.Run(lang+"/"+s.name, func(t *testing.T) {
				k, v := newKit(t, unhurried), b.tab(t)
				v.hosted(k, lang)
				s.play(v, k)
				if found := v.barriers(source); len(found) > 0 {
					t.Errorf("%d barriers:\n%s", len(found), strings.Join(found, "\n"))
				}
			})
		}
	}
}

// Not a test: make screenshots lets it write every state to a folder, for people
// to look at.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("FORMLEDGER_SCREENSHOTS")
	if folder == "" {
		t.Skip("make screenshots names a folder for them")
	}
	must(t, os.MkdirAll(folder, 0o755))
	b := startDriver(t).scripted(t, patient)
	for _, lang := range []string{"en", "ar"} {
		for _, width := range []int{360, 1280} {
			for _, s := range scenes() {
				t.Run(fmt.Sprintf("%s-%s-%d", s.name, lang, width), func(t *testing.T) {
					k, v := newKit(t), b.tab(t)
					v.devtools("Emulation.setDeviceMetricsOverride",
						toSend{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
					v.hosted(k, lang)
					s.play(v, k)
					v.photographs(filepath.Join(folder, fmt.Sprintf("%s-%s-%d.png", s.name, lang, width)))
				})
			}
		}
	}
}

// photographs writes the whole page as a picture.
func (v *tab) photographs(file string) {
	v.t.Helper()
	var shot struct{ Data string }
	v.devtools("Page.captureScreenshot", toSend{"captureBeyondViewport": true}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	must(v.t, err)
	must(v.t, os.WriteFile(file, image, 0o644))
}
