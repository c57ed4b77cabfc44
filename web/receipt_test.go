package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/web"
)

// Every outcome has a word and a title of its own: colour carries none alone.
func TestOutcomesAreSaidInWords(t *testing.T) {
	seen := map[string]string{}
	for _, outcome := range outcomes() {
		d := renderReceipt(t, sampleReceipt(plain, outcome))
		word, form, _ := strings.Cut(d.title(), " – ")
		if form != "Contact us" || word == "" {
			t.Errorf("%s: title %q", outcome, d.title())
		}
		if !strings.Contains(d.text(), word) {
			t.Errorf("%s: the page does not say %q", outcome, word)
		}
		if other, taken := seen[word]; taken {
			t.Errorf("%s and %s are both %q", outcome, other, word)
		}
		seen[word] = outcome
	}
	if seen["Received"] != "accepted" || seen["Not sent"] != "not_sent" {
		t.Errorf("words %v", seen)
	}
}

func TestReceiptTimesAreInUTC(t *testing.T) {
	d := renderReceipt(t, sampleReceipt(plain, "accepted"))
	got := map[string]string{}
	for _, n := range d.all("time") {
		got[attr(n, "datetime")] = text(n)
	}
	want := map[string]string{
		"2026-11-30T15:04:05Z": "30 November 2026, 15:04 UTC",
		"2026-12-01T09:00:00Z": "1 December 2026, 09:00 UTC",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// The eye gets the reference as it is written, the ear gets it spelled.
func TestReferenceIsReadAndHeard(t *testing.T) {
	reference := "YYH9-FP7R-Y5A9"
	for name, tt := range map[string]struct {
		page   dom
		spoken string
	}{
		"receipt": {renderReceipt(t, sampleReceipt(plain, "uncertain")), "Y Y H 9, F P 7 R, Y 5 A 9"},
		"spelled": {renderReceipt(t, web.Receipt{Outcome: "queued", Reference: reference}), "Y Y H 9, F P 7 R, Y 5 A 9"},
		"form":    {renderForm(t, web.Form{Reference: reference}), "Y Y H 9, F P 7 R, Y 5 A 9"},
		"message": {renderMessage(t, sampleMessage(plain)), "Y Y H 9, F P 7 R, Y 5 A 9"},
	} {
		var written, spoken string
		for _, n := range tt.page.all("span") {
			switch attr(n, "class") {
			case "written":
				written = text(n)
				if attr(n, "aria-hidden") != "true" || attr(n, "translate") != "no" {
					t.Errorf("%s: %v", name, n.Attr)
				}
			case "spoken":
				spoken = text(n)
			}
		}
		if written != reference || spoken != tt.spoken {
			t.Errorf("%s: written %q, spoken %q", name, written, spoken)
		}
	}
}

func TestReceiptLeadsOn(t *testing.T) {
	v := sampleReceipt(plain, "not_sent")
	v.Links = append(v.Links, web.Link{Text: "Write to us", URL: "mailto:office@example.com"})
	var links []string
	for _, n := range renderReceipt(t, v).all("a") {
		links = append(links, text(n)+" "+attr(n, "href")+" "+attr(n, "class"))
	}
	want := []string{"Send it again /f/contact button", "Write to us mailto:office@example.com "}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestMessageTitle(t *testing.T) {
	if got, want := renderMessage(t, sampleMessage(plain)).title(), "Page not found – Contact us"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}

// The receipt's script finds the word of every outcome that the page can come to.
// html/template replaces an attribute's name that it does not trust.
func TestTheReceiptHasTheWordOfEveryOutcome(t *testing.T) {
	texts, err := web.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	main := renderReceipt(t, sampleReceipt(plain, "uncertain")).all("main")[0]
	for _, outcome := range outcomes() {
		want := texts.Lookup(web.English).Text("page.status_" + outcome)
		if got := attr(main, "data-word-"+outcome); got != want {
			t.Errorf("the word for %s is %q, want %q", outcome, got, want)
		}
	}
}
