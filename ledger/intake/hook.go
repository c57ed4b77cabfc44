// Package intake reads the webhooks of a payment or other provider as the
// enquiries of a form.
//
// A [Hook] verifies a request on its raw body, before a byte of it is parsed,
// and then takes from the JSON what the form's paths lead to. The result is
// checked by the form like what any visitor sends.
//
// A provider repeats a webhook until it is told that it arrived, and an attacker
// may repeat one that was overheard. Neither does harm: the order's own ID is
// the submission's, and a submission is sent once.
package intake

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"text/template"
	"time"

	"formledger/ledger/enquiry"
)

// What is wrong with a request. The errors of Open wrap exactly one of them, and
// say nothing of its content.
var (
	// ErrUnverified: the signature is missing, malformed or of somebody else.
	ErrUnverified = errors.New("the webhook is not verified")
	// ErrStale: the signature is good, but older or newer than the tolerance.
	ErrStale = errors.New("the webhook was signed too long ago, or by a clock that is ahead")
	// ErrUnreadable: the signature is good, but the body is not what the form's
	// settings say.
	ErrUnreadable = errors.New("the webhook is verified but cannot be read")
)

// Hook reads the webhooks of one form. It is never changed and safe for
// concurrent use.
type Hook struct {
	form    *enquiry.Form
	webhook enquiry.Webhook
	scheme  scheme
	text    *template.Template // nil: the form has none
}

// Order is what a verified webhook tells.
type Order struct {
	ID      string      // the order's, not the event's
	Event   string      // empty if the form looks for none
	Ignored bool        // verified, but an event that is no order; nothing else is set
	Raw     enquiry.Raw // the fields, to be checked by the form as usual
	To      string      // the customer's address, or empty: the form's own To
}

// Compile checks a form's webhook settings, reads its secrets with readSecrets
// and its template with readFile, and reports every fault it finds; the Hook is
// nil if there is one. The texts of faults hold no secret.
func Compile(f *enquiry.Form, readSecrets func(file string) (string, error), readFile func(file string) ([]byte, error)) (*Hook, []enquiry.Fault) {
	if !f.IsWebhook() {
		return nil, []enquiry.Fault{{Path: []any{"intake"}, Message: "this form takes no webhooks"}}
	}
	h := &Hook{form: f, webhook: *f.Def().Webhook}
	var faults []enquiry.Fault
	check := func(key string, err error) {
		if err != nil {
			faults = append(faults, enquiry.Fault{Path: []any{"webhook", key}, Message: err.Error()})
		}
	}
	check("secrets_file", h.readSecrets(readSecrets))
	check("template_file", h.readTemplate(readFile))
	if len(faults) > 0 {
		return nil, faults
	}
	return h, nil
}

// Open verifies a request's headers and raw body first, and only then parses
// it. The size of the body is the caller's to bound. The fields of an order are
// not checked yet: that is the form's to do.
func (h *Hook) Open(header http.Header, body []byte, now time.Time) (Order, error) {
	signed, err := h.scheme.verify(header, body)
	if err != nil {
		return Order{}, err
	}
	if !signed.IsZero() && now.Sub(signed).Abs() > h.webhook.Tolerance {
		return Order{}, ErrStale
	}
	object, err := parse(body)
	if err != nil {
		return Order{}, err
	}
	event, known, err := h.event(object)
	if err != nil || !known {
		return Order{Event: event, Ignored: err == nil}, err
	}
	return h.order(object, event)
}

// event names the event of a body, and tells whether it is an order.
func (h *Hook) event(object map[string]any) (string, bool, error) {
	path := h.webhook.EventPath
	if path == "" {
		return "", true, nil
	}
	event, ok := identifier(find(object, path))
	if !ok {
		return "", false, unreadable("there is no event's name at %s", path)
	}
	return event, slices.Contains(h.webhook.Events, event), nil
}

func (h *Hook) order(object map[string]any, event string) (Order, error) {
	id, ok := identifier(find(object, h.webhook.OrderPath))
	if !ok {
		return Order{}, unreadable("there is no order's ID of 1 to 200 characters at %s", h.webhook.OrderPath)
	}
	order := Order{ID: id, Event: event}
	if path := h.webhook.ToPath; path != "" {
		if order.To, ok = address(find(object, path)); !ok {
			return Order{}, unreadable("there is no single mail address at %s", path)
		}
	}
	for _, f := range h.form.Def().Fields {
		values, ok := valuesOf(find(object, f.Path), f.Kind == enquiry.Multi)
		if !ok {
			return Order{}, unreadable("there is an object or a list at %s, which the field %s does not take", f.Path, f.Name)
		}
		order.Raw.Add(f.Name, values...)
	}
	return order, nil
}

func unverified(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnverified, fmt.Sprintf(format, args...))
}

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreadable, fmt.Sprintf(format, args...))
}
