package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"formledger/handlers/decode"
	"formledger/ledger"
	"formledger/ledger/enquiry"
)

func readTop(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(topLevel, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// plain drops the marks of Markdown and comments, and the line breaks.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("**", "", "*", "", "//", "").Replace(text)), " ")
}

// The promises stand at the top of two files, and are the same there.
func TestTheReadmeAndTheLedgerPromiseTheSame(t *testing.T) {
	_, promised, _ := strings.Cut(readTop(t, "ledger/doc.go"), "//  1.")
	promised, _, _ = strings.Cut("Recorded first."+strings.TrimPrefix(promised, " Recorded first."), "They hold")
	for _, sentence := range strings.SplitAfter(plain(promised), ". ") {
		if !strings.Contains(plain(readTop(t, "README.md")), strings.TrimSpace(sentence)) {
			t.Errorf("the README does not say: %s", sentence)
		}
	}
}

var referenceText = regexp.MustCompile(`\b[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}\b`)

func TestTheDocumentsReferencesAreOnes(t *testing.T) {
	for _, name := range []string{"README.md", "docs/api.md", "docs/smtp.md", "docs/guarantees.md", "docs/relay-protocol.md", "docs/browser.md", "docs/languages.md", "docs/webhooks.md", "docs/operator.md", "docs/examples/order-delivery/README.md", "CONTRIBUTING.md"} {
		for _, ref := range referenceText.FindAllString(readTop(t, name), -1) {
			if _, err := ledger.ParseReference(ref); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The enquiry that the README sends by hand is one that the demo takes.
func TestTheReadmesEnquiryIsTaken(t *testing.T) {
	_, body, _ := strings.Cut(readTop(t, "README.md"), "-d '")
	body, _, _ = strings.Cut(body, "'\n")
	raw, err := decode.Body("application/json", []byte(body), decode.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	demo, err := parse("the demo", demoConfig)
	if err != nil {
		t.Fatal(err)
	}
	form, _ := enquiry.Compile(demo.Forms[0])
	if _, problems := form.Check(raw); len(problems) > 0 {
		t.Errorf("the demo does not take it: %v", problems)
	}
}

// The form of docs/webhooks.md is one that is taken, with each provider's settings.
func TestTheWebhookPagesSettingsAreTaken(t *testing.T) {
	page := readTop(t, "docs/webhooks.md")
	_, form, _ := strings.Cut(page, "```toml\n")
	form, _, _ = strings.Cut(form, "```")
	own := `scheme = "standard"                # or "hmac", or "timestamped"` + "\n"
	rows := regexp.MustCompile("\\| `scheme = [^|]*\\|").FindAllString(page, -1)
	if len(rows) != 6 || !strings.Contains(form, own) {
		t.Fatalf("%d providers; the form is\n%s", len(rows), form)
	}
	for _, row := range rows {
		settings := strings.NewReplacer("`, `", "\n", "`", "", "|", "").Replace(row)
		s, err := parse("docs/webhooks.md", strings.Replace(form, own, strings.TrimSpace(settings)+"\n", 1))
		if err == nil {
			_, err = check(s)
		}
		if err != nil {
			t.Errorf("%s: %v", row, err)
		}
	}
}
