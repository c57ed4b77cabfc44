// Package enquiry turns what a visitor sent into one canonical enquiry.
//
// A [Definition] describes a form and comes from the configuration. [Compile]
// checks it and gives a [Form], which normalizes a [Raw] submission and
// validates the resulting [Enquiry]. Normalization makes honest retries equal,
// whatever the encoding or the browser; [Enquiry.Canonical] gives the bytes
// that are hashed, and nothing else is ever mailed.
//
// Nothing in this package reads files, the network or the clock.
package enquiry

import (
	"fmt"
	"time"
)

// Limits that apply where a form sets none of its own.
const (
	DefaultMaxBody   = 64 << 10 // bytes of a request's body
	DefaultMaxFields = 100      // distinct field names
	DefaultMaxChars  = 20_000   // characters (code points) of one field

	DefaultTolerance = 5 * time.Minute // between the time in a webhook's signature and now
)

// Definition is a form as its operator writes it in the TOML configuration.
type Definition struct {
	Name       string     `toml:"name"`       // part of the form's address: lower-case letters, digits, hyphens
	Title      string     `toml:"title"`      // shown to visitors; the name if empty
	To         Recipients `toml:"to"`         // who gets the mail
	From       string     `toml:"from"`       // the form's own sender address, never the visitor's
	Subject    string     `toml:"subject"`    // of the mail; if empty, the word for an enquiry and the title
	Lang       string     `toml:"lang"`       // language of the mail, and of visitors who prefer none that there is
	Origins    []string   `toml:"origins"`    // sites whose pages may post here
	Contact    string     `toml:"contact"`    // the line that tells a visitor where to check
	Policy     string     `toml:"policy"`     // "hold" (also if empty), "queue" or "retry"
	Intake     string     `toml:"intake"`     // "form" (also if empty) or "webhook"
	Webhook    *Webhook   `toml:"webhook"`    // where the enquiries of intake "webhook" come from
	ThanksURL  string     `toml:"thanks_url"` // page shown after an accepted enquiry
	Undeclared string     `toml:"undeclared"` // "keep" (also if empty) or "refuse"; of a webhook's form always "refuse"
	Fields     []Field    `toml:"field"`
	MaxBody    int64      `toml:"max_body"`   // bytes; 0 is DefaultMaxBody
	MaxFields  int        `toml:"max_fields"` // distinct names; 0 is DefaultMaxFields
	MaxChars   int        `toml:"max_chars"`  // characters of one field after normalization; 0 is DefaultMaxChars
}

// Field is one declared field of a form.
type Field struct {
	Name    string   `toml:"name"`
	Kind    Kind     `toml:"kind"`
	Label   string   `toml:"label"`   // shown to people; the name if empty
	Options []string `toml:"options"` // choices of select and multi
	Rules   string   `toml:"rules"`   // tags of go-playground/validator v10, as for Var
	Path    string   `toml:"path"`    // where a webhook's body holds the value, as data.customer.name
}

// Webhook says how the verified webhooks of a form are read. Paths lead into a
// body's JSON: names and, for lists, numbers from 0, joined by dots. A name that
// has a dot or a bracket in it cannot be reached.
type Webhook struct {
	Scheme       string        `toml:"scheme"`        // one of the schemes below
	Header       string        `toml:"header"`        // that carries the signature; of hmac and timestamped
	Encoding     string        `toml:"encoding"`      // of an hmac signature: Hex (also if empty) or Base64
	SecretsFile  string        `toml:"secrets_file"`  // one secret a line; several while they are rotated
	Tolerance    time.Duration `toml:"tolerance"`     // between the signature's time and now; 0 is 5 minutes
	EventPath    string        `toml:"event_path"`    // where the body names its event; empty: every body is an order
	Events       []string      `toml:"events"`        // those that are orders; others are acknowledged and not recorded
	OrderPath    string        `toml:"order_path"`    // where the body holds the order's ID
	ToPath       string        `toml:"to_path"`       // where it holds the customer's address; empty: the form's To
	TemplateFile string        `toml:"template_file"` // text/template of the mail, over the fields; empty: the usual list
}

// How a webhook is signed.
const (
	Standard    = "standard"    // Standard Webhooks, symmetric (v1)
	HMAC        = "hmac"        // HMAC-SHA-256 of the body in a header, without a time
	Timestamped = "timestamped" // HMAC-SHA-256 of time and body, both in one header
)

// How the signature of scheme HMAC is written.
const (
	Hex    = "hex"
	Base64 = "base64"
)

// Kind says what a field holds and so how it is normalized.
type Kind string

// The kinds of a field. Only multi holds more than one value, only textarea
// more than one line.
const (
	Text     Kind = "text"
	Email    Kind = "email"
	Tel      Kind = "tel"
	URL      Kind = "url"
	Date     Kind = "date" // YYYY-MM-DD, as <input type=date> sends it
	Textarea Kind = "textarea"
	Select   Kind = "select"
	Multi    Kind = "multi"
	Checkbox Kind = "checkbox" // "yes", a site's own value, or absent
)

const (
	keepUndeclared   = "keep"
	refuseUndeclared = "refuse"

	holdPolicy  = "hold"
	queuePolicy = "queue"
	retryPolicy = "retry"

	formIntake    = "form"
	webhookIntake = "webhook"
)

// Recipients is a list of mail addresses. In TOML it may also be one string.
type Recipients []string

// UnmarshalTOML takes a string or an array of strings.
func (r *Recipients) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		*r = Recipients{v}
		return nil
	case []any:
		return r.fromList(v)
	}
	return fmt.Errorf("expected a mail address or a list of them, not %T", v)
}

func (r *Recipients) fromList(list []any) error {
	out := make(Recipients, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return fmt.Errorf("expected a mail address, not %T", item)
		}
		out = append(out, s)
	}
	*r = out
	return nil
}

// Fault is one thing wrong with a Definition. Path is the key path inside the
// form, such as {"contact"} or {"field", 2, "rules"} (counted from 0), so that
// the caller can name the line of the file. A key that is absent is named too.
type Fault struct {
	Path    []any
	Message string
}

func (f Fault) Error() string { return fmt.Sprint(f.Path) + ": " + f.Message }
