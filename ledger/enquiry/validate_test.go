package enquiry_test

import (
	"strings"
	"sync"
	"testing"

	"formledger/ledger/enquiry"
)

// kindForm has one optional field of each kind, named after it, with rules.
func kindForm(t testing.TB, rules map[enquiry.Kind]string) *enquiry.Form {
	d := good()
	d.Fields = nil
	for _, kind := range []enquiry.Kind{
		enquiry.Text, enquiry.Email, enquiry.Tel, enquiry.URL, enquiry.Date,
		enquiry.Textarea, enquiry.Select, enquiry.Multi, enquiry.Checkbox,
	} {
		f := enquiry.Field{Name: string(kind), Kind: kind, Rules: rules[kind]}
		if kind == enquiry.Select || kind == enquiry.Multi {
			f.Options = []string{"one", "three", "two"}
		}
		d.Fields = append(d.Fields, f)
	}
	return compile(t, d)
}

var takenValues = map[string][]string{
	"email": {
		"a@example.com", "ada+forms@example.com", "a@b.international", "a@xn--bcher-kva.example", "a@bücher.example",
		"用户@例子.公司", "o'hara@example.co.uk", "a@sub-domain.example.museum", "x@почта.рф", "A.B@EXAMPLE.COM", "a@r3---x.example.com",
	},
	"tel":      {"110", "+44 (0)1234 567-890 ext. 5", "٠١٢٣٤", "\u202d+49 170\u202c"},
	"url":      {"https://example.com", "HTTP://Example.com/a?b#c", "example.com", "www.bücher.example/x y", "http://localhost:8080", "example.com/?next=https://x.example"},
	"date":     {"2030-12-31", "2024-02-29"},
	"select":   {"one", " two\t"},
	"multi":    {"three"},
	"checkbox": {"on", "anything"},
}

var refusedValues = map[string][]string{
	"email": {
		"nobody", "a@", "@example.com", "a@gmail", "a b@example.com", "Ada <a@example.com>", "a@example.com, b@example.com",
		"a@exa_mple.com", "a@[127.0.0.1]", "a@example..com", "a@example.com.", `"a b"@example.com`, "a\u200e@example.com",
		"a@xn--0.example", strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("b.", 130) + "com",
	},
	"tel":    {"12", "none", "+"},
	"url":    {"javascript:alert(1)", "ftp://example.com", "mailto:a@example.com", "hello", "no address here.", "https://", "http://user@:80"},
	"date":   {"2023-02-29", "31.12.2030", "2030-1-1", "2030-12-31T00:00", "99999-01-01"},
	"select": {"four", "ONE"},
	"multi":  {"four"},
}

func TestKinds(t *testing.T) {
	form := kindForm(t, map[enquiry.Kind]string{enquiry.Email: "email"})
	for field, values := range takenValues {
		for _, v := range values {
			if _, problems := form.Check(rawOf([][]string{{field, v}})); len(problems) > 0 {
				t.Errorf("%s %q: %v", field, v, problems)
			}
		}
	}
	for field, values := range refusedValues {
		code := map[string]string{"select": "option", "multi": "option"}[field]
		if code == "" {
			code = field
		}
		for _, v := range values {
			if _, problems := form.Check(rawOf([][]string{{field, v}})); problemsOf(problems) != field+":"+code {
				t.Errorf("%s %q: %v", field, v, problems)
			}
		}
	}
}

var ruleCases = []struct {
	kind          enquiry.Kind
	rules, values string // values are separated by bars
	code, says    string
}{
	{enquiry.Text, "required", "", "required", "required [label text]"},
	{enquiry.Email, "required,email", "", "required", "required_email [label email]"},
	{enquiry.Select, "required", "", "required", "required_choice [label select]"},
	{enquiry.Checkbox, "required", "off", "required", "required_tick [label checkbox]"},
	{enquiry.Textarea, "min=5,max=9", "", "", ""},
	{enquiry.Multi, "min=2", "", "", ""},
	{enquiry.Textarea, "min=5", "ßßßß", "min", "min_chars [label textarea limit 5]"},
	{enquiry.Textarea, "min=4", "ßßßß", "", ""},
	{enquiry.Text, "max=1", "ab", "max", "max_chars_one [label text]"},
	{enquiry.Text, "len=2", "abc", "len", "len_chars [label text limit 2]"},
	{enquiry.Multi, "min=2", "one", "min", "min_options [label multi limit 2]"},
	{enquiry.Multi, "len=1", "one|two", "len", "len_options_one [label multi]"},
	{enquiry.Multi, "len=2", "one", "len", "len_options [label multi limit 2]"},
	{enquiry.Multi, "max=1", "one|two", "max", "max_options_one [label multi]"},
	{enquiry.Multi, "max=2,dive,max=3", "one|three", "max", "max_chars [label multi limit 3]"},
	{enquiry.Text, "email", "x", "email", "email [label text example name@example.com]"},
	{enquiry.Text, "https_url", "x", "url", "url [label text example https://example.com]"},
	{enquiry.Text, "oneof=a b", "c", "oneof", "oneof [label text]"},
	{enquiry.Text, "numeric", "x", "numeric", "numeric [label text]"},
	{enquiry.Text, "number", "1.5", "number", "number [label text]"},
	{enquiry.Text, "alpha", "1", "alpha", "alpha [label text]"},
	{enquiry.Text, "alphanum", "-", "alphanum", "alphanum [label text]"},
	{enquiry.Tel, "e164", "01234", "e164", "e164 [label tel example +441234567890]"},
	{enquiry.Text, "startswith=AB", "x", "rule", "rule [label text rule startswith=AB]"},
	{enquiry.Text, "numeric|alpha", "-", "rule", "rule [label text rule numeric|alpha]"},
	{enquiry.Text, "iscolor", "x", "rule", "rule [label text rule iscolor]"},
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		form := kindForm(t, map[enquiry.Kind]string{c.kind: c.rules})
		_, problems := form.Check(rawOf([][]string{append([]string{string(c.kind)}, strings.Split(c.values, "|")...)}))
		switch {
		case c.code == "" && len(problems) == 0:
		case len(problems) != 1 || problems[0].Code != c.code || said(problems[0]) != c.says:
			t.Errorf("%s %q: got %v, want %s %s", c.rules, c.values, problems, c.code, c.says)
		}
	}
}

func TestCheckMergesInDeclaredOrder(t *testing.T) {
	form := vectorForm(t)
	e, problems := form.Check(rawOf([][]string{{"later", "\x00"}, {"message", "\u202e"}, {"Email", "a@example.com"}, {"day", "soon"}}))
	if got, want := problemsOf(problems), "name:required email:required day:date message:bidi later:control"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := said(problems[1]), "required_email [label E-mail] sent_as [sent Email name email]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e.Get("message") != nil || e.Get("Email") == nil {
		t.Errorf("unexpected fields: %v", e)
	}
}

func TestValidateConcurrently(t *testing.T) {
	form := vectorForm(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, problems := form.Check(rawOf([][]string{{"name", "Ada"}, {"email", "x"}, {"message", "Hi"}}))
			if got := problemsOf(problems); got != "email:email" {
				t.Error(got)
			}
		})
	}
	wg.Wait()
}
