package web_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"formledger/web"
)

// formWith renders a form with one field.
func formWith(t *testing.T, f web.Field) dom {
	t.Helper()
	if f.Name == "" {
		f.Name = "x"
	}
	return renderForm(t, web.Form{Title: "Contact us", Action: "/f/contact", Fields: []web.Field{f}})
}

func TestFormPostsWhatTheServerDecodes(t *testing.T) {
	d := renderForm(t, sampleForm(plain))
	form := d.all("form")[0]
	want := map[string]string{
		"method": "post", "action": "/f/contact?a",
		"enctype": "multipart/form-data", "accept-charset": "utf-8", "data-formledger": "", "data-contact": sampleForm(plain).Contact,
	}
	got := map[string]string{}
	for _, a := range form.Attr {
		got[a.Key] = a.Val
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
	id := d.control(t, "submission_id")
	if attr(id, "type") != "hidden" || attr(id, "value") != sampleForm(plain).SubmissionID {
		t.Errorf("submission_id is %v", id.Attr)
	}
}

func TestEveryControlHasItsLabel(t *testing.T) {
	d := renderForm(t, sampleForm(plain))
	labels := map[string]string{}
	for _, n := range d.all("label") {
		labels[attr(n, "for")] = text(n)
	}
	controls := 0
	for _, n := range d.all("input", "select", "textarea") {
		if attr(n, "type") == "hidden" {
			continue
		}
		controls++
		if labels[attr(n, "id")] == "" {
			t.Errorf("%s has no label", attr(n, "name"))
		}
	}
	if controls != len(labels) || controls != 10 {
		t.Errorf("%d controls, %d labels, want 10", controls, len(labels))
	}
	group := d.all("fieldset")[0]
	if legend := d.all("legend"); len(legend) != 1 || legend[0].Parent != group || text(legend[0]) != "Services required" {
		t.Error("the multi-select has no legend of its own")
	}
}

func TestErrorsAreTiedToTheirFields(t *testing.T) {
	d := renderForm(t, sampleForm(plain))
	for _, f := range sampleForm(plain).Fields {
		control := d.named(f.Name)[0]
		if attr(control, "aria-invalid") != "true" {
			t.Errorf("%s is not marked invalid", f.Name)
		}
		described := control
		if f.Kind == "multi" {
			described = d.all("fieldset")[0]
		}
		remark := d.byID(attr(described, "aria-describedby"))
		if remark == nil || text(remark) != "Problem: "+f.Error {
			t.Errorf("%s: its error is not its description", f.Name)
		}
	}
}

func TestFieldsWithoutErrorsAreNotInvalid(t *testing.T) {
	d := formWith(t, web.Field{Kind: "text", Label: "Name"})
	for _, n := range d.all("input") {
		if has(n, "aria-invalid") || has(n, "aria-describedby") || has(n, "required") || has(n, "maxlength") {
			t.Errorf("unasked attributes: %v", n.Attr)
		}
	}
	if strings.Contains(d.text(), "required") {
		t.Error("explains a mark that it does not use")
	}
}

func TestSummaryLinksReachTheFields(t *testing.T) {
	d := renderForm(t, sampleForm(plain))
	notice := d.byID("notice")
	if notice == nil || !has(notice, "autofocus") || attr(notice, "tabindex") != "-1" {
		t.Fatal("the notice does not take the focus")
	}
	if heading := d.byID(attr(notice, "aria-labelledby")); heading == nil || text(heading) != "Please check two answers" {
		t.Error("the notice is not named by its heading")
	}
	var reached []string
	for _, n := range d.all("a") {
		if id, ok := strings.CutPrefix(attr(n, "href"), "#"); ok {
			target := d.byID(id)
			if target == nil {
				t.Fatalf("%q leads nowhere", text(n))
			}
			reached = append(reached, target.Data+" "+attr(target, "name"))
		}
	}
	if diff := cmp.Diff([]string{"input email", "input multi"}, reached); diff != "" {
		t.Errorf("summary reaches (-want +got):\n%s", diff)
	}
	if !strings.Contains(d.text(), "Something else is wrong.") {
		t.Error("a problem without a field got lost")
	}
}

func TestSummaryReachesAGroupWithoutChoices(t *testing.T) {
	d := renderForm(t, web.Form{
		Fields: []web.Field{{Name: "m", Kind: "multi", Label: "Services"}},
		Notice: &web.Notice{Kind: "invalid", Problems: []web.NoticeProblem{{Field: "m", Text: "Choose one."}}},
	})
	if id := strings.TrimPrefix(attr(d.all("a")[0], "href"), "#"); d.byID(id) == nil {
		t.Errorf("no element %q", id)
	}
}

func TestRequiredIsSaidInWords(t *testing.T) {
	d := renderForm(t, sampleForm(plain))
	if !strings.Contains(d.text(), "Fields marked “required” must be filled in.") {
		t.Error("the mark is not explained")
	}
	for _, f := range sampleForm(plain).Fields {
		for _, control := range d.named(f.Name) {
			// On a checkbox of a group it would demand that very one.
			if got, want := has(control, "required"), f.Kind != "multi"; got != want {
				t.Errorf("%s: required %v, want %v", f.Name, got, want)
			}
		}
	}
}

func TestNothingTypedIsLost(t *testing.T) {
	for _, tt := range []struct {
		name, kind, value, element, inputType string
	}{
		{"leading line break", "textarea", "\n\nfirst", "textarea", ""},
		{"textarea", "textarea", " a\n  b </textarea> ", "textarea", ""},
		{"line breaks in a name", "text", "Ada\nLovelace", "textarea", ""},
		{"line break first", "tel", "\n123", "textarea", ""},
		{"line break in a date", "date", "2026-11-30\n", "textarea", ""},
		{"spaces in a name", "text", "  Ada ", "input", "text"},
		{"international address", "email", "jürgen@bücher.example", "input", "text"},
		{"bare host", "url", "example.com", "input", "text"},
		{"a date", "date", "2026-11-30", "input", "date"},
		{"no date yet", "date", "", "input", "date"},
		{"words for a date", "date", "next Tuesday", "input", "text"},
		{"no such day", "date", "2026-02-30", "input", "text"},
		{"year 0", "date", "0000-01-01", "input", "text"},
		{"joiners and bidi", "text", "می\u200cخواهم 👩\u200d🔧", "input", "text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := formWith(t, web.Field{Kind: tt.kind, Label: "X", Value: tt.value}).control(t, "x")
			got := attr(n, "value")
			if n.Data == "textarea" {
				got = text(n)
			}
			if got != tt.value || n.Data != tt.element || attr(n, "type") != tt.inputType {
				t.Errorf("<%s type=%q> holds %q, want <%s type=%q> %q",
					n.Data, attr(n, "type"), got, tt.element, tt.inputType, tt.value)
			}
			if attr(n, "dir") != "auto" {
				t.Error("does not take its direction from its text")
			}
		})
	}
}

func TestMistypedDateExplainsTheFormat(t *testing.T) {
	d := formWith(t, web.Field{Kind: "date", Label: "Day", Value: "soon", Error: "Not a date."})
	ids := strings.Fields(attr(d.control(t, "x"), "aria-describedby"))
	if len(ids) != 2 || d.byID(ids[0]) == nil || d.byID(ids[1]) == nil {
		t.Fatalf("described by %v", ids)
	}
	if !strings.Contains(text(d.byID(ids[1])), "2026-11-30") {
		t.Error("no example")
	}
}

func TestChoicesStaySelected(t *testing.T) {
	options := []web.Option{{Value: "a"}, {Value: "b", Selected: true}, {Value: "c", Selected: true}}
	d := formWith(t, web.Field{Kind: "multi", Label: "M", Options: options})
	var states []bool
	for _, n := range d.named("x") {
		states = append(states, has(n, "checked"))
	}
	if diff := cmp.Diff([]bool{false, true, true}, states); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	d = formWith(t, web.Field{Kind: "select", Label: "S", Required: true, Options: options[:2]})
	var values []string
	for _, n := range d.all("option") {
		values = append(values, attr(n, "value")+strings.Repeat("*", count(n, "selected")))
	}
	if diff := cmp.Diff([]string{"", "a", "b*"}, values); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	for value, want := range map[string]bool{"yes": true, "": false, "no": false} {
		if got := has(formWith(t, web.Field{Kind: "checkbox", Value: value}).control(t, "x"), "checked"); got != want {
			t.Errorf("checkbox with %q: checked %v", value, got)
		}
	}
}

func count(n *html.Node, key string) int {
	if has(n, key) {
		return 1
	}
	return 0
}

func TestFurtherFieldsAreShownAndCarried(t *testing.T) {
	d := renderForm(t, web.Form{Further: []web.Further{{Name: "code", Values: []string{"a\nb", "c"}}, {Name: "page", Values: []string{""}}}})
	var carried []string
	for _, n := range d.all("input") {
		if attr(n, "type") != "hidden" {
			t.Errorf("%s is not hidden", attr(n, "name"))
		}
		carried = append(carried, attr(n, "name")+"="+attr(n, "value"))
	}
	if diff := cmp.Diff([]string{"code=a\nb", "code=c", "page="}, carried); diff != "" {
		t.Errorf("carried (-want +got):\n%s", diff)
	}
	var shown []string
	for _, n := range d.all("dt", "dd") {
		shown = append(shown, text(n))
	}
	if diff := cmp.Diff([]string{"code", "a\nb", "c", "page", ""}, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestAutofillAndKeyboards(t *testing.T) {
	for _, tt := range []struct{ kind, name, autocomplete, inputmode string }{
		{"email", "reply", "email", "email"}, {"tel", "phone", "tel", ""}, {"url", "site", "url", "url"},
		{"text", "Full_Name", "name", ""}, {"text", "company", "organization", ""},
		{"text", "subject", "", ""}, {"textarea", "name", "", ""},
	} {
		n := formWith(t, web.Field{Kind: tt.kind, Name: tt.name}).control(t, tt.name)
		if attr(n, "autocomplete") != tt.autocomplete || attr(n, "inputmode") != tt.inputmode {
			t.Errorf("%s %s: %v", tt.kind, tt.name, n.Attr)
		}
	}
}

func TestSubmitButton(t *testing.T) {
	for _, tt := range []struct {
		notice *web.Notice
		want   string
	}{
		{nil, "Send message"},
		{&web.Notice{Kind: "not_sent"}, "Send message"},
		{&web.Notice{Kind: "conflict"}, "Send as a new message"},
		{&web.Notice{Kind: "conflict", Button: "Send both"}, "Send both"},
	} {
		d := renderForm(t, web.Form{Title: "Contact us", Notice: tt.notice})
		if got := text(d.all("button")[0]); got != tt.want {
			t.Errorf("button %q, want %q", got, tt.want)
		}
	}
}

// After a conflict the reference belongs to the message sent before, not to
// the words on the page.
func TestConflictTellsWhoseReferenceItIs(t *testing.T) {
	for kind, want := range map[string]bool{"conflict": true, "not_sent": false} {
		d := renderForm(t, web.Form{Reference: "YYH9-FP7R-Y5A9", Notice: &web.Notice{Kind: kind}})
		if got := strings.Contains(d.text(), "Reference of the earlier message"); got != want {
			t.Errorf("%s: earlier message %v, want %v", kind, got, want)
		}
	}
}

func TestFormTitleSaysFirstWhatHappened(t *testing.T) {
	if got, want := renderForm(t, sampleForm(plain)).title(), "Please check two answers – Contact us"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}
