package enquiry

import (
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

var formName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Form is a compiled Definition. It is never changed and safe for concurrent use.
type Form struct {
	def      Definition
	fields   []*field // in declared order
	byName   map[string]*field
	validate *validator.Validate
}

// Def returns the definition with its defaults filled in. It shares its slices
// with the form: read them only.
func (f *Form) Def() Definition { return f.def }

// Required reports whether a declared field has to be filled in.
func (f *Form) Required(name string) bool {
	fld := f.byName[name]
	return fld != nil && fld.required
}

// ReplyToField names the first field of kind email, whose value answers go to,
// or is empty if the form has none.
func (f *Form) ReplyToField() string {
	for _, fld := range f.fields {
		if fld.Kind == Email {
			return fld.Name
		}
	}
	return ""
}

// Compile checks a definition and fills in its defaults. It reports every
// fault it finds; the Form is nil if there is one.
func Compile(d Definition) (*Form, []Fault) {
	c := &compiler{def: withDefaults(d)}
	c.identity()
	c.addresses()
	c.web()
	c.intake()
	c.limits()
	form := c.form()
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return form, nil
}

func withDefaults(d Definition) Definition {
	d.Title = orElse(d.Title, d.Name)
	d.Policy = orElse(d.Policy, holdPolicy)
	d.Intake = orElse(d.Intake, formIntake)
	d.Webhook = d.Webhook.withDefaults()
	d.Undeclared = orElse(d.Undeclared, d.undeclared())
	d.MaxBody = orElse(d.MaxBody, DefaultMaxBody)
	d.MaxFields = orElse(d.MaxFields, DefaultMaxFields)
	d.MaxChars = orElse(d.MaxChars, DefaultMaxChars)
	d.To, d.Origins, d.Fields = slices.Clone(d.To), slices.Clone(d.Origins), slices.Clone(d.Fields)
	for i := range d.Fields {
		d.Fields[i].Label = orElse(d.Fields[i].Label, d.Fields[i].Name)
		d.Fields[i].Options = slices.Clone(d.Fields[i].Options)
	}
	return d
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// compiler collects the faults of one definition.
type compiler struct {
	def    Definition
	faults []Fault
}

func (c *compiler) fault(message string, path ...any) {
	c.faults = append(c.faults, Fault{Path: path, Message: message})
}

func (c *compiler) identity() {
	if !formName.MatchString(c.def.Name) {
		c.fault("a form needs a name of 1 to 64 lower-case letters, digits and hyphens, not starting with a hyphen", "name")
	}
	c.line(c.def.Title, "title")
	c.line(c.def.Subject, "subject")
	if strings.TrimSpace(c.def.Contact) == "" {
		c.fault(`a form needs a contact line: it tells a visitor where to check when we cannot say whether the enquiry arrived, such as "call 01234 567890"`, "contact")
	}
	c.line(c.def.Contact, "contact")
	c.policy()
	if u := c.def.Undeclared; u != keepUndeclared && u != refuseUndeclared {
		c.fault(`undeclared is either "keep" or "refuse"`, "undeclared")
	}
}

func (c *compiler) policy() {
	if p := c.def.Policy; p != holdPolicy && p != queuePolicy && p != retryPolicy {
		c.fault(`policy is "hold", "queue" or "retry"`, "policy")
	}
}

// line refuses text that would not stay on one line of a header or a page.
func (c *compiler) line(s string, path ...any) {
	if _, code := oneLine(s, false); code != "" {
		c.fault("must be one line of text without control characters", path...)
	}
}

func (c *compiler) addresses() {
	if len(c.def.To) == 0 {
		c.noRecipient()
	}
	for i, to := range c.def.To {
		c.address(to, "to", i)
	}
	c.address(c.def.From, "from")
}

// noRecipient: a webhook may name the customer, and then nobody else is needed.
func (c *compiler) noRecipient() {
	switch w := c.def.Webhook; {
	case w == nil:
		c.fault("a form needs at least one recipient", "to")
	case w.ToPath == "":
		c.fault("a form needs at least one recipient, or a to_path in its webhook settings that leads to the customer's address", "to")
	}
}

func (c *compiler) address(s string, path ...any) {
	if s == "" {
		c.fault("a mail address is needed here", path...)
		return
	}
	// ParseAddress takes folded lines, which would be header lines of their own.
	_, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		c.fault(`"`+s+`" is not a mail address`, path...)
	}
}

func (c *compiler) web() {
	if t := c.def.ThanksURL; t != "" && !absoluteHTTP(t) {
		c.fault("thanks_url must be a whole address, such as https://example.com/thanks", "thanks_url")
	}
	for i, o := range c.def.Origins {
		if !validOrigin(o) {
			c.fault(`"`+o+`" is not an origin; write scheme and host as browsers send them, in lower case, without path or default port, such as https://www.example.com ("null" and "*" are taken too)`, "origins", i)
		}
	}
}

func absoluteHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isHTTP(u.Scheme) && u.Hostname() != ""
}

func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// validOrigin reports whether a browser could send s as its Origin header
// (RFC 6454 section 6.2): anything else would never match and only look safe.
func validOrigin(s string) bool {
	if s == "*" || s == "null" {
		return true
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || s != u.Scheme+"://"+u.Host {
		return false
	}
	defaultPort := u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443"
	return !defaultPort && !strings.HasSuffix(s, ":") && !strings.ContainsFunc(s, func(r rune) bool {
		return r > '~' || 'A' <= r && r <= 'Z'
	})
}

func (c *compiler) limits() {
	if c.def.MaxBody < 0 {
		c.fault("max_body is a number of bytes above 0", "max_body")
	}
	if c.def.MaxFields < 0 {
		c.fault("max_fields is a number above 0", "max_fields")
	}
	if c.def.MaxChars < 0 {
		c.fault("max_chars is a number of characters above 0", "max_chars")
	}
}
