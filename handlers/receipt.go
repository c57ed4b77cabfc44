package handlers

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/web"
)

// receipt says what became of an enquiry, now: a page, or JSON. It can be read
// from anywhere, because the ID is the key. It never shows content, nor the
// relay's own words.
func (s *Server) receipt(c echo.Context) error {
	c.Response().Header().Set("Access-Control-Allow-Origin", "*")
	id, err := parseID(c.Param("id"))
	if err != nil {
		return s.answer(c, nil, *undecodable(nil, err))
	}
	row, err := s.ledger.Submission(c.Request().Context(), id)
	_, order := s.hooks[row.Form] // an order is its provider's business, and nobody else's
	switch {
	case errors.Is(err, ledger.ErrUnseen), order:
		return s.showReceipt(c, ledger.Submission{ID: id, Reference: ledger.ReferenceOf(id)}, code(Unseen))
	case err != nil:
		return s.answer(c, nil, s.unreachable(err))
	default:
		return s.showReceipt(c, row, recorded(row))
	}
}

func (s *Server) showReceipt(c echo.Context, row ledger.Submission, is code) error {
	e := catalogue[is]
	status := http.StatusOK
	if e.outcome == Unseen {
		status = http.StatusNotFound
	}
	sub := &submission{form: s.forms[row.Form], id: row.ID}
	s.hear(c, sub)
	s.note(c, sub, answer{code: is}, e)
	if !wantsPage(c.Request()) {
		b := s.bodyOf(sub, answer{code: is}, e, status)
		b.CreatedAt, b.UpdatedAt = stamp(row.CreatedAt), stamp(row.UpdatedAt)
		return s.writeJSON(c, status, b)
	}
	view := receiptView(sub, row, answer{code: is}, e)
	return s.page(c, status, sub.form, func(w io.Writer) error { return s.pages.Receipt(w, view) })
}

func receiptView(sub *submission, row ledger.Submission, a answer, e entry) web.Receipt {
	view := web.Receipt{
		Lang: sub.lang.Lang, Outcome: string(e.outcome),
		Reference: string(row.Reference), Sent: row.CreatedAt, Changed: row.UpdatedAt, ID: row.ID.String(),
	}
	view.Heading, view.Text = a.said(sub.lang)
	if sub.form == nil {
		return view
	}
	def := sub.form.Def()
	view.Form, view.Contact = def.Title, def.Contact
	switch {
	case row.Free() && !row.RefusedForGood():
		view.Links = sendAgain(sub)
	case e.outcome == NotSent && e.safeNewID, e.outcome == Accepted:
		view.Links = []web.Link{writeNew(sub)}
	}
	return view
}

// sendAgain leads back to the form under the same ID: as the ledger knows that
// nothing was sent, the same words are sent once.
func sendAgain(sub *submission) []web.Link {
	again := "/f/" + sub.form.Def().Name + "?" + idField + "=" + sub.id.String()
	return []web.Link{
		{Text: sub.lang.Text("page.send_again"), URL: inLanguage(again, "&", sub.asked), Primary: true},
		writeNew(sub),
	}
}

func writeNew(sub *submission) web.Link {
	return web.Link{Text: sub.lang.Text("page.write_new"), URL: inLanguage("/f/"+sub.form.Def().Name, "?", sub.asked)}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
