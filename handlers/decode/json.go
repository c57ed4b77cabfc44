package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeJSON takes one flat object (RFC 8259) whose values are strings, numbers,
// true, false, null, or arrays of these. It walks the tokens: a nested value is
// refused where it begins, so depth costs nothing.
func decodeJSON(c *collector, body []byte) error {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return malformed(`The body is empty; a JSON object such as {"email": "name@example.com"} is expected.`)
	case !utf8.Valid(body):
		return malformed("The JSON is not UTF-8; please send it as UTF-8.")
	case hasLoneSurrogate(body):
		return malformed(`The JSON contains half of a surrogate pair (such as \ud83d alone), which is no character; please send the text whole.`)
	}
	w := &jsonWalk{collector: c, dec: json.NewDecoder(bytes.NewReader(body))}
	w.dec.UseNumber() // a number is kept as it was written
	if err := w.object(); err != nil {
		return err
	}
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return malformed("Something follows the JSON object; please send one object and nothing else.")
	}
	return nil
}

type jsonWalk struct {
	*collector
	dec *json.Decoder
}

func (w *jsonWalk) token() (json.Token, error) {
	t, err := w.dec.Token()
	if err != nil {
		return nil, malformed("The JSON is malformed or cut off near byte %d; please send one whole object.", w.dec.InputOffset())
	}
	return t, nil
}

func (w *jsonWalk) object() error {
	t, err := w.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return malformed(`The JSON must be one object, such as {"email": "name@example.com"}.`)
	}
	for {
		t, err := w.token()
		if err != nil {
			return err
		}
		name, isName := t.(string)
		if !isName {
			return nil // the closing brace
		}
		if err := w.member(name); err != nil {
			return err
		}
	}
}

func (w *jsonWalk) member(name string) error {
	seen, err := w.name(name)
	if err != nil {
		return err
	}
	if seen {
		return malformed("The JSON has the key %s twice; please send several values as one array.", shown(name))
	}
	t, err := w.token()
	if err != nil {
		return err
	}
	if t == json.Delim('[') {
		return w.array(name)
	}
	return w.scalar(name, t)
}

func (w *jsonWalk) array(name string) error {
	for {
		t, err := w.token()
		if err != nil {
			return err
		}
		if t == json.Delim(']') {
			return nil
		}
		if err := w.scalar(name, t); err != nil {
			return err
		}
	}
}

func (w *jsonWalk) scalar(name string, t json.Token) error {
	switch v := t.(type) {
	case nil: // null is the same as absent
		return nil
	case string:
		return w.add(name, v)
	case json.Number:
		return w.add(name, v.String())
	case bool:
		return w.add(name, strconv.FormatBool(v))
	}
	return malformed("The field %s holds a nested value; please send text, a number, true, false, null or an array of these.", shown(name))
}

// hasLoneSurrogate looks for a \u escape that is half of a pair. encoding/json
// would turn it into U+FFFD without a word. A backslash outside of a string is
// no JSON, so the whole body can be scanned as one.
func hasLoneSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first := escapedUnit(body[i:])
		switch {
		case !utf16.IsSurrogate(first):
			i++ // also steps over the second backslash of an escaped one
		case utf16.DecodeRune(first, escapedUnit(body[i+6:])) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// escapedUnit returns the UTF-16 code unit of the \uXXXX escape that b begins
// with, or -1.
func escapedUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
