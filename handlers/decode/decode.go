// Package decode reads the body of a submission: JSON, urlencoded or multipart.
//
// It takes the place of a framework's binder, which would merge the query into
// the form, take the last of two values, ignore what follows the JSON, and turn
// invalid UTF-8 into replacement characters. Here nothing a visitor typed is
// lost or altered silently: a body is read whole, or refused with a sentence
// that says what to do.
package decode

import (
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"formledger/ledger/enquiry"
)

// What is wrong with a body. The errors of Body wrap exactly one of them.
var (
	ErrMediaType     = errors.New("media type not taken") // 415
	ErrMalformed     = errors.New("malformed body")       // 400
	ErrTooManyFields = errors.New("too many fields")      // 400, or 413
)

// Error is a refused body. Message is for whoever sent it, and holds nothing of
// the content but at most the name of a field.
type Error struct {
	Kind    error // ErrMediaType, ErrMalformed or ErrTooManyFields
	Message string
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Limits bounds what a body may hold. Its size in bytes is the caller's to
// bound, before it is read.
type Limits struct {
	// Fields is the largest number of distinct field names, those outside the
	// enquiry included; 0 is enquiry.DefaultMaxFields.
	Fields int
}

// maxValues bounds the values of all fields together. It is the bound that
// mime/multipart sets on parts, here for every encoding alike.
const maxValues = 1000

const mediaTypes = "please send it as application/json, application/x-www-form-urlencoded or multipart/form-data"

// Body decodes a body by its Content-Type. Equal fields give equal Raws in all
// three encodings. The error is an *Error.
func Body(contentType string, body []byte, lim Limits) (enquiry.Raw, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return enquiry.Raw{}, mediaType("The Content-Type of the form is missing or malformed; %s.", mediaTypes)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return enquiry.Raw{}, mediaType("The form is not sent as UTF-8; please send it with charset=utf-8.")
	}
	if lim.Fields <= 0 {
		lim.Fields = enquiry.DefaultMaxFields
	}
	c := &collector{limit: lim.Fields}
	switch media {
	case "application/json":
		err = decodeJSON(c, body)
	case "application/x-www-form-urlencoded":
		err = decodeURLEncoded(c, body)
	case "multipart/form-data":
		err = decodeMultipart(c, body, params["boundary"])
	default:
		err = mediaType("This kind of form data is not taken; %s.", mediaTypes)
	}
	if err != nil {
		return enquiry.Raw{}, err
	}
	return c.raw, nil
}

func mediaType(format string, args ...any) error {
	return &Error{Kind: ErrMediaType, Message: fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) error {
	return &Error{Kind: ErrMalformed, Message: fmt.Sprintf(format, args...)}
}

// collector gathers fields within the limits. It stops at the first field too
// many, so that ten thousand of them cost no more than a hundred.
type collector struct {
	raw    enquiry.Raw
	limit  int
	seen   map[string]bool
	values int
}

// name counts a field, whether or not it has a value. It reports whether the
// name was seen before.
func (c *collector) name(name string) (bool, error) {
	if c.seen[name] {
		return true, nil
	}
	if len(c.seen) == c.limit {
		return false, &Error{Kind: ErrTooManyFields, Message: fmt.Sprintf("The form has too many fields; at most %d are taken.", c.limit)}
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	c.seen[name] = true
	return false, nil
}

func (c *collector) add(name, value string) error {
	if c.values == maxValues {
		return &Error{Kind: ErrTooManyFields, Message: fmt.Sprintf("The form has too many values; at most %d are taken.", maxValues)}
	}
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return malformed("The form contains text that is not UTF-8; please send it as UTF-8.")
	}
	if _, err := c.name(name); err != nil {
		return err
	}
	c.values++
	c.raw.Add(name, value)
	return nil
}

// shown quotes a field's name for a message, shortened and with everything
// invisible escaped.
func shown(name string) string {
	const most = 100
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", name)
}
