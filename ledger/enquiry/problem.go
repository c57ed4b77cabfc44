package enquiry

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// Problem is one reason why an enquiry cannot be taken as it is. Field is the
// field's name, empty if it is the enquiry as a whole. Message is a sentence
// for the visitor. Code is for programs, one of:
//
//	encoding, control, bidi, one_line, multiple, too_long   text that has no normal form
//	name, undeclared, too_many_fields                       fields that are not taken
//	required, email, tel, url, date, option                 a field's kind
//	min, max, len, oneof, numeric, number, alpha, e164      a form's own rules
//	rule                                                    any other rule of the form
type Problem struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

const (
	codeEncoding      = "encoding"
	codeControl       = "control"
	codeBidi          = "bidi"
	codeOneLine       = "one_line"
	codeMultiple      = "multiple"
	codeTooLong       = "too_long"
	codeName          = "name"
	codeUndeclared    = "undeclared"
	codeTooManyFields = "too_many_fields"
	codeRequired      = "required"
	codeEmail         = "email"
	codeTel           = "tel"
	codeURL           = "url"
	codeDate          = "date"
	codeOption        = "option"
	codeRule          = "rule"
)

// sentences has the messages that need nothing but the field's label.
var sentences = map[string]string{
	codeEncoding: "“%s” contains text in an unknown encoding; please type it again.",
	codeControl:  "“%s” contains an invisible control character, often from copying; please type it again.",
	codeBidi:     "“%s” contains an invisible character that reverses text, often from copying; please type it again.",
	codeOneLine:  "“%s” must fit on one line.",
	codeMultiple: "“%s” was sent more than once; please send only one value.",
	codeName:     "The field name “%s” cannot be used; please use up to 100 plain characters on one line.",
	codeRequired: "Please fill in “%s”.",
	codeEmail:    "“%s” must be an e-mail address, like name@example.com.",
	codeTel:      "“%s” must be a telephone number.",
	codeURL:      "“%s” must be a web address, like https://example.com.",
	codeDate:     "“%s” must be a date written as year-month-day, like 2030-12-31.",
	codeOption:   "Please choose one of the listed options for “%s”.",
	"oneof":      "“%s” is not one of the values that can be chosen.",
	"numeric":    "“%s” must be a number.",
	"number":     "“%s” must be written with digits only.",
	"alpha":      "“%s” must be written with letters only.",
	"alphanum":   "“%s” must be written with letters and digits only.",
	"e164":       "“%s” must be a telephone number with its country code, like +441234567890.",
}

// tagCodes names the code of a validator tag, where it differs from the tag or
// several tags share one.
var tagCodes = map[string]string{
	"email": codeEmail, "url": codeURL, "http_url": codeURL, "https_url": codeURL, "uri": codeURL,
	"oneof": "oneof", "oneofci": "oneof", "numeric": "numeric", "number": "number", "e164": "e164",
	"alpha": "alpha", "alphaunicode": "alpha", "alphanum": "alphanum", "alphanumunicode": "alphanum",
	"min": "min", "gte": "min", "max": "max", "lte": "max", "len": "len",
}

func textProblem(code, name, label string) *Problem {
	return &Problem{Field: name, Code: code, Message: fmt.Sprintf(sentences[code], label)}
}

func (fld *field) problem(code string) *Problem { return textProblem(code, fld.Name, fld.Label) }

// ruleProblem puts a failed validator tag into plain words.
func (fld *field) ruleProblem(failed validator.FieldError) *Problem {
	code := tagCodes[failed.Tag()]
	if _, plain := sentences[code]; plain {
		return fld.problem(code)
	}
	// On a list the validator counts choices, on text characters.
	_, list := failed.Value().([]string)
	switch code {
	case "min":
		return fld.sized(code, "at least ", failed.Param(), list)
	case "max":
		return fld.sized(code, "at most ", failed.Param(), list)
	case "len":
		return fld.sized(code, "exactly ", failed.Param(), list)
	}
	rule := failed.Tag()
	if failed.Param() != "" {
		rule += "=" + failed.Param()
	}
	return fld.ruleUnmet(rule)
}

func (fld *field) ruleUnmet(rule string) *Problem {
	message := fmt.Sprintf("“%s” does not fit the rule “%s”.", fld.Label, rule)
	return &Problem{Field: fld.Name, Code: codeRule, Message: message}
}

func (fld *field) sized(code, bound, number string, list bool) *Problem {
	format, unit := "“%s” must have %s%s %s.", "characters"
	if list {
		format, unit = "For “%s”, please choose %s%s %s.", "options"
	}
	if number == "1" {
		unit = strings.TrimSuffix(unit, "s")
	}
	return &Problem{Field: fld.Name, Code: code, Message: fmt.Sprintf(format, fld.Label, bound, number, unit)}
}

func tooLong(name, label string, limit int) *Problem {
	message := fmt.Sprintf("“%s” is too long; at most %d characters can be sent.", label, limit)
	return &Problem{Field: name, Code: codeTooLong, Message: message}
}

func (f *Form) tooManyFields() Problem {
	message := fmt.Sprintf("There are too many fields; at most %d can be sent.", f.def.MaxFields)
	return Problem{Code: codeTooManyFields, Message: message}
}

func (f *Form) undeclared(name string) *Problem {
	message := fmt.Sprintf("This form has no field “%s”.", shownName(name))
	for _, fld := range f.fields {
		if strings.EqualFold(fld.Name, name) {
			message += fmt.Sprintf(" Did you mean “%s”?", fld.Name)
			break
		}
	}
	return &Problem{Field: shownName(name), Code: codeUndeclared, Message: message}
}

// shownName makes a stranger's field name fit to be shown: short, and without
// anything that cannot be seen.
func shownName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxNameChars {
		return string(runes[:maxNameChars]) + "…"
	}
	return name
}
