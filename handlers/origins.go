package handlers

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"formledger/ledger/enquiry"
)

// allowedOrigin reports whether a request may post to a form. An absent Origin
// is taken: plain form posts of older browsers and servers send none.
func (s *Server) allowedOrigin(f *enquiry.Form, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || s.ownOrigin(origin, r) {
		return true
	}
	allowed := f.Def().Origins
	return slices.Contains(allowed, origin) || (slices.Contains(allowed, "*") && origin != "null")
}

// ownOrigin is the origin of the hosted form.
func (s *Server) ownOrigin(origin string, r *http.Request) bool {
	if origin == s.publicURL {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == r.Host
}

// crossOrigin puts the CORS headers of an allowed origin on every answer of a
// form, errors and panics too: a page would read an answer without them as a
// network failure, and its visitor would send again.
func (s *Server) crossOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Add("Vary", "Origin")
		origin := c.Request().Header.Get("Origin")
		form := s.forms[c.Param("form")]
		if origin != "" && form != nil && s.allowedOrigin(form, c.Request()) {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Location, Retry-After, Idempotent-Replayed")
		}
		return next(c)
	}
}

// preflight answers a browser that asks before a post with unusual headers.
func (s *Server) preflight(c echo.Context) error {
	form := s.forms[c.Param("form")]
	if form == nil {
		return s.answer(c, nil, answer{code: unknownForm})
	}
	if !s.allowedOrigin(form, c.Request()) {
		return s.answer(c, nil, answer{code: badOrigin})
	}
	h := c.Response().Header()
	h.Set("Access-Control-Allow-Methods", "POST")
	h.Set("Access-Control-Allow-Headers", "Accept, Content-Type, "+idHeader)
	h.Set("Access-Control-Max-Age", "7200")
	return c.NoContent(http.StatusNoContent)
}
