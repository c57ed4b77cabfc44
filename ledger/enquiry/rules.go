package enquiry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

const dive = "dive"

// outsideTags look at something other than the value: at the file system or at
// DNS, with a name that a stranger chose. They have no place in a form.
var outsideTags = []string{
	"file", "filepath", "dir", "dirpath", "image", "uds_exists", "unix_addr", "timezone",
	"tcp_addr", "tcp4_addr", "tcp6_addr", "udp_addr", "udp4_addr", "udp6_addr",
	"ip_addr", "ip4_addr", "ip6_addr",
}

// structTags are for Go structs and maps, which a field is not.
var structTags = []string{"structonly", "nostructlevel", "keys", "endkeys", "validateFn", "-"}

// listTags make sense for a list of choices as a whole. The validator would run
// any other on the Go value's debug text and never match.
var listTags = []string{"min", "max", "len", "eq", "ne", "gt", "gte", "lt", "lte", "unique", dive}

// emptyTags are answered by presence alone, before the validator is asked.
var emptyTags = []string{"omitempty", "omitnil", "omitzero"}

// rules takes a field's rules apart and tries each one, because the validator
// panics on a bad tag only when it first meets a value.
func (c *compiler) rules(v *validator.Validate, fld *field) {
	if fld.Rules == "" {
		return
	}
	var rest []string
	list := fld.Kind == Multi
	for token := range strings.SplitSeq(fld.Rules, ",") {
		token = strings.TrimLeft(token, " \t")
		switch {
		case token == "required":
			fld.required = true
		case slices.Contains(emptyTags, token), token == "email" && fld.Kind == Email:
			// An empty optional field is always valid, and the kind email
			// knows more addresses than the validator's pattern does.
		default:
			if fault := tryToken(v, token, list); fault != "" {
				c.fault(fault, "field", fld.index, "rules")
			}
			rest = append(rest, token)
		}
		list = list && token != dive
	}
	fld.tags = strings.Join(rest, ",")
}

// tryToken returns what is wrong with one rule, whose alternatives stand
// between bars, or "".
func tryToken(v *validator.Validate, token string, list bool) string {
	for alternative := range strings.SplitSeq(token, "|") {
		tag, _, _ := strings.Cut(alternative, "=")
		switch {
		case slices.Contains(structTags, tag):
			return fmt.Sprintf("the rule %q is about Go structs and maps, not about a form's field", token)
		case isCrossField(tag):
			return fmt.Sprintf("the rule %q looks at other fields, which a form's rules cannot", token)
		case slices.Contains(outsideTags, tag):
			return fmt.Sprintf("the rule %q looks at files or the network, which a form's rules must not", token)
		}
		if fault := tryAlternative(v, alternative, tag, list); fault != "" {
			return fault
		}
	}
	return ""
}

func isCrossField(tag string) bool {
	return strings.HasSuffix(tag, "field") || tag == "fieldcontains" || tag == "fieldexcludes" ||
		strings.HasPrefix(tag, "required_") || strings.HasPrefix(tag, "excluded_") || strings.HasPrefix(tag, "skip_")
}

func tryAlternative(v *validator.Validate, rule, tag string, list bool) string {
	panicked := trySamples(v, rule, list)
	switch {
	case tag == "", strings.HasPrefix(panicked, "Undefined validation"):
		return fmt.Sprintf("there is no rule %q", rule)
	case list && !slices.Contains(listTags, tag):
		return fmt.Sprintf(`the rule %q is about one choice, not the list: put "dive" before it`, rule)
	case panicked != "":
		return fmt.Sprintf("the rule %q does not fit this kind of field (%s)", rule, panicked)
	}
	return ""
}

func trySamples(v *validator.Validate, rule string, list bool) string {
	samples := []any{"", "a", "1", "2006-01-02"}
	if list {
		samples = []any{[]string{"a", "b"}}
	}
	for _, sample := range samples {
		if _, panicked := tryVar(v, sample, rule); panicked != "" {
			return panicked
		}
	}
	return ""
}

// tryVar runs rules on a value and returns the first rule that failed, or the
// text of the validator's panic, which is its way to report a bad tag.
func tryVar(v *validator.Validate, value any, rules string) (failed validator.FieldError, panicked string) {
	defer func() {
		if r := recover(); r != nil {
			panicked = fmt.Sprint(r)
		}
	}()
	if errs, ok := v.Var(value, rules).(validator.ValidationErrors); ok && len(errs) > 0 {
		failed = errs[0]
	}
	return failed, ""
}
