package enquiry

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// minTelDigits is what the shortest telephone numbers in public use have.
const minTelDigits = 3

// Check normalizes and validates in one go, with the problems of both in
// declared order and each field named once.
func (f *Form) Check(raw Raw) (Enquiry, []Problem) {
	e, problems := f.Normalize(raw)
	if len(problems) == 1 && problems[0].Code == codeTooManyFields {
		return e, problems // nothing else was looked at
	}
	named := make(map[string]bool, len(problems))
	for _, p := range problems {
		named[p.Field] = true
	}
	for _, p := range f.Validate(e) {
		if !named[p.Field] {
			problems = append(problems, p)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Compare(f.position(a.Field), f.position(b.Field))
	})
	return e, problems
}

func (f *Form) position(name string) int {
	if fld := f.byName[name]; fld != nil {
		return fld.index
	}
	return len(f.fields)
}

// Validate checks a normalized enquiry against the kinds and rules of its form,
// and returns at most one problem a field, in declared order. An absent field
// has a problem only if it is required, whatever its other rules say.
func (f *Form) Validate(e Enquiry) []Problem {
	var problems []Problem
	for _, fld := range f.fields {
		if p := f.validateField(fld, e); p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}

func (f *Form) validateField(fld *field, e Enquiry) *Problem {
	values := e.Get(fld.Name)
	if len(values) == 0 {
		if fld.required {
			return f.missing(fld, e)
		}
		return nil
	}
	for _, v := range values {
		if code := fld.fits(v); code != "" {
			return fld.problem(code)
		}
	}
	return f.followsRules(fld, values)
}

func (f *Form) followsRules(fld *field, values []string) *Problem {
	if fld.tags == "" {
		return nil
	}
	var value any = values[0]
	if fld.Kind == Multi {
		value = values
	}
	switch failed, panicked := tryVar(f.validate, value, fld.tags); {
	case panicked != "": // not taken: a rule that cannot be applied is not followed
		return fld.ruleUnmet(fld.tags)
	case failed != nil:
		return fld.ruleProblem(failed)
	}
	return nil
}

// missing asks for a required field. If a field came whose name differs in case
// alone, the developer of the page is told which.
func (f *Form) missing(fld *field, e Enquiry) *Problem {
	p := fld.problem(codeRequired)
	switch {
	case fld.Name == f.ReplyToField():
		p.about("email")
	case fld.Kind == Checkbox:
		p.about("tick")
	case fld.Kind == Select || fld.Kind == Multi:
		p.about("choice")
	}
	for _, v := range e.Fields {
		if f.byName[v.Name] == nil && strings.EqualFold(v.Name, fld.Name) {
			return p.also("sent_as", "sent", v.Name, "name", fld.Name)
		}
	}
	return p
}

// fits returns the code of the problem that a value has with the field's kind.
func (fld *field) fits(v string) string {
	switch fld.Kind {
	case Email:
		if c, ok := canonicalAddress(v); !ok || c != v {
			return codeEmail
		}
	case Tel:
		if countDigits(v) < minTelDigits {
			return codeTel
		}
	case URL:
		if !isWebAddress(v) {
			return codeURL
		}
	case Date:
		if _, err := time.Parse(time.DateOnly, v); err != nil {
			return codeDate
		}
	case Select, Multi:
		if !slices.Contains(fld.Options, v) {
			return codeOption
		}
	}
	return ""
}

func countDigits(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// isWebAddress takes http and https addresses, and what people type into such
// a field: a host with a dot, with or without a path.
func isWebAddress(s string) bool {
	if scheme, _, found := strings.Cut(s, "://"); found && isHTTP(strings.ToLower(scheme)) {
		return absoluteHTTP(s)
	}
	u, err := url.Parse("http://" + s)
	if err != nil || u.User != nil {
		return false
	}
	return strings.Contains(strings.Trim(u.Hostname(), "."), ".")
}
