package enquiry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"formledger/ledger/enquiry"
)

// good is a definition without faults, for tests to spoil.
func good() enquiry.Definition {
	return enquiry.Definition{
		Name: "contact", To: enquiry.Recipients{"owner@example.com"}, From: "forms@example.com",
		Contact: "Call 01234 567890.",
		Fields: []enquiry.Field{
			{Name: "name", Kind: enquiry.Text},
			{Name: "email", Kind: enquiry.Email, Rules: "required"},
			{Name: "services", Kind: enquiry.Multi, Options: []string{"a", "b"}},
		},
	}
}

func TestCompileDefaults(t *testing.T) {
	form := compile(t, good())
	d := form.Def()
	got := fmt.Sprint(d.Title, "|", d.Policy, "|", d.Undeclared, "|", d.MaxBody, d.MaxFields, d.MaxChars, "|", d.Fields[0].Label)
	if want := "contact|hold|keep|65536 100 20000|name"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := form.ReplyToField(); got != "email" {
		t.Errorf("reply-to field %q", got)
	}
	if !form.Required("email") || form.Required("name") || form.Required("nothing") {
		t.Error("email alone has to be filled in")
	}
}

type def = enquiry.Definition

var faultCases = []struct {
	path, says string
	spoil      func(*def)
}{
	{"[name]", "lower-case", func(d *def) { d.Name = "Contact" }},
	{"[name]", "lower-case", func(d *def) { d.Name = "" }},
	{"[name]", "lower-case", func(d *def) { d.Name = strings.Repeat("a", 65) }},
	{"[title]", "one line", func(d *def) { d.Title = "a\nb" }},
	{"[to]", "at least one recipient", func(d *def) { d.To = nil }},
	{"[to 1]", "not a mail address", func(d *def) { d.To = append(d.To, "nobody") }},
	{"[to 0]", "not a mail address", func(d *def) { d.To[0] = "a@example.com\r\n b" }},
	{"[from]", "needed", func(d *def) { d.From = "" }},
	{"[from]", "not a mail address", func(d *def) { d.From = "a@b@c" }},
	{"[subject]", "one line", func(d *def) { d.Subject = "a\r\nBcc: x@example.com" }},
	{"[contact]", "contact line", func(d *def) { d.Contact = " " }},
	{"[contact]", "one line", func(d *def) { d.Contact = "a\nb" }},
	{"[policy]", `policy is "hold", "queue" or "retry"`, func(d *def) { d.Policy = "held" }},
	{"[undeclared]", "keep", func(d *def) { d.Undeclared = "drop" }},
	{"[thanks_url]", "whole address", func(d *def) { d.ThanksURL = "/thanks" }},
	{"[thanks_url]", "whole address", func(d *def) { d.ThanksURL = "javascript:alert(1)" }},
	{"[origins 0]", "not an origin", func(d *def) { d.Origins = []string{"https://example.com/"} }},
	{"[origins 1]", "not an origin", func(d *def) { d.Origins = []string{"null", "example.com"} }},
	{"[origins 0]", "not an origin", func(d *def) { d.Origins = []string{"https://Example.com"} }},
	{"[origins 0]", "not an origin", func(d *def) { d.Origins = []string{"https://example.com:443"} }},
	{"[origins 0]", "not an origin", func(d *def) { d.Origins = []string{"https://user@example.com"} }},
	{"[max_body]", "above 0", func(d *def) { d.MaxBody = -1 }},
	{"[max_fields]", "above 0", func(d *def) { d.MaxFields = -1 }},
	{"[max_chars]", "above 0", func(d *def) { d.MaxChars = -1 }},
	{"[field]", "at least one field", func(d *def) { d.Fields = nil }},
	{"[field 3 name]", "already", field(enquiry.Field{Name: "email", Kind: enquiry.Text})},
	{"[field 3 name]", "reserved", field(enquiry.Field{Name: "_x", Kind: enquiry.Text})},
	{"[field 3 name]", "reserved", field(enquiry.Field{Name: "submission_id", Kind: enquiry.Text})},
	{"[field 3 name]", "letters", field(enquiry.Field{Name: "a b", Kind: enquiry.Text, Label: "x"})},
	{"[field 3 kind]", "one of", field(enquiry.Field{Name: "x", Kind: "file"})},
	{"[field 3 label]", "one line", field(enquiry.Field{Name: "x", Kind: enquiry.Text, Label: "a\nb"})},
	{"[field 3 options]", "needs options", field(enquiry.Field{Name: "x", Kind: enquiry.Select})},
	{"[field 3 options]", "only", field(enquiry.Field{Name: "x", Kind: enquiry.Text, Options: []string{"a"}})},
	{"[field 3 options 1]", "twice", field(enquiry.Field{Name: "x", Kind: enquiry.Multi, Options: []string{"a", "a"}})},
	{"[field 3 options 0]", "empty", field(enquiry.Field{Name: "x", Kind: enquiry.Multi, Options: []string{""}})},
	{"[field 3 options 0]", "plain", field(enquiry.Field{Name: "x", Kind: enquiry.Multi, Options: []string{"a "}})},
	{"[field 3 options 0]", "plain", field(enquiry.Field{Name: "x", Kind: enquiry.Multi, Options: []string{"e\u0301"}})},
}

// field spoils a definition with one more field.
func field(f enquiry.Field) func(*def) {
	return func(d *def) { d.Fields = append(d.Fields, f) }
}

func TestCompileFaults(t *testing.T) {
	for _, c := range faultCases {
		t.Run(c.path+c.says, func(t *testing.T) {
			d := good()
			c.spoil(&d)
			wantFault(t, d, c.path, c.says)
		})
	}
}

func TestCompileBadRules(t *testing.T) {
	for rules, says := range map[string]string{
		"requird":                  `no rule "requird"`,
		"required,maximum=3":       `no rule "maximum=3"`,
		"max=3|nosuch":             `no rule "nosuch"`,
		"required,,max=3":          `no rule ""`,
		"min=abc":                  `the rule "min=abc" does not fit`,
		"max=3,dive,max=2":         `the rule "dive" does not fit`,
		"unique":                   `the rule "unique" does not fit`,
		"eqfield=email":            "looks at other fields",
		"required_if=name x":       "looks at other fields",
		"excluded_with=email":      "looks at other fields",
		"fieldcontains=email":      "looks at other fields",
		"file":                     "files or the network",
		"max=9|tcp_addr":           "files or the network",
		"dive,keys,max=3,endkeys":  "does not fit",
		"structonly":               "Go structs",
		"-":                        "Go structs",
		"postcode_iso3166_alpha2_": "no rule",
	} {
		d := good()
		d.Fields[0].Rules = rules
		wantFault(t, d, "[field 0 rules]", says)
	}
	for rules, says := range map[string]string{
		"email": `put "dive" before`, "dive,nosuch": "no rule", "dive,min=x": "does not fit", "oneof=a b": `put "dive" before`,
	} {
		d := good()
		d.Fields[2].Rules = rules
		wantFault(t, d, "[field 2 rules]", says)
	}
}

func wantFault(t *testing.T, d enquiry.Definition, path, says string) {
	t.Helper()
	form, faults := enquiry.Compile(d)
	for _, f := range faults {
		if fmt.Sprint(f.Path) == path && strings.Contains(f.Message, says) && form == nil {
			return
		}
	}
	t.Errorf("want %s: … %s …, got %v", path, says, faults)
}

func TestCompileReportsEveryFault(t *testing.T) {
	_, faults := enquiry.Compile(enquiry.Definition{Fields: []enquiry.Field{{Name: "x", Kind: "y", Rules: "z,zz"}}})
	var paths []string
	for _, f := range faults {
		paths = append(paths, fmt.Sprint(f.Path))
	}
	want := "[name] [contact] [to] [from] [field 0 kind] [field 0 rules] [field 0 rules]"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCompileTakes(t *testing.T) {
	d := good()
	d.Origins = []string{"*", "null", "http://localhost:8080", "https://xn--bcher-kva.example", "http://[::1]:3000"}
	d.ThanksURL, d.From = "https://example.com/thanks?x=1", `"Website" <forms@example.com>`
	d.Fields = []enquiry.Field{
		{Name: "services[]", Kind: enquiry.Multi, Options: []string{"Café", "b"}, Rules: "required, min=1,max=2,unique,dive,oneof=Café b"},
		{Name: "x", Kind: enquiry.Text, Rules: "omitempty,min=3|len=2,excludesall=0x2C0x7C"},
		{Name: "y", Kind: enquiry.Email, Rules: "required,email,endswith=.com"},
	}
	compile(t, d)
}

func TestCompileTakesEveryPolicy(t *testing.T) {
	for _, policy := range []string{"hold", "queue", "retry"} {
		d := good()
		d.Policy = policy
		if got := compile(t, d).Def().Policy; got != policy {
			t.Errorf("policy %s became %s", policy, got)
		}
	}
}

func TestRecipientsTOML(t *testing.T) {
	for in, want := range map[string]string{
		`to = "a@b.c"`: "[a@b.c]", `to = ["a@b.c", "d@e.f"]`: "[a@b.c d@e.f]", `to = []`: "[]",
		`to = 1`: "error", `to = ["a", 2]`: "error",
	} {
		var d enquiry.Definition
		got := "error"
		if _, err := toml.Decode(in, &d); err == nil {
			got = fmt.Sprint(d.To)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
