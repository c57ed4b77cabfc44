package enquiry

import (
	"encoding/binary"
	"slices"
	"strings"
)

// canonicalLabel begins the bytes under the MAC. Any change to normalization or
// to Canonical needs a new label and a new version of the payload hash.
const canonicalLabel = "formledger payload v1"

// Enquiry is what a visitor wrote, normalized. Fields are sorted by the bytes
// of their names; an empty value or an empty field is never in it.
type Enquiry struct {
	Form   string
	Fields []Value
}

// Value is one field of an enquiry. Only multi and undeclared fields have more
// than one value.
type Value struct {
	Name   string
	Values []string
}

// Get returns the values of a field, nil if it is absent.
func (e Enquiry) Get(name string) []string {
	i, found := slices.BinarySearchFunc(e.Fields, name, func(v Value, name string) int {
		return strings.Compare(v.Name, name)
	})
	if !found {
		return nil
	}
	return e.Fields[i].Values
}

// Canonical returns the bytes under the payload hash's MAC: label, form, number
// of fields, then for each field its name, the number of its values and the
// values. Strings are preceded by their length in bytes; lengths and numbers
// are 4 bytes, big-endian. So different enquiries never give the same bytes.
func (e Enquiry) Canonical() []byte {
	b := appendString(nil, canonicalLabel)
	b = appendString(b, e.Form)
	b = appendCount(b, len(e.Fields))
	for _, f := range e.Fields {
		b = appendString(b, f.Name)
		b = appendCount(b, len(f.Values))
		for _, v := range f.Values {
			b = appendString(b, v)
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(appendCount(b, len(s)), s...)
}

func appendCount(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

// Line is one field as a mail or a page shows it.
type Line struct {
	Label   string
	Values  []string
	Further bool // not declared by the form; labelled with its own name
}

// Lines returns the fields of an enquiry for people: the declared ones in
// declared order with their labels, then any others by name.
func (f *Form) Lines(e Enquiry) []Line {
	lines := make([]Line, 0, len(e.Fields))
	for _, fld := range f.fields {
		if values := e.Get(fld.Name); len(values) > 0 {
			lines = append(lines, Line{Label: fld.Label, Values: values})
		}
	}
	for _, v := range e.Fields {
		if f.byName[v.Name] == nil {
			lines = append(lines, Line{Label: v.Name, Values: v.Values, Further: true})
		}
	}
	return lines
}
