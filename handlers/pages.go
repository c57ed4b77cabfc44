package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/web"
)

// answerPage answers a form that was posted without a script. What is recorded
// is shown on the receipt's own page, which is safe to reload; everything else
// gives the form back with the visitor's words.
func (s *Server) answerPage(c echo.Context, sub *submission, a answer, e entry) error {
	switch {
	case (e.outcome == Accepted || e.outcome == Queued) && sub.form.Def().ThanksURL != "":
		return c.Redirect(http.StatusSeeOther, sub.form.Def().ThanksURL)
	case e.outcome == Accepted, e.outcome == Queued, e.outcome == Processing, e.outcome == Uncertain:
		return c.Redirect(http.StatusSeeOther, receiptPath(sub))
	case sub.form == nil || len(sub.raw.Names()) == 0:
		return s.refusalPage(c, sub, a, e)
	}
	id, err := s.idForAnotherTry(sub, e)
	if err != nil {
		return err
	}
	problems := explained(sub.lang, a.problems)
	view := formView(sub, id, problems)
	view.Notice = notice(sub, a, e, problems)
	if e.outcome == Conflict {
		view.Reference = string(ledger.ReferenceOf(sub.id)) // of the earlier message
	}
	return s.formPage(c, e.status, sub.form, view)
}

// idForAnotherTry is the ID under which the form is shown again: the same one,
// unless the words belong to another message. None stays none, as the next post
// derives it: a fresh one here would make a duplicate of what was sent before.
func (s *Server) idForAnotherTry(sub *submission, e entry) (uuid.UUID, error) {
	if e.outcome == Conflict {
		return uuid.NewV7()
	}
	return sub.id, nil
}

// refusalPage says why a request was not taken when there are no words to give
// back.
func (s *Server) refusalPage(c echo.Context, sub *submission, a answer, e entry) error {
	view := web.Message{Lang: sub.lang.Lang}
	view.Heading, view.Text = a.said(sub.lang)
	if sub.form != nil {
		view.Title, view.Contact = sub.form.Def().Title, sub.form.Def().Contact
	}
	return s.page(c, e.status, sub.form, func(w io.Writer) error { return s.pages.Message(w, view) })
}

// notice tells above the form what happened.
func notice(sub *submission, a answer, e entry, problems []fieldProblem) *web.Notice {
	n := &web.Notice{Kind: "refused"}
	n.Heading, n.Text = a.said(sub.lang)
	switch e.outcome {
	case Invalid:
		n.Kind = "invalid"
	case NotSent:
		n.Kind = "not_sent"
	case Conflict:
		n.Kind = "conflict"
		n.Links = []web.Link{{Text: sub.lang.Text("page.earlier"), URL: receiptPath(sub)}}
	}
	for _, p := range problems {
		n.Problems = append(n.Problems, web.NoticeProblem{Field: p.Field, Text: p.Message})
	}
	return n
}

func receiptPath(sub *submission) string {
	return inLanguage("/receipts/"+sub.id.String(), "?", sub.asked)
}

// hosted is the form's own page, with an ID minted here. It also takes the ID
// of an enquiry that was not sent, from the receipt's page.
func (s *Server) hosted(c echo.Context) error {
	form := s.forms[c.Param("form")]
	if form == nil {
		return s.answer(c, nil, answer{code: unknownForm})
	}
	sub := &submission{form: form, html: wantsPage(c.Request())}
	s.hear(c, sub)
	if c.QueryParams().Has(pageMark) { // the address of a page that gave words back, opened anew
		return c.Redirect(http.StatusSeeOther, inLanguage("/f/"+form.Def().Name, "?", sub.asked))
	}
	if id, err := parseID(c.QueryParam(idField)); err == nil {
		return s.hostedAgain(c, sub, id)
	}
	return s.hostedFresh(c, sub)
}

func (s *Server) hostedFresh(c echo.Context, sub *submission) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	return s.formPage(c, http.StatusOK, sub.form, formView(sub, id, nil))
}

// hostedAgain is the form for an enquiry that may be sent again; whoever has no
// need to sees what became of it. An ID that was never seen is not taken from a
// link, whose author could then read the receipt.
func (s *Server) hostedAgain(c echo.Context, sub *submission, id uuid.UUID) error {
	row, err := s.ledger.Submission(c.Request().Context(), id)
	switch {
	case errors.Is(err, ledger.ErrUnseen):
		return s.hostedFresh(c, sub)
	case err != nil:
		return s.answer(c, sub, s.unreachable(err))
	}
	sub.id = id
	if !row.Free() || row.Form != sub.form.Def().Name {
		return c.Redirect(http.StatusSeeOther, receiptPath(sub))
	}
	view := formView(sub, id, nil)
	view.Notice = &web.Notice{Kind: "info", Heading: sub.lang.Text("page.again_title"), Text: sub.lang.Text("page.again_detail")}
	return s.formPage(c, http.StatusOK, sub.form, view)
}

func (s *Server) formPage(c echo.Context, status int, f *enquiry.Form, view web.Form) error {
	return s.page(c, status, f, func(w io.Writer) error { return s.pages.Form(w, view) })
}

// formView fills a form's page with what was typed.
func formView(sub *submission, id uuid.UUID, problems []fieldProblem) web.Form {
	f, raw, def := sub.form, sub.raw, sub.form.Def()
	view := web.Form{
		Lang: sub.lang.Lang, Title: def.Title, Action: hostedAction(sub), Contact: def.Contact,
	}
	if id != uuid.Nil {
		view.SubmissionID, view.Reference = id.String(), string(ledger.ReferenceOf(id))
	}
	declared := map[string]bool{idField: true}
	for _, d := range def.Fields {
		declared[d.Name] = true
		view.Fields = append(view.Fields, fieldView(f, d, raw, problems))
	}
	for _, name := range raw.Names() {
		if !declared[name] && !strings.HasPrefix(name, "_") {
			view.Further = append(view.Further, web.Further{Name: name, Values: raw.Values(name)})
		}
	}
	return view
}

// hostedAction is where the hosted form posts to. It differs from the page's own
// address: a browser drops a page from its cache when something is posted to the
// same address (RFC 9111, section 4.4), and its back button would then show the
// visitor's words under a new ID.
func hostedAction(sub *submission) string {
	return inLanguage("/f/"+sub.form.Def().Name+"?"+pageMark, "&", sub.asked)
}

const pageMark = "page"

func fieldView(f *enquiry.Form, d enquiry.Field, raw enquiry.Raw, problems []fieldProblem) web.Field {
	view := web.Field{
		Name: d.Name, Kind: string(d.Kind), Label: d.Label, Required: f.Required(d.Name),
		Value: raw.First(d.Name),
	}
	for _, o := range d.Options {
		view.Options = append(view.Options, web.Option{Value: o, Selected: slices.Contains(raw.Values(d.Name), o)})
	}
	for _, p := range problems {
		if p.Field == d.Name && view.Error == "" {
			view.Error = p.Message
		}
	}
	if d.Kind == enquiry.Checkbox && view.Value != "" {
		view.Value = "yes"
	}
	return view
}

// page writes a page that was rendered whole.
func (s *Server) page(c echo.Context, status int, f *enquiry.Form, render func(io.Writer) error) error {
	var page bytes.Buffer
	if err := render(&page); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", contentPolicy(f))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	return c.HTMLBlob(status, page.Bytes())
}

// contentPolicy lets a page use its own style, our script, and its own form. A
// browser checks the redirect after a post against form-action too, so the
// form's thank-you page is named there (CSP 3, section 6.4.2).
func contentPolicy(f *enquiry.Form) string {
	action, ancestors := "'self'", "'self'"
	if f != nil {
		if u, err := url.Parse(f.Def().ThanksURL); err == nil && u.Host != "" {
			action += " " + u.Scheme + "://" + u.Host
		}
		for _, o := range f.Def().Origins {
			if o != "null" {
				ancestors += " " + o
			}
		}
	}
	return "default-src 'none'; style-src " + web.StyleHash() + "; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action " + action +
		"; frame-ancestors " + ancestors
}
