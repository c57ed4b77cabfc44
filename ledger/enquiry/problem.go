package enquiry

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// Problem is one reason why an enquiry cannot be taken as it is. Field is the
// field's name, empty if it is the enquiry as a whole. Code is for programs, one
// of:
//
//	encoding, control, bidi, one_line, multiple, too_long   text that has no normal form
//	name, undeclared, too_many_fields                       fields that are not taken
//	required, email, tel, url, date, option                 a field's kind
//	min, max, len, oneof, numeric, number, alpha, alphanum, e164   a form's own rules
//	rule                                                    any other rule of the form
//
// Sentences are for people: one or two.
type Problem struct {
	Field     string
	Code      string
	Sentences []Sentence
}

// Sentence names one that is said in the visitor's language, and what stands in
// it: name, value, name, value. This package knows no language.
type Sentence struct {
	Key  string // the code, or the code and what the sentence is about
	Args []string
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
	codeE164          = "e164"
	codeRule          = "rule"
)

// tagCodes names the code of a validator tag, where it differs from the tag or
// several tags share one.
var tagCodes = map[string]string{
	"email": codeEmail, "url": codeURL, "http_url": codeURL, "https_url": codeURL, "uri": codeURL,
	"oneof": "oneof", "oneofci": "oneof", "numeric": "numeric", "number": "number", "e164": codeE164,
	"alpha": "alpha", "alphaunicode": "alpha", "alphanum": "alphanum", "alphanumunicode": "alphanum",
	"min": "min", "gte": "min", "max": "max", "lte": "max", "len": "len",
}

// examples show how a value of a kind is written.
var examples = map[string]string{
	codeEmail: "name@example.com", codeURL: "https://example.com", codeDate: "2030-12-31", codeE164: "+441234567890",
}

// newProblem is a problem whose sentence goes by its code. args follow the label.
func newProblem(code, name, label string, args ...string) *Problem {
	args = append([]string{"label", label}, args...)
	if example := examples[code]; example != "" {
		args = append(args, "example", example)
	}
	return &Problem{Field: name, Code: code, Sentences: []Sentence{{Key: code, Args: args}}}
}

func (fld *field) problem(code string, args ...string) *Problem {
	return newProblem(code, fld.Name, fld.Label, args...)
}

// about makes a problem's first sentence one of several that its code has.
func (p *Problem) about(what string) *Problem {
	p.Sentences[0].Key = p.Code + "_" + what
	return p
}

// also adds a second sentence.
func (p *Problem) also(key string, args ...string) *Problem {
	p.Sentences = append(p.Sentences, Sentence{Key: key, Args: args})
	return p
}

// ruleProblem is a validator tag that failed.
func (fld *field) ruleProblem(failed validator.FieldError) *Problem {
	switch code := tagCodes[failed.Tag()]; code {
	case "":
	case "min", "max", "len":
		return fld.sized(code, failed)
	default:
		return fld.problem(code)
	}
	rule := failed.Tag()
	if failed.Param() != "" {
		rule += "=" + failed.Param()
	}
	return fld.ruleUnmet(rule)
}

func (fld *field) ruleUnmet(rule string) *Problem { return fld.problem(codeRule, "rule", rule) }

// sized says a limit. On a list the validator counts choices, on text characters.
// That at least one is wanted never fails, as nothing at all is absent.
func (fld *field) sized(code string, failed validator.FieldError) *Problem {
	unit := "chars"
	if _, list := failed.Value().([]string); list {
		unit = "options"
	}
	if failed.Param() == "1" && code != "min" {
		return fld.problem(code).about(unit + "_one")
	}
	return fld.problem(code, "limit", failed.Param()).about(unit)
}

func tooLong(name, label string, limit int) *Problem {
	return newProblem(codeTooLong, name, label, "limit", strconv.Itoa(limit))
}

func (f *Form) tooManyFields() Problem {
	limit := strconv.Itoa(f.def.MaxFields)
	return Problem{Code: codeTooManyFields, Sentences: []Sentence{{Key: codeTooManyFields, Args: []string{"limit", limit}}}}
}

func (f *Form) undeclared(name string) *Problem {
	shown := shownName(name)
	p := &Problem{Field: shown, Code: codeUndeclared, Sentences: []Sentence{{Key: codeUndeclared, Args: []string{"name", shown}}}}
	for _, fld := range f.fields {
		if strings.EqualFold(fld.Name, name) {
			return p.also("did_you_mean", "name", fld.Name)
		}
	}
	return p
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
