package web

import (
	"fmt"
	"strings"
	"time"
)

// control is a Field with the element that can show its value whole, and with
// the ids that tie label, hint and error to it. Ids are numbered, not named: a
// field's name may hold what an id must not.
type control struct {
	Field
	ID           string
	Element      string // input, textarea, select, multi or checkbox
	Type         string // of an input
	InputMode    string
	Autocomplete string
	Literal      bool // neither capitalised nor spell-checked
	Rows         int
	Hint         bool // how a date is written
	Choices      []choice
}

// choice is an option with the id of its own checkbox.
type choice struct {
	Option
	ID string
}

func newControl(id string, f Field) (control, error) {
	c := control{Field: f, ID: id, Element: "input", Type: "text", Autocomplete: autocompleteFor(f)}
	switch f.Kind {
	case "text":
	case "email", "url":
		// Not type=email or type=url: browsers refuse internationalized
		// addresses and a plain example.com, which the server takes.
		c.InputMode, c.Literal = f.Kind, true
	case "tel":
		c.Type = "tel"
	case "date":
		c.asDate()
	case "textarea":
		c.Element, c.Rows = "textarea", 7
	case "select", "checkbox":
		c.Element = f.Kind
	case "multi":
		c.Element, c.Choices = "multi", choices(id, f.Options)
	default:
		return control{}, fmt.Errorf("web: field %q: unknown kind %q", f.Name, f.Kind)
	}
	// An input drops line breaks from its value without a word.
	if c.Element == "input" && strings.ContainsAny(f.Value, "\r\n") {
		c.Element, c.Rows = "textarea", 3
	}
	return c, nil
}

// asDate picks a date input only for what it can hold: given anything else, it
// shows an empty field, and what the visitor typed would be gone.
func (c *control) asDate() {
	if c.Value == "" || isDate(c.Value) {
		c.Type = "date"
		return
	}
	c.Hint = true
}

// isDate reports whether a date input keeps the value: HTML, "valid date
// string", whose years start at 1.
func isDate(value string) bool {
	day, err := time.Parse("2006-01-02", value)
	return err == nil && day.Year() > 0
}

func choices(id string, options []Option) []choice {
	list := make([]choice, len(options))
	for i, option := range options {
		list[i] = choice{Option: option, ID: fmt.Sprintf("%s-%d", id, i+1)}
	}
	return list
}

// Target is the id an error summary links to: where typing can start.
func (c control) Target() string {
	if len(c.Choices) > 0 {
		return c.Choices[0].ID
	}
	return c.ID
}

// HintID, ErrorID and DescribedBy tie hint and error to the control; the error
// is read first.
func (c control) HintID() string  { return c.ID + "-hint" }
func (c control) ErrorID() string { return c.ID + "-error" }

func (c control) DescribedBy() string {
	var ids []string
	if c.Error != "" {
		ids = append(ids, c.ErrorID())
	}
	if c.Hint {
		ids = append(ids, c.HintID())
	}
	return strings.Join(ids, " ")
}

// autocompleteFor names the visitor's own data where kind or name leave no
// doubt (WCAG 1.3.5); a wrong guess would fill in the wrong thing.
func autocompleteFor(f Field) string {
	switch f.Kind {
	case "email", "tel", "url":
		return f.Kind
	case "text":
	default:
		return ""
	}
	switch strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(f.Name)) {
	case "name", "fullname", "yourname":
		return "name"
	case "firstname", "givenname":
		return "given-name"
	case "lastname", "familyname", "surname":
		return "family-name"
	case "company", "organisation", "organization":
		return "organization"
	case "postcode", "postalcode", "zip", "zipcode":
		return "postal-code"
	}
	return ""
}
