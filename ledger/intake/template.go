package intake

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"formledger/ledger/enquiry"
)

const (
	maxTemplate = 64 << 10 // bytes
	maxText     = 1 << 20  // bytes of a mail's text
)

var errTooLong = errors.New("the mail's text would be too long")

// Text renders the mail's text from the form's template over a normalized
// enquiry; ok is false if the form has no template. The same enquiry gives the
// same text, always: a mail is the same on every attempt. The error says nothing
// of the enquiry.
func (h *Hook) Text(e enquiry.Enquiry) (text string, ok bool, err error) {
	if h.text == nil {
		return "", false, nil
	}
	text, err = render(h.text, h.words(e))
	switch {
	case errors.Is(err, errTooLong):
		return "", true, errTooLong
	case err != nil:
		// What follows may quote a value.
		where, _, _ := strings.Cut(err.Error(), ": executing")
		return "", true, fmt.Errorf("the mail's template does not fit this enquiry (%s)", where)
	}
	return text, true, nil
}

// readTemplate parses the form's template and tries it with values that a field
// of its kind has, and again without those that may be absent.
func (h *Hook) readTemplate(read func(file string) ([]byte, error)) error {
	file := h.webhook.TemplateFile
	if file == "" {
		return nil
	}
	source, err := read(file)
	if err != nil {
		return err
	}
	if h.text, err = parseTemplate(string(source)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	text, err := h.try(h.sample(true))
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("the template gives an empty text")
	}
	if err == nil {
		_, err = h.try(h.sample(false))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// parseTemplate gives a template nothing that knows the time, chance or the
// network.
func parseTemplate(source string) (*template.Template, error) {
	if len(source) > maxTemplate || !utf8.ValidString(source) || strings.ContainsFunc(source, isOddInText) {
		return nil, fmt.Errorf("a template is text in UTF-8 of at most %d bytes, without control characters", maxTemplate)
	}
	plain := strings.ReplaceAll(strings.TrimPrefix(source, "\ufeff"), "\r\n", "\n")
	functions := template.FuncMap{"index": fieldNamed}
	return template.New("mail").Option("missingkey=error").Funcs(functions).Parse(plain)
}

func isOddInText(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) }

// fieldNamed takes the place of the builtin index, which gives nothing for a
// name that there is none of. A field whose name is no word is written
// {{index . "name-of-it"}}.
func fieldNamed(words map[string]string, name string) (string, error) {
	value, ok := words[name]
	if !ok {
		return "", fmt.Errorf("there is no field %q", name)
	}
	return value, nil
}

// try renders twice, from maps of their own, and compares: the address of a map,
// say, can be printed and is never the same.
func (h *Hook) try(e enquiry.Enquiry) (string, error) {
	first, err := render(h.text, h.words(e))
	if err != nil {
		return "", err
	}
	second, err := render(h.text, h.words(e))
	if err == nil && first != second {
		err = errors.New("the template gives a different text each time; please leave out what changes")
	}
	return first, err
}

// words is what a template sees: every field of the form, absent ones as "".
func (h *Hook) words(e enquiry.Enquiry) map[string]string {
	words := map[string]string{}
	for _, f := range h.form.Def().Fields {
		words[f.Name] = strings.Join(e.Get(f.Name), ", ")
	}
	return words
}

// sample is an enquiry to try a template with, of all fields or only of those
// that have to be there.
func (h *Hook) sample(all bool) enquiry.Enquiry {
	var raw enquiry.Raw
	for _, f := range h.form.Def().Fields {
		if all || h.form.Required(f.Name) {
			raw.Add(f.Name, example(f))
		}
	}
	e, _ := h.form.Normalize(raw)
	return e
}

func example(f enquiry.Field) string {
	switch f.Kind {
	case enquiry.Email:
		return "name@example.com"
	case enquiry.URL:
		return "https://example.com"
	case enquiry.Date:
		return "2030-12-31"
	case enquiry.Select, enquiry.Multi:
		return f.Options[0]
	case enquiry.Checkbox:
		return "yes"
	}
	return "12345"
}

func render(t *template.Template, words map[string]string) (string, error) {
	var b bounded
	if err := t.Execute(&b, words); err != nil {
		return "", err
	}
	return b.text.String(), nil
}

// bounded is a text that does not grow without end.
type bounded struct{ text strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxText {
		return 0, errTooLong
	}
	return b.text.Write(p)
}
