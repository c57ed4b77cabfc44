package handlers

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/handlers/decode"
	"formledger/ledger/enquiry"
)

const (
	idField  = "submission_id" // in the body, so that no preflight is needed
	idHeader = "Idempotency-Key"
)

// receive takes a request apart: form, origin, size, media type, ID. What comes
// back beside a refusal is as much of the submission as could be read.
func (s *Server) receive(c echo.Context) (*submission, *answer) {
	sub := &submission{html: wantsPage(c.Request()), sender: senderOf(c)}
	sub.form = s.forms[c.Param("form")]
	if sub.form == nil {
		return sub, &answer{code: unknownForm}
	}
	if !s.allowedOrigin(sub.form, c.Request()) {
		return sub, &answer{code: badOrigin}
	}
	body, refused := readBody(c.Request(), sub.form.Def().MaxBody)
	if refused != nil {
		return sub, refused
	}
	raw, err := decode.Body(c.Request().Header.Get("Content-Type"), body, decode.Limits{Fields: fieldLimit(sub.form)})
	if err != nil {
		return sub, undecodable(sub.form, err)
	}
	sub.raw = raw
	sub.id, err = submissionID(raw, c.Request().Header)
	if err != nil {
		return sub, undecodable(sub.form, err)
	}
	return sub, nil
}

// fieldLimit leaves room for what is outside the enquiry: the ID and the fields
// that begin with an underscore.
func fieldLimit(f *enquiry.Form) int { return f.Def().MaxFields + 10 }

// readBody reads a body up to a limit. One that is too large is read on for a
// while and thrown away: a browser that is still sending when the connection
// closes would report a network failure instead of our answer.
func readBody(r *http.Request, limit int64) ([]byte, *answer) {
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, &answer{code: malformed, detail: enquiry.Sentence{Key: "malformed_cut"}}
	}
	if int64(len(body)) > limit {
		_, _ = io.CopyN(io.Discard, r.Body, mostDiscarded)
		return nil, &answer{code: tooLarge, detail: enquiry.Sentence{Key: "too_large_bytes", Args: []string{"limit", strconv.FormatInt(limit, 10)}}}
	}
	return body, nil
}

const mostDiscarded = 4 << 20 // bytes

func undecodable(f *enquiry.Form, err error) *answer {
	a, id := &answer{code: malformed}, idError{}
	switch {
	case errors.As(err, &id):
		a.detail = enquiry.Sentence(id)
		return a
	case errors.Is(err, decode.ErrMediaType):
		a.code = mediaType
	case errors.Is(err, decode.ErrTooManyFields):
		a.code = tooLarge
		a.detail = enquiry.Sentence{Key: "too_large_fields", Args: []string{"limit", strconv.Itoa(f.Def().MaxFields)}}
		return a
	}
	a.reason = err.Error()
	return a
}

// submissionID reads the client's ID from the body or from the header. No ID is
// uuid.Nil, and no error.
func submissionID(raw enquiry.Raw, h http.Header) (uuid.UUID, error) {
	for _, name := range raw.Names() {
		if name != idField && strings.EqualFold(name, idField) {
			return uuid.Nil, idError{Key: "malformed_id_name", Args: []string{"sent", name, "name", idField}}
		}
	}
	values := slices.Clone(raw.Values(idField))
	for _, key := range h.Values(idHeader) {
		values = append(values, strings.Trim(key, `" `))
	}
	id := uuid.Nil
	for _, v := range values {
		if v == "" {
			continue
		}
		next, err := parseID(v)
		if err != nil {
			return uuid.Nil, err
		}
		if id != uuid.Nil && id != next {
			return uuid.Nil, idError{Key: "malformed_two_ids", Args: []string{"field", idField, "header", idHeader}}
		}
		id = next
	}
	return id, nil
}

// parseID takes the one usual spelling of a UUID, in either case. All zeros and
// all ones are what broken clients send, and many would share them.
func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil || id == uuid.Max {
		return uuid.Nil, idError{Key: "malformed_id", Args: []string{"example", "0198c5a2-7b1e-7c3d-9a4f-5e6d7c8b9a01"}}
	}
	return id, nil
}

// idError is why an ID is not taken: a sentence of the answers.
type idError enquiry.Sentence

func (e idError) Error() string { return e.Key }

// wantsPage reports whether the answer is to be HTML: only if the client names
// it, as browsers do when a form is posted without a script.
func wantsPage(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}
