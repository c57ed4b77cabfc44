package enquiry

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxTolerance  = 24 * time.Hour
	maxEventChars = 200
)

var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// IsWebhook reports whether enquiries come as webhooks of a provider, and not
// from visitors.
func (f *Form) IsWebhook() bool { return f.def.Intake == webhookIntake }

// undeclared is what becomes of undeclared fields where nothing is said. Of a
// webhook only what has a path is read.
func (d Definition) undeclared() string {
	if d.Intake == webhookIntake {
		return refuseUndeclared
	}
	return keepUndeclared
}

func (w *Webhook) withDefaults() *Webhook {
	if w == nil {
		return nil
	}
	d := *w
	d.Events = slices.Clone(w.Events)
	if w.Scheme == HMAC {
		d.Encoding = orElse(w.Encoding, Hex)
	} else {
		d.Tolerance = orElse(w.Tolerance, DefaultTolerance)
	}
	return &d
}

func (c *compiler) intake() {
	switch w := c.def.Webhook; {
	case c.def.Intake != formIntake && c.def.Intake != webhookIntake:
		c.fault(`intake is either "form" or "webhook"`, "intake")
	case c.def.Intake == formIntake:
		c.noWebhook()
	case w == nil:
		c.fault(`a form with intake = "webhook" needs a table [form.webhook] that tells how its webhooks are read`, "webhook")
	default:
		c.unvisited()
		c.scheme(w)
		c.paths(w)
	}
}

// noWebhook refuses settings that a form for visitors would only seem to have.
func (c *compiler) noWebhook() {
	if c.def.Webhook != nil {
		c.fault(`only a form with intake = "webhook" has webhook settings`, "webhook")
	}
	for i, f := range c.def.Fields {
		if f.Path != "" {
			c.fault(`only a form with intake = "webhook" has fields with a path`, "field", i, "path")
		}
	}
}

// unvisited refuses what is about visitors, whom a webhook's form has none of.
func (c *compiler) unvisited() {
	if len(c.def.Origins) > 0 {
		c.fault("webhooks come from a server and not from a page, so a form that takes them has no origins; please remove them", "origins")
	}
	if c.def.ThanksURL != "" {
		c.fault("nobody waits in front of a webhook, so a form that takes them has no thanks_url; please remove it", "thanks_url")
	}
	if c.def.Undeclared == keepUndeclared {
		c.fault(`of a webhook only the fields with a path are read, so undeclared cannot be "keep"; please remove it`, "undeclared")
	}
}

func (c *compiler) scheme(w *Webhook) {
	switch w.Scheme {
	case Standard:
		if w.Header != "" {
			c.fault("the scheme standard has headers of its own; please remove header", "webhook", "header")
		}
	case HMAC, Timestamped:
		if !headerName.MatchString(w.Header) {
			c.fault("the scheme "+w.Scheme+" needs the name of the header that carries the signature, such as X-Signature", "webhook", "header")
		}
	default:
		c.fault(`scheme is "standard", "hmac" or "timestamped"`, "webhook", "scheme")
	}
	if w.SecretsFile == "" {
		c.fault("a file with the provider's signing secret is needed, one secret a line", "webhook", "secrets_file")
	}
	c.encoding(w)
	c.tolerance(w)
}

func (c *compiler) encoding(w *Webhook) {
	switch {
	case w.Scheme != HMAC && w.Encoding != "":
		c.fault("only the scheme hmac has an encoding; please remove it", "webhook", "encoding")
	case w.Scheme == HMAC && w.Encoding != Hex && w.Encoding != Base64:
		c.fault(`encoding is "hex" or "base64"`, "webhook", "encoding")
	}
}

// tolerance refuses one that would only seem to be kept, too.
func (c *compiler) tolerance(w *Webhook) {
	switch {
	case w.Scheme == HMAC && w.Tolerance != 0:
		c.fault("a signature of the scheme hmac tells no time that a tolerance could be about; please remove it", "webhook", "tolerance")
	case w.Tolerance < 0 || w.Tolerance > maxTolerance:
		c.fault(`tolerance is between 0 and 24 hours, such as "5m"`, "webhook", "tolerance")
	}
}

func (c *compiler) paths(w *Webhook) {
	c.path(w.OrderPath, "order_path is needed: it leads to the order's ID, which stays the same when a webhook is repeated", "webhook", "order_path")
	if w.ToPath != "" {
		c.path(w.ToPath, "", "webhook", "to_path")
	}
	for i, f := range c.def.Fields {
		c.path(f.Path, "a field of a webhook needs a path that leads to its value, such as data.customer.name", "field", i, "path")
	}
	if w.EventPath != "" {
		c.path(w.EventPath, "", "webhook", "event_path")
	}
	if (w.EventPath != "") != (len(w.Events) > 0) {
		c.fault("event_path and events go together: one leads to the event's name, the other lists those that are orders", "webhook", "events")
	}
	for i, e := range w.Events {
		c.event(w, i, e)
	}
}

func (c *compiler) path(path, missing string, key ...any) {
	switch {
	case path == "":
		c.fault(missing, key...)
	case !isPath(path):
		c.fault(`"`+path+`" is not a path; write names and, for lists, numbers from 0, joined by dots, such as data.items.0.name`, key...)
	}
}

// isPath also refuses what other languages for paths begin or index with: it
// would never be found and only look right.
func isPath(s string) bool {
	for step := range strings.SplitSeq(s, ".") {
		if step == "" || step == "$" || strings.TrimSpace(step) != step || strings.ContainsFunc(step, isOddInPath) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func isOddInPath(r rune) bool { return r == '[' || r == ']' || unicode.IsControl(r) }

func (c *compiler) event(w *Webhook, i int, event string) {
	switch {
	case strings.TrimSpace(event) == "" || utf8.RuneCountInString(event) > maxEventChars:
		c.fault("an event is named in 1 to 200 characters", "webhook", "events", i)
	case slices.Index(w.Events, event) < i:
		c.fault(`the event "`+event+`" is listed twice`, "webhook", "events", i)
	}
	c.line(event, "webhook", "events", i)
}
