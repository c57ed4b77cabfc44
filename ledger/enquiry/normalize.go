package enquiry

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNameChars bounds the name of an undeclared field, in characters.
const maxNameChars = 100

// Normalize makes the enquiry of a submission, so that equal enquiries have
// equal bytes. Names starting with _ and submission_id are outside. Problems
// are those that leave no honest normal form; the fields that have one are left
// out of the enquiry, and problems come in declared order, then in order of
// appearance. Normalizing the result again changes nothing.
func (f *Form) Normalize(raw Raw) (Enquiry, []Problem) {
	e := Enquiry{Form: f.def.Name}
	names := raw.enquiryNames()
	if len(names) > f.def.MaxFields {
		return e, []Problem{f.tooManyFields()}
	}
	var problems []Problem
	take := func(name string, values []string, problem *Problem) {
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case len(values) > 0:
			e.Fields = append(e.Fields, Value{Name: name, Values: values})
		}
	}
	for _, fld := range f.fields {
		values, problem := f.normalizeField(fld, raw.Values(fld.Name))
		take(fld.Name, values, problem)
	}
	for _, name := range names {
		if f.byName[name] == nil {
			values, problem := f.normalizeFurther(name, raw.Values(name))
			take(name, values, problem)
		}
	}
	slices.SortFunc(e.Fields, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return e, problems
}

func (f *Form) normalizeField(fld *field, raw []string) ([]string, *Problem) {
	values, code := normalizeAll(raw, fld.normal)
	switch {
	case code != "":
		return nil, fld.problem(code)
	case fld.Kind == Multi:
		slices.Sort(values)
		values = slices.Compact(values)
	case len(values) > 1:
		// Choosing one would silently lose the other.
		return nil, fld.problem(codeMultiple)
	}
	if chars(values) > f.def.MaxChars {
		return nil, tooLong(fld.Name, fld.Label, f.def.MaxChars)
	}
	return values, nil
}

// normalizeFurther does the fields that the form does not declare: their values
// are taken as text of several lines, in order.
func (f *Form) normalizeFurther(name string, raw []string) ([]string, *Problem) {
	values, code := normalizeAll(raw, multiLine)
	if code == "" && len(values) == 0 {
		return nil, nil
	}
	shown := shownName(name)
	switch {
	case !isPlainName(name):
		return nil, newProblem(codeName, shown, shown)
	case f.def.Undeclared == refuseUndeclared:
		return nil, f.undeclared(name)
	case code != "":
		return nil, newProblem(code, shown, shown)
	case chars(values) > f.def.MaxChars:
		return nil, tooLong(shown, shown, f.def.MaxChars)
	}
	return values, nil
}

// isPlainName reports whether the name of an undeclared field is in its normal
// form already. A name is refused rather than changed, because two names that
// differ must never become one field.
func isPlainName(name string) bool {
	normal, code := oneLine(name, false)
	return code == "" && normal == name && name != "" && utf8.RuneCountInString(name) <= maxNameChars
}

// normalizeAll normalizes each value and drops the empty ones: absent, null and
// "" are one.
func normalizeAll(raw []string, normal func(string) (string, string)) ([]string, string) {
	var values []string
	for _, s := range raw {
		v, code := normal(s)
		if code != "" {
			return nil, code
		}
		if v != "" {
			values = append(values, v)
		}
	}
	return values, ""
}

// normal brings one value of a declared field into its kind's normal form.
// Values that do not fit the kind stay as they are, for Validate to refuse.
func (fld *field) normal(s string) (string, string) {
	if fld.Kind == Textarea {
		return multiLine(s)
	}
	s, code := oneLine(s, fld.Kind == Tel)
	if code != "" {
		return "", code
	}
	switch fld.Kind {
	case Email:
		s, _ = canonicalAddress(s)
	case Checkbox:
		s = ticked(s)
	}
	return s, ""
}

// ticked reads a checkbox. Text other than the usual words is a site's own
// value attribute and is kept.
func ticked(s string) string {
	switch strings.ToLower(s) {
	case "on", "true", "1", "yes", "y", "checked":
		return "yes"
	case "off", "false", "0", "no":
		return ""
	}
	return s
}

func chars(values []string) int {
	n := 0
	for _, v := range values {
		n += utf8.RuneCountInString(v)
	}
	return n
}
