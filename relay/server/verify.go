package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"formledger/relay/signed"
)

// verified is a call that one of the callers has signed, headers and body.
type verified struct {
	signed.Opened
	caller *caller
	body   []byte
	at     time.Time // when it had come in whole
}

// verify finds out who calls. The body is read only for somebody who holds a
// key, so that nobody else can make the relay hold anything. It fails with
// signed.ErrUnverified, or with an unsigned answer.
func (s *Server) verify(w http.ResponseWriter, r *http.Request, path string, tag signed.Tag) (verified, error) {
	var by *caller
	opened, err := signed.OpenCall(r, s.authorityOf(r), func(keyID string) (key signed.Key, ok bool) {
		by, key, ok = s.find(keyID)
		return key, ok
	})
	if err != nil {
		return verified{}, err
	}
	if opened.Tag != tag || opened.Path != path {
		return verified{}, fmt.Errorf("%w: the tag %s is not for this path", signed.ErrUnverified, opened.Tag)
	}
	v := verified{Opened: opened, caller: by}
	if err := s.canAnswer(v); err != nil {
		return v, err
	}
	if v.body, err = readBody(w, r); err != nil {
		return v, err
	}
	v.at = s.now()
	return v, v.CheckBody(v.body)
}

// authorityOf is the host that a call was meant for.
func (s *Server) authorityOf(r *http.Request) string {
	if s.authority != "" {
		return s.authority
	}
	return signed.Authority(r.Host, r.TLS != nil)
}

// find knows every caller's keys that are valid now.
func (s *Server) find(keyID string) (*caller, signed.Key, bool) {
	c, known := (*s.callers.Load())[keyID]
	if !known {
		return nil, signed.Key{}, false
	}
	key, ok := c.Keys.Find(keyID, s.now())
	return c, key, ok
}

// canAnswer refuses a call whose answer could not be signed: to send, and not to
// be able to say so, would leave the caller in doubt.
func (s *Server) canAnswer(v verified) error {
	if err := v.caller.Keys.SignAnswer(http.Header{}, http.StatusOK, nil, v.Opened, s.now()); err != nil {
		return unsigned{http.StatusServiceUnavailable, "The relay has no valid key to sign its answer with; nothing was done."}
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, signed.MaxCall))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, unsigned{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is longer than %d bytes.", signed.MaxCall)}
	case err != nil:
		return nil, unsigned{http.StatusBadRequest, "The body did not come in whole."}
	}
	return body, nil
}
