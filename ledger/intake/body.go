package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"formledger/ledger/enquiry"
)

const (
	maxDepth      = 32  // of objects and lists in each other
	maxIdentifier = 200 // characters
)

// parse reads a body that is one JSON object (RFC 8259) in UTF-8 and nothing
// else. A name that is there twice in one object is refused: parsers differ in
// which value they take, and then two systems act on different orders. Numbers
// stay as they are written. An escape that is half of a surrogate pair becomes
// U+FFFD: providers cut off emoji, and that must not cost a whole order.
func parse(body []byte) (map[string]any, error) {
	if !utf8.Valid(body) {
		return nil, unreadable("the body is not UTF-8")
	}
	r := reader{dec: json.NewDecoder(bytes.NewReader(body))}
	r.dec.UseNumber()
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, unreadable("something follows the body's JSON")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, unreadable("the body is not a JSON object")
	}
	return object, nil
}

// reader walks the tokens of a body, so that nothing is nested deeper than it
// counted.
type reader struct {
	dec   *json.Decoder
	depth int
}

func (r *reader) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err != nil {
		return nil, unreadable("the body is not JSON, or is cut off")
	}
	return t, nil
}

// value reads one value: a map, a list, a string, a json.Number, a bool or nil.
func (r *reader) value() (any, error) {
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return r.nested(func() (any, error) { return r.object() })
	case json.Delim('['):
		return r.nested(func() (any, error) { return r.list() })
	}
	return t, nil
}

// nested reads what stands between two brackets, and the second of them.
func (r *reader) nested(read func() (any, error)) (any, error) {
	if r.depth == maxDepth {
		return nil, unreadable("the body is nested deeper than %d levels", maxDepth)
	}
	r.depth++
	defer func() { r.depth-- }()
	value, err := read()
	if err != nil {
		return nil, err
	}
	_, err = r.token()
	return value, err
}

func (r *reader) object() (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		t, err := r.token()
		if err != nil {
			return nil, err
		}
		name, isName := t.(string)
		if _, twice := object[name]; !isName || twice {
			return nil, unreadable("an object of the body has the same name twice")
		}
		if object[name], err = r.value(); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (r *reader) list() (any, error) {
	list := []any{}
	for r.dec.More() {
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// find follows a path. What it does not lead to is nil, as null is.
func find(node any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n) || strconv.Itoa(i) != step {
				return nil
			}
			node = n[i]
		default:
			return nil
		}
	}
	return node
}

// scalar is the text of a string, a number or a boolean.
func scalar(node any) (string, bool) {
	switch v := node.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// valuesOf returns a field's values: none of null, one of a scalar, and those of
// a list if the field takes several.
func valuesOf(node any, several bool) ([]string, bool) {
	list, isList := node.([]any)
	switch {
	case node == nil:
		return nil, true
	case !isList:
		list = []any{node}
	case !several:
		return nil, false
	}
	var values []string
	for _, item := range list {
		if item == nil {
			continue
		}
		value, ok := scalar(item)
		if !ok {
			return nil, false
		}
		values = append(values, value)
	}
	return values, true
}

// identifier is a string or a number that names something.
func identifier(node any) (string, bool) {
	if _, isBool := node.(bool); isBool {
		return "", false
	}
	s, ok := scalar(node)
	return s, ok && s != "" && utf8.RuneCountInString(s) <= maxIdentifier && isExact(s)
}

func address(node any) (string, bool) {
	s, ok := node.(string)
	if !ok || !isExact(s) {
		return "", false
	}
	return enquiry.MailAddress(s)
}

// isExact refuses control characters and U+FFFD, which stands for any character
// that got lost: two different IDs must never become one.
func isExact(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) })
}
