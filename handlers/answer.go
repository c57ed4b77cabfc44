package handlers

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/ledger/enquiry"
)

// answer is what the journey came to: an entry of the catalogue, and what is
// particular to this request.
type answer struct {
	code     code
	detail   enquiry.Sentence // instead of the catalogue's sentence
	reason   string           // why the body could not be decoded, in English
	problems []enquiry.Problem
	replayed bool // nothing was done now: this is the recorded outcome
}

// body is an answer's JSON: problem details (RFC 9457) with members of our own,
// which stand in successful answers too.
type body struct {
	Type      string           `json:"type,omitempty"`
	Title     string           `json:"title,omitempty"`
	Status    int              `json:"status,omitempty"`
	Detail    string           `json:"detail"`
	Outcome   Outcome          `json:"outcome,omitempty"`
	ID        string           `json:"id,omitempty"`
	Reference ledger.Reference `json:"reference,omitempty"`
	Receipt   string           `json:"receipt,omitempty"`
	Retryable bool             `json:"retryable"`
	SafeNewID bool             `json:"safe_new_id"`
	Contact   string           `json:"contact,omitempty"`
	Errors    []fieldProblem   `json:"errors,omitempty"`
	CreatedAt string           `json:"created_at,omitempty"`
	UpdatedAt string           `json:"updated_at,omitempty"`
}

// answer writes the answer to a post, as a page or as JSON. sub may be nil or
// incomplete.
func (s *Server) answer(c echo.Context, sub *submission, a answer) error {
	if sub == nil {
		sub = &submission{html: wantsPage(c.Request())}
	}
	s.hear(c, sub)
	e := catalogue[a.code]
	s.note(c, sub, a, e)
	if e.retryAfter > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retryAfter.Seconds()))))
	}
	if sub.html {
		return s.answerPage(c, sub, a, e)
	}
	status := e.status
	if e.outcome == Accepted {
		c.Response().Header().Set("Location", s.receiptURL(sub.id))
		if a.replayed {
			status = http.StatusOK
		}
	}
	if a.replayed {
		c.Response().Header().Set("Idempotent-Replayed", "true")
	}
	return s.writeJSON(c, status, s.bodyOf(sub, a, e, status))
}

func (s *Server) bodyOf(sub *submission, a answer, e entry, status int) body {
	b := body{Outcome: e.outcome, Retryable: e.retryable, SafeNewID: e.safeNewID, Errors: explained(sub.lang, a.problems)}
	b.Title, b.Detail = a.said(sub.lang)
	if status >= http.StatusBadRequest {
		b.Type, b.Status = problemType(a.code), status
	}
	if sub.form != nil {
		b.Contact = sub.form.Def().Contact
	}
	if sub.id != uuid.Nil {
		b.ID, b.Reference = sub.id.String(), ledger.ReferenceOf(sub.id)
	}
	if sub.id != uuid.Nil && e.outcome != "" && e.outcome != Invalid {
		b.Receipt = s.receiptURL(sub.id)
	}
	return b
}

// problemType names a kind of problem for programs. docs/api.md lists them.
func problemType(c code) string { return "urn:formledger:problem:" + string(c) }

func (s *Server) writeJSON(c echo.Context, status int, b body) error {
	kind := "application/json"
	if b.Type != "" {
		kind = "application/problem+json"
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return c.Blob(status, kind, append(text, '\n'))
}

func (s *Server) receiptURL(id uuid.UUID) string { return s.publicURL + "/receipts/" + id.String() }

// note leaves what the log says of this answer. It holds no content, no address
// and no ID: whoever has the ID can read the receipt.
func (s *Server) note(c echo.Context, sub *submission, a answer, e entry) {
	logged := []any{"code", string(a.code)}
	if sub.form != nil {
		logged = append(logged, "form", sub.form.Def().Name)
	}
	if sub.id != uuid.Nil {
		logged = append(logged, "reference", string(ledger.ReferenceOf(sub.id)))
	}
	if a.replayed {
		logged = append(logged, "replayed", true)
	}
	c.Set(logKey, logged)
}
