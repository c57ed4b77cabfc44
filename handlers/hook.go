package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
	"formledger/web"
)

// hookRefusal is what a provider is told of a webhook that was not taken, in
// English: no visitor reads it. Nothing is recorded then.
type hookRefusal struct {
	status int
	code   code
	detail string
}

var (
	unverified = hookRefusal{http.StatusUnauthorized, "unverified", "The signature is missing or wrong. Please compare the secret at both ends."}
	outOfTime  = hookRefusal{http.StatusBadRequest, "out_of_time", "The signature is right, but its time is too long ago, or ahead of the clock here."}
	unreadable = hookRefusal{http.StatusUnprocessableEntity, "unreadable", "The signature is right, but the body is not as the form's paths say."}
)

// Hook is a form that takes verified webhooks instead of visitors' posts.
type Hook struct {
	Form   *enquiry.Form
	Intake *intake.Hook
}

// hook is the journey of an order: verified first, then as any enquiry. Its ID is
// derived from the order, so that two events of one order are one delivery.
func (s *Server) hook(c echo.Context) error {
	h, known := s.hooks[c.Param("form")]
	if !known {
		return s.answerHook(c, nil, answer{code: unknownForm})
	}
	sub := &submission{form: h.Form}
	body, refused := readBody(c.Request(), h.Form.Def().MaxBody)
	if refused != nil {
		return s.answerHook(c, sub, *refused)
	}
	order, err := h.Intake.Open(c.Request().Header, body, s.now())
	switch {
	case err != nil:
		return s.refuseHook(c, h.Form, err)
	case order.Ignored:
		return c.JSON(http.StatusOK, hookBody{Outcome: "ignored", Detail: "This event is no order; nothing was recorded."})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), s.timing.Answer)
	defer cancel()
	return s.answerHook(c, sub, s.take(ctx, sub, h, order))
}

// refuseHook says why a webhook was not taken, before anything was recorded.
func (s *Server) refuseHook(c echo.Context, f *enquiry.Form, err error) error {
	s.log.Warn("webhook refused", "form", f.Def().Name, "error", err.Error())
	r := unreadable
	if errors.Is(err, intake.ErrUnverified) {
		r = unverified
	} else if errors.Is(err, intake.ErrStale) {
		r = outOfTime
	}
	return c.JSON(r.status, hookBody{Code: r.code, Detail: r.detail})
}

// take delivers a verified order, once.
func (s *Server) take(ctx context.Context, sub *submission, h Hook, order intake.Order) answer {
	e, problems := h.Form.Check(order.Raw)
	if len(problems) > 0 {
		s.log.Error("a verified order is not as the form's fields say", "form", h.Form.Def().Name, "field", problems[0].Field, "problem", problems[0].Code)
		return answer{code: code(Invalid), problems: problems}
	}
	sub.enquiry = e
	if err := sub.addressed(h, order); err != nil {
		s.log.Error("the template of a form cannot be filled in", "form", h.Form.Def().Name, "error", err.Error())
		return answer{code: broken}
	}
	if err := s.identifyOrder(ctx, sub, order.ID); err != nil {
		return s.unreachable(err)
	}
	a := s.deliver(ctx, sub)
	if a.code == code(Conflict) {
		s.dispute(ctx, sub)
	}
	return a
}

// addressed makes the customer's address and the mail's text part of the order.
// The address is hashed too: a repeat with another one is another delivery.
func (sub *submission) addressed(h Hook, order intake.Order) error {
	sub.canonical = sub.enquiry.Canonical()
	if order.To != "" {
		sub.to = []string{order.To}
		sub.canonical = append(sub.canonical, "to:"+strconv.Itoa(len(order.To))+":"+order.To...)
	}
	text, ok, err := h.Intake.Text(sub.enquiry)
	if ok && err == nil {
		sub.text = text
	}
	return err
}

// identifyOrder derives the submission's ID from the form and the order, keyed, so
// that nobody else can name it. Rows from before a rotation of the keys were
// derived under an older one.
func (s *Server) identifyOrder(ctx context.Context, sub *submission, order string) error {
	for key := s.keys.Len() - 1; key >= 0; key-- {
		sub.id = s.keys.DeriveID(key, 0, []byte("formledger order v1"), []byte(sub.form.Def().Name), []byte(order))
		if key == 0 {
			return nil
		}
		if _, err := s.ledger.Submission(ctx, sub.id); !errors.Is(err, ledger.ErrUnseen) {
			return err
		}
	}
	return nil
}

// dispute puts an order before the operator that came again with other content.
// A provider is no stranger: something is wrong with the first or the second.
func (s *Server) dispute(ctx context.Context, sub *submission) {
	e := ledger.Event{Submission: sub.id, At: s.now(), Kind: ledger.EventDisputed, Actor: ledger.ActorSystem, Cause: "order_changed"}
	if err := s.ledger.Dispute(ctx, e); err != nil {
		s.log.Error("a changed order could not be put before the operator", "reference", ledger.ReferenceOf(sub.id), "error", err.Error())
	}
}

// hookBody is what a provider is told: enough for its log, and no ID, as whoever
// has that could read the receipt.
type hookBody struct {
	Outcome   Outcome          `json:"outcome,omitempty"`
	Code      code             `json:"code,omitempty"`
	Reference ledger.Reference `json:"reference,omitempty"`
	Detail    string           `json:"detail"`
}

// answerHook answers a provider: 2xx once the mail is accepted or, under queue,
// stored; anything else makes the provider send the webhook again.
func (s *Server) answerHook(c echo.Context, sub *submission, a answer) error {
	e := catalogue[a.code]
	b := hookBody{Outcome: e.outcome, Code: a.code}
	_, b.Detail = a.said(s.pages.Texts().Lookup(web.English))
	if sub != nil {
		s.note(c, sub, a, e)
		if sub.id != uuid.Nil {
			b.Reference = ledger.ReferenceOf(sub.id)
		}
	}
	status := e.status
	switch {
	case e.outcome == Accepted:
		status = http.StatusOK // some providers count nothing else as delivered, not even 201
	case e.outcome == Processing, e.outcome == Queued && sub.form.Def().Policy == string(ledger.Retry):
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "60")
	}
	return c.JSON(status, b)
}
