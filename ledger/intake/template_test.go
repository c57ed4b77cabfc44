package intake_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"formledger/ledger/enquiry"
)

func withTemplate() enquiry.Definition {
	d := ofScheme(enquiry.HMAC)
	d.Webhook.TemplateFile = "mail.txt"
	d.Fields = append(d.Fields, enquiry.Field{Name: "line-item", Kind: enquiry.Text, Path: "item"})
	return d
}

func someOrder(fields ...[]string) enquiry.Enquiry {
	e := enquiry.Enquiry{Form: "shop"}
	for _, f := range fields {
		e.Fields = append(e.Fields, enquiry.Value{Name: f[0], Values: f[1:]})
	}
	return e
}

const thanks = "\ufeffHello {{.name}},\r\n\r\n{{if .amount}}you paid {{.amount}}.\n{{else}}it is free.\n{{end}}" +
	"{{with index . \"line-item\"}}Item: {{.}}\n{{end}}{{if .tags}}Tags: {{.tags}}\n{{end}}{{range $n, $v := .}}{{if $v}}{{$n}};{{end}}{{end}}\n"

func TestText(t *testing.T) {
	h, faults := compileHook(form(t, withTemplate()), newSecret, thanks)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for want, e := range map[string]enquiry.Enquiry{
		"Hello Ada <b>,\n\nyou paid 10.00.\nItem: Tea\nTags: gift, rush\namount;line-item;name;tags;\n": someOrder(
			[]string{"amount", "10.00"}, []string{"line-item", "Tea"}, []string{"name", "Ada <b>"}, []string{"tags", "gift", "rush"}),
		"Hello ,\n\nit is free.\n\n":                someOrder(),
		"Hello {{.email}},\n\nit is free.\nname;\n": someOrder([]string{"name", "{{.email}}"}),
	} {
		if got, ok, err := h.Text(e); got != want || !ok || err != nil {
			t.Errorf("got %q, %v, %v; want %q", got, ok, err, want)
		}
	}
}

// A mail that is sent again is the same mail, whoever renders it.
func TestTextIsAlwaysTheSame(t *testing.T) {
	e := someOrder([]string{"amount", "10.00"}, []string{"email", "ada@example.com"}, []string{"name", "Ada"}, []string{"tags", "gift", "rush"})
	texts := make([]string, 200)
	var all sync.WaitGroup
	for i := range texts {
		all.Go(func() {
			h, faults := compileHook(form(t, withTemplate()), newSecret, thanks+"{{.}} {{printf \"%v %q\" . .}}")
			if len(faults) > 0 {
				t.Error(faults)
				return
			}
			texts[i], _, _ = h.Text(e)
		})
	}
	all.Wait()
	for _, text := range texts {
		if text != texts[0] || text == "" {
			t.Fatalf("got %q and %q", text, texts[0])
		}
	}
}

func TestNoTemplate(t *testing.T) {
	if text, ok, err := open(t, ofScheme(enquiry.HMAC), newSecret).Text(someOrder()); text != "" || ok || err != nil {
		t.Errorf("got %q, %v, %v", text, ok, err)
	}
}

func TestTemplateFaults(t *testing.T) {
	for template, says := range map[string]string{
		"":                   "gives an empty text",
		" \n{{/* later */}}": "gives an empty text",
		"{{.name":            "mail:1",
		"a\nb {{.nmae}}":     `mail:2:4`,
		"{{if .amount}}{{else}}{{.nmae}}{{end}}x": `no entry for key "nmae"`,
		`{{index . "line_item"}}`:                 `there is no field "line_item"`,
		`{{index .name 0}}`:                       "wrong type",
		"{{now}}":                                 `function "now" not defined`,
		"{{.name.first}}":                         "can't evaluate field first",
		"{{slice .name 0 3}}":                     "slice",
		`{{printf "%p" .}}`:                       "different text each time",
		"{{range .name}}x{{end}}":                 "range",
		`{{template "footer"}}`:                   `"footer"`,
		"{{range 2000000}}x{{end}}":               "too long",
		"\x00":                                    "without control characters",
		"\xff":                                    "UTF-8",
		strings.Repeat("x", 64<<10+1):             "at most 65536 bytes",
	} {
		h, faults := compileHook(form(t, withTemplate()), newSecret, template)
		if h != nil || len(faults) != 1 || fmt.Sprint(faults[0].Path) != "[webhook template_file]" || !strings.Contains(faults[0].Message, says) {
			t.Errorf("%.40q: got %v, want %s", template, faults, says)
		}
	}
}

// What required fields hold is there when a template is tried.
func TestTemplateOfRequiredFields(t *testing.T) {
	d := withTemplate()
	d.Fields[0].Rules = "required"
	if _, faults := compileHook(form(t, d), newSecret, "{{slice .name 0 3}}"); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestTextErrorsTellNothing(t *testing.T) {
	d := withTemplate()
	d.Fields[0].Rules = "required"
	h, faults := compileHook(form(t, d), newSecret, `{{if eq .name "Ada Lovelace"}}{{range .name}}x{{end}}{{end}}{{if eq .name "Ada Byron"}}{{range 2000000}}x{{end}}{{end}}.`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for name, want := range map[string]string{
		"Ada Lovelace": "the mail's template does not fit this enquiry (template: mail:1:38)",
		"Ada Byron":    "the mail's text would be too long",
	} {
		text, ok, err := h.Text(someOrder([]string{"name", name}))
		if text != "" || !ok || err == nil || err.Error() != want {
			t.Errorf("got %q, %v, %v; want %s", text, ok, err, want)
		}
	}
}
