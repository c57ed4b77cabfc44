package relay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
	"formledger/ledger/enquiry"
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
` + strings.Repeat("long ", 20) + "\n"
	_, got := read(t, render(t, m).Bytes)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// compose is the message of an enquiry with a name and an address, either of
// which may be absent.
func compose(t *testing.T, subject, name, address string, w relay.Words) relay.Message {
	t.Helper()
	form, faults := enquiry.Compile(enquiry.Definition{
		Name: "contact", To: []string{"owner@shop.example", "Zoë <zoe@shop.example>"}, From: "Website <form@shop.example>",
		Subject: subject, Contact: "Call us.",
		Fields: []enquiry.Field{{Name: "address", Kind: enquiry.Email}, {Name: "name", Kind: enquiry.Text, Label: "Name"}},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	e := enquiry.Enquiry{Form: "contact"}
	for _, v := range []enquiry.Value{{Name: "address", Values: []string{address}}, {Name: "name", Values: []string{name}}} {
		if v.Values[0] != "" {
			e.Fields = append(e.Fields, v)
		}
	}
	id := message().SubmissionID
	row := ledger.Submission{ID: id, Reference: ledger.ReferenceOf(id), PayloadHash: "v1.k1.00", CreatedAt: message().Date}
	return relay.Compose(form, e, row, "abc", w)
}

const rule = "----------------------------------------\n"

func TestTheMailSaysWhatTheMessageSays(t *testing.T) {
	reference := string(message().Reference)
	arabic := relay.Words{Colon: ":", Reference: "الرقم المرجعي", SubmissionID: "معرّف الرسالة", CopyAddress: "يُرجى نسخ هذا العنوان", RightToLeft: true}
	for name, c := range map[string]struct {
		name, address string
		words         relay.Words
		want          string
	}{
		"words": {"Anna", "anna@example.org", english,
			"address: anna@example.org\nName: Anna\n\n" + rule + "Reference: " + reference + "\nSubmission ID: 01890a5d-ac96-774b-bcce-b302099a8057\n"},
		"no words": {"", "", english,
			rule + "Reference: " + reference + "\nSubmission ID: 01890a5d-ac96-774b-bcce-b302099a8057\n"},
		"another language": {"Anna", "", relay.Words{Colon: "\u00a0:", Reference: "Référence", SubmissionID: "Identifiant"},
			"Name\u00a0: Anna\n\n" + rule + "Référence\u00a0: " + reference + "\nIdentifiant\u00a0: 01890a5d-ac96-774b-bcce-b302099a8057\n"},
		"right to left": {"", "jörg@example.org", arabic,
			"address: jörg@example.org\n\n" + rule + "الرقم المرجعي:\n" + reference + "\nمعرّف الرسالة:\n01890a5d-ac96-774b-bcce-b302099a8057\nيُرجى نسخ هذا العنوان:\njörg@example.org\n"},
	} {
		m := compose(t, "Enquiry", c.name, c.address, c.words)
		_, got := read(t, render(t, m).Bytes)
		if diff := cmp.Diff(c.want, got); diff != "" || m.Text != c.want {
			t.Errorf("%s: the message says %q, and the mail (-want +got):\n%s", name, m.Text, diff)
		}
	}
}

func TestAFormWithoutASubjectHasTheUsualOne(t *testing.T) {
	for own, want := range map[string]string{"": "Anfrage: Kontakt", "Website": "Website"} {
		if got := compose(t, own, "Anna", "", relay.Words{Subject: "Anfrage: Kontakt"}).Subject; got != want {
			t.Errorf("subject %q, want %q", got, want)
		}
	}
}
