package relay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/relay"
)

func TestTheTextReadsWellOnAPhone(t *testing.T) {
	m := message(
		field("Name", "Anna Müller"), field("Email", "anna@example.org"), field("Phone"), field("Company", ""),
		field("Services", "Logo", "Website"),
		field("Message", "Hello,\n\nplease call."),
		field("City", "Köln"),
		field("Days", "Monday, early", "Friday"),
		field("What is it about?", "Repair"),
		relay.Line{Label: "utm\nsource", Values: []string{"poster"}, Further: true},
		relay.Line{Label: " ", Values: []string{strings.Repeat("long ", 20)}, Further: true},
	)
	want := `Name: Anna Müller
Email: anna@example.org
Services: Logo, Website

Message:
Hello,

please call.

City: Köln

Days:
- Monday, early
- Friday

What is it about? Repair

Further fields
--------------

utm source: poster

(no name):
` + strings.Repeat("long ", 20) + `

----------------------------------------
Reference: ` + string(m.Reference) + `
Submission ID: 01890a5d-ac96-774b-bcce-b302099a8057
`
	_, got := read(t, render(t, m).Bytes)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnEnquiryWithoutWordsHasItsFooter(t *testing.T) {
	_, got := read(t, render(t, message()).Bytes)
	if !strings.HasPrefix(got, "-----") || !strings.Contains(got, "\nReference: ") {
		t.Errorf("%q", got)
	}
}
