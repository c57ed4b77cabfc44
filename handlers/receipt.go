package handlers

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
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
		return s.answer(c, nil, answer{code: malformed, detail: err.Error()})
	}
	row, err := s.ledger.Submission(c.Request().Context(), id)
	switch {
	case errors.Is(err, ledger.ErrUnseen):
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
	s.note(c, sub, answer{code: is}, e)
	if !wantsPage(c.Request()) {
		b := s.bodyOf(sub, answer{code: is}, e, status)
		b.CreatedAt, b.UpdatedAt = stamp(row.CreatedAt), stamp(row.UpdatedAt)
		return s.writeJSON(c, status, b)
	}
	view := s.receiptView(row, e)
	return s.page(c, status, sub.form, func(w io.Writer) error { return s.pages.Receipt(w, view) })
}

func (s *Server) receiptView(row ledger.Submission, e entry) web.Receipt {
	view := web.Receipt{
		Outcome: string(e.outcome), Heading: e.title, Text: e.sentence,
		Reference: string(row.Reference), Sent: row.CreatedAt, Changed: row.UpdatedAt, ID: row.ID.String(),
	}
	form := s.forms[row.Form]
	if form == nil {
		return view
	}
	def := form.Def()
	view.Form, view.Contact = def.Title, def.Contact
	switch {
	case row.Free() && !row.RefusedForGood():
		view.Links = sendAgain(def.Name, row.ID)
	case e.outcome == NotSent, e.outcome == Accepted:
		view.Links = []web.Link{{Text: "Write a new message", URL: "/f/" + def.Name}}
	}
	return view
}

// sendAgain leads back to the form under the same ID: as the ledger knows that
// nothing was sent, the same words are sent once.
func sendAgain(form string, id uuid.UUID) []web.Link {
	return []web.Link{
		{Text: "Send it again", URL: "/f/" + form + "?" + idField + "=" + id.String(), Primary: true},
		{Text: "Write a new message", URL: "/f/" + form},
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
