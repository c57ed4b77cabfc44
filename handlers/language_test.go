package handlers

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
	"formledger/web"
)

func loadTexts(t *testing.T) *web.Texts {
	t.Helper()
	texts, err := web.LoadTexts()
	must(t, err)
	return texts
}

// Every answer has a title and a sentence in every language.
func TestEveryAnswerHasItsWords(t *testing.T) {
	for _, l := range loadTexts(t).All() {
		for _, c := range slices.Sorted(maps.Keys(catalogue)) {
			for _, part := range []string{"_title", "_detail"} {
				if key := "answer." + string(c) + part; !l.Has(key) {
					t.Errorf("%s: there is no text %s", l.Lang, key)
				}
			}
		}
	}
}

// problemForm has a field for each sort of problem.
func problemForm() enquiry.Definition {
	d := contactForm()
	d.Undeclared, d.MaxChars = "refuse", 200
	rules := map[string]string{
		"oneof": "oneof=a b", "numeric": "numeric", "number": "number", "alpha": "alpha", "alphanum": "alphanum", "e164": "e164",
		"short": "min=5", "long": "max=2", "longest": "max=1", "exact": "len=2", "exactly": "len=1", "rule": "startswith=A", "mail": "email",
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		d.Fields = append(d.Fields, enquiry.Field{Name: name, Kind: enquiry.Text, Rules: rules[name]})
	}
	for name, rules := range map[string]string{"few": "min=2", "many": "max=2", "only": "max=1", "pair": "len=2", "one": "len=1"} {
		d.Fields = append(d.Fields, enquiry.Field{Name: name, Kind: enquiry.Multi, Options: []string{"a", "b", "c"}, Rules: rules})
	}
	d.Fields = append(d.Fields, oneOfEachKind...)
	d.Fields = append(d.Fields, enquiry.Field{Name: "terms", Kind: enquiry.Checkbox, Rules: "required"},
		enquiry.Field{Name: "choose", Kind: enquiry.Select, Options: []string{"a"}, Rules: "required"})
	return d
}

// manyProblems are fields of that form that nothing is right with.
var manyProblems = []url.Values{
	{},
	{"name": {"a", "b"}, "message": {"\x00"}, "email": {"x"}, "terms": {"on"}, "choose": {"b"}, "Email": {"a@b.example"}, "other": {"x"}},
	{"oneof": {"c"}, "numeric": {"x"}, "number": {"1.5"}, "alpha": {"1"}, "alphanum": {"-"}, "e164": {"0"}, "short": {"a"}, "long": {"abc"},
		"longest": {"ab"}, "exact": {"a"}, "exactly": {"ab"}, "rule": {"B"}, "mail": {"x"}},
	{"few": {"a"}, "many": {"a", "b", "c"}, "only": {"a", "b"}, "pair": {"a"}, "one": {"a", "b"}, "phone": {"x"}, "site": {"x"},
		"day": {"x"}, "colour": {"x"}, "a\nb": {"x"}, "Name": {"Ada"}},
	{"name": {"\xff"}, "message": {"\u202e"}, "email": {"a\nb"}, "short": {strings.Repeat("x", 201)}},
}

// What can be wrong with an enquiry is said in every language, with every
// placeholder filled; and nothing stands in the files that is never said.
func TestEveryProblemHasItsWords(t *testing.T) {
	form, faults := enquiry.Compile(problemForm())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	d := contactForm()
	d.MaxFields = 1
	small, _ := enquiry.Compile(d)
	_, problems := small.Check(rawOf(url.Values{"a": {"1"}, "b": {"2"}}))
	_, named := small.Check(rawOf(url.Values{"Email": {"a@b.example"}})) // it does not refuse other fields
	problems = append(problems, named...)
	for _, values := range manyProblems {
		_, found := form.Check(rawOf(values))
		problems = append(problems, found...)
	}
	said := map[string]bool{}
	for _, l := range loadTexts(t).All() {
		for _, p := range problems {
			for _, s := range p.Sentences {
				said["problem."+s.Key] = true
			}
			message := explained(l, []enquiry.Problem{p})[0].Message
			if message == "" || strings.Contains(message, "problem.") || regexp.MustCompile(`\{[a-z]+\}`).MatchString(message) {
				t.Errorf("%s: %+v is said as %q", l.Lang, p, message)
			}
		}
	}
	for _, key := range loadTexts(t).Lookup("en").Keys("problem.") {
		if !said[key] {
			t.Errorf("nothing says %s", key)
		}
	}
}

func rawOf(values url.Values) enquiry.Raw {
	var raw enquiry.Raw
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw.Add(name, values[name]...)
	}
	return raw
}

// The language is that of _lang, then of the query, the browser, and the form.
func TestTheLanguageOfAnAnswer(t *testing.T) {
	k := newKit(t, func(o *options) { o.form.Lang = "fr" })
	titles := map[string]string{"en": "Please correct the form", "de": "Bitte berichtigen Sie das Formular",
		"fr": "Veuillez corriger le formulaire", "es": "Corrija el formulario, por favor", "ar": "يُرجى تصحيح النموذج"}
	for _, c := range []struct{ field, query, browser, want string }{
		{"ar", "de", "es", "ar"},
		{"", "de", "es", "de"},
		{"de-AT", "", "", "de"},
		{"klingon!", "xx", "es-MX,es;q=0.9,en;q=0.5", "es"},
		{"", "", "nl, en-GB;q=0.8, de;q=0.9", "de"},
		{"", "", "de;q=0, nl", "fr"},
		{"", "", "*", "fr"},
		{strings.Repeat("de-", 5000), "", "", "fr"},
		{"", "", "", "fr"},
	} {
		address := "/f/contact?lang=" + url.QueryEscape(c.query)
		r := k.do("POST", address, formType, url.Values{"_lang": {c.field}}.Encode(), "Accept-Language", c.browser)
		if r.status != 422 || r.body.Title != titles[c.want] || r.header.Get("Content-Language") != c.want || !slices.Contains(r.header.Values("Vary"), "Accept-Language") {
			t.Errorf("%.60v: %d %q %v", c, r.status, r.body.Title, r.header)
		}
		if c.want == "de" && (len(r.body.Errors) == 0 || r.body.Errors[0].Message != "Bitte füllen Sie „Your name“ aus.") {
			t.Errorf("the errors are %v", r.body.Errors)
		}
	}
}

// Whoever asks for a language by name keeps it from page to page; whose browser
// prefers it has it anyway.
func TestTheLanguageGoesAlong(t *testing.T) {
	k := newKit(t)
	for _, c := range []struct{ query, browser, keeps string }{{"?lang=de", "en", "?lang=de"}, {"", "de", ""}} {
		id := newID()
		page := k.do("GET", "/f/contact"+c.query, "", "", "Accept", "text/html", "Accept-Language", c.browser).page(t)
		fields := fieldsOf(page)
		if fields.Get("_lang") != "de" || langOfPage(page) != "de ltr" {
			t.Errorf("%v: the form is in %q, and carries %q", c, langOfPage(page), fields.Get("_lang"))
		}
		maps.Copy(fields, formWords(id))
		fields.Set("email", "x")
		back := k.postTo(actionOf(page), fields, "Accept-Language", c.browser).page(t)
		if !strings.Contains(textOf(back), "Bitte berichtigen Sie das Formular") {
			t.Errorf("%v: what came back is %s", c, textOf(back))
		}
		fields = fieldsOf(back)
		if len(fields["_lang"]) != 1 {
			t.Errorf("%v: the form carries %q", c, fields["_lang"])
		}
		fields.Set("email", "ada@example.org")
		sent := k.postTo(actionOf(back), fields, "Accept-Language", c.browser)
		if want := "/receipts/" + id.String() + c.keeps; sent.header.Get("Location") != want {
			t.Fatalf("%v: the receipt is at %q, want %q", c, sent.header.Get("Location"), want)
		}
		receipt := k.do("GET", sent.header.Get("Location"), "", "", "Accept", "text/html", "Accept-Language", c.browser)
		if !strings.Contains(receipt.text, "Ihre Nachricht ist angekommen") || !strings.Contains(receipt.text, `href="/f/contact`+c.keeps+`"`) {
			t.Errorf("%v: the receipt is %s", c, receipt.text)
		}
	}
	k.wantMails(2)
}

func langOfPage(n *html.Node) string {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == "html" {
			return attr(d, "lang") + " " + attr(d, "dir")
		}
	}
	return ""
}

// A static form names its language in a field of its own.
func TestAStaticFormNamesItsLanguage(t *testing.T) {
	k := newKit(t)
	id := newID()
	fields := formWords(id)
	fields.Set("_lang", "ar")
	r := k.postForm(fields, "Accept-Language", "en")
	if r.header.Get("Location") != "/receipts/"+id.String()+"?lang=ar" {
		t.Fatalf("the receipt is at %q", r.header.Get("Location"))
	}
	page := k.do("GET", r.header.Get("Location"), "", "", "Accept", "text/html").page(t)
	if langOfPage(page) != "ar rtl" || !strings.Contains(textOf(page), "وصلتنا رسالتك") {
		t.Errorf("%s: %s", langOfPage(page), textOf(page))
	}
	k.wantMails(1)
}

// What the decoder says is for whoever made the page, and stays English.
func TestAReasonForDevelopersStaysEnglish(t *testing.T) {
	k := newKit(t)
	english := k.do("POST", "/f/contact", jsonType, "[]").body.Detail
	german := k.do("POST", "/f/contact?lang=de", jsonType, "[]").body.Detail
	if want := "Die Daten des Formulars konnten nicht gelesen werden. (" + english + ")"; german != want || english == "" {
		t.Errorf("%q, want %q", german, want)
	}
	if r := k.do("GET", "/receipts/1?lang=de", "", ""); !strings.HasPrefix(r.body.Detail, "Die ID der Nachricht ist keine UUID wie 0198") {
		t.Errorf("%q", r.body.Detail)
	}
}

// A mail is in the form's language, whatever the visitor's is: it is the same
// mail on every attempt.
func TestTheMailIsInTheFormsLanguage(t *testing.T) {
	k := newKit(t, func(o *options) { o.form.Lang, o.form.Subject = "de-CH", "" })
	var m relay.Message
	k.far.set(func(f *farEnd) { f.instead = func(sent relay.Mail) *relay.Verdict { m = sent.Message; return nil } })
	id := newID()
	fields := words(id)
	fields["_lang"], fields["more"] = "ar", "x"
	k.post(fields).want(t, 201, Accepted)
	want := "Your name: Ada\nYour address: ada@example.org\nServices: Advice, Repair\n\nMessage:\nHello\nthere\n\nWeitere Felder\n--------------\n\nmore: x\n\n" +
		strings.Repeat("-", 40) + "\nReferenz: " + string(ledger.ReferenceOf(id)) + "\nID der Nachricht: " + id.String() + "\n"
	if m.Subject != "Anfrage: Contact us" || m.Text != want {
		t.Errorf("%q %q, want %q", m.Subject, m.Text, want)
	}
}

func TestEveryMailWordIsThere(t *testing.T) {
	texts := loadTexts(t)
	for _, l := range texts.All() {
		d := contactForm()
		d.Lang = l.Lang
		form, _ := enquiry.Compile(d)
		w := MailWords(texts, form)
		if strings.Contains(w.Subject+w.Further+w.NoName+w.Colon+w.Reference+w.SubmissionID+w.CopyAddress, "mail.") || w.RightToLeft != (l.Dir == "rtl") {
			t.Errorf("%s: %+v", l.Lang, w)
		}
		must(t, relay.CheckForm(form, w))
	}
}
