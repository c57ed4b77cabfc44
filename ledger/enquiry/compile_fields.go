package enquiry

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\[\]-]{0,63}$`)

// field is a declared field with its rules taken apart.
type field struct {
	Field
	index    int
	required bool
	tags     string // what is left for the validator; may be empty
}

func (c *compiler) form() *Form {
	f := &Form{
		def:      c.def,
		byName:   make(map[string]*field, len(c.def.Fields)),
		validate: validator.New(validator.WithRequiredStructEnabled()),
	}
	if len(c.def.Fields) == 0 {
		c.fault("a form needs at least one field", "field")
	}
	for i, declared := range c.def.Fields {
		fld := &field{Field: declared, index: i}
		c.fieldName(f, fld)
		c.options(fld)
		c.rules(f.validate, fld)
		f.fields = append(f.fields, fld)
		f.byName[fld.Name] = fld
	}
	return f
}

func (c *compiler) fieldName(f *Form, fld *field) {
	switch {
	case isOutside(fld.Name):
		c.fault(`"`+fld.Name+`" is reserved; names that start with _ and submission_id are never part of the enquiry`, "field", fld.index, "name")
	case !fieldName.MatchString(fld.Name):
		c.fault("a field needs a name of 1 to 64 letters, digits and _ . - [ ], starting with a letter", "field", fld.index, "name")
	case f.byName[fld.Name] != nil:
		c.fault(`there is a field "`+fld.Name+`" already`, "field", fld.index, "name")
	}
	c.line(fld.Label, "field", fld.index, "label")
	if !slices.Contains(kinds(), fld.Kind) {
		c.fault("kind is one of text, email, tel, url, date, textarea, select, multi, checkbox", "field", fld.index, "kind")
	}
}

func kinds() []Kind {
	return []Kind{Text, Email, Tel, URL, Date, Textarea, Select, Multi, Checkbox}
}

func (c *compiler) options(fld *field) {
	choice := fld.Kind == Select || fld.Kind == Multi
	if choice && len(fld.Options) == 0 {
		c.fault("a field of kind "+string(fld.Kind)+" needs options", "field", fld.index, "options")
	}
	if !choice && len(fld.Options) > 0 {
		c.fault("only the kinds select and multi have options", "field", fld.index, "options")
	}
	for i, o := range fld.Options {
		c.option(fld, i, o)
	}
}

// option refuses what no visitor could choose: a value that normalization
// would change never equals the option it was chosen from.
func (c *compiler) option(fld *field, i int, o string) {
	normal, code := oneLine(o, false)
	switch {
	case strings.TrimSpace(o) == "":
		c.fault("an option must not be empty", "field", fld.index, "options", i)
	case code != "" || normal != o:
		c.fault("an option must be one line of plain text, without outer spaces and unusual characters", "field", fld.index, "options", i)
	case slices.Index(fld.Options, o) < i:
		c.fault(`the option "`+o+`" is listed twice`, "field", fld.index, "options", i)
	}
}
