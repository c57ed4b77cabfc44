package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// logKey is where an answer leaves what the log says of it.
const logKey = "formledger.log"

// logged writes a line for each request: the route as it is registered, never
// the path, which may hold an ID; no content, no address.
func (s *Server) logged(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.now()
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		line := []any{"method", c.Request().Method, "route", c.Path(), "status", c.Response().Status,
			"ms", s.now().Sub(start).Milliseconds()}
		if more, ok := c.Get(logKey).([]any); ok {
			line = append(line, more...)
		}
		s.log.Info("request", line...)
		return nil
	}
}

// noStore keeps answers out of every cache.
func (s *Server) noStore(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Cache-Control", "no-store")
		return next(c)
	}
}

// cacheable lets the visitor's own browser keep the hosted form for its back
// button, with the words in it and the same ID; a browser forgets what is
// no-store. Nobody else may keep it, as the ID is this visitor's.
func (s *Server) cacheable(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Cache-Control", "private, no-cache")
		return next(c)
	}
}

// recovered turns a panic into an answer, so that the headers already set for
// the page that asked stay on it.
func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p) // net/http's own way of hanging up
			}
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}()
		return next(c)
	}
}

// handleError answers what no handler answered.
func (s *Server) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	a := answer{code: broken}
	var e *echo.HTTPError
	switch {
	case errors.As(err, &e) && e.Code == http.StatusNotFound:
		a.code = notFound
	case errors.As(err, &e) && e.Code == http.StatusMethodNotAllowed:
		a.code = wrongMethod
	case errors.As(err, new(*net.OpError)):
		s.log.Info("the visitor hung up", "route", c.Path()) // likewise
	default:
		s.log.Error("request failed", "route", c.Path(), "error", err.Error())
	}
	if s.answer(c, nil, a) != nil {
		s.log.Info("the visitor hung up", "route", c.Path()) // the error names the client's address
	}
}

// discardAddresses keeps net/http's own complaints, which name the client's
// address, out of the log; only that there was one is said.
type discardAddresses struct{ slog.Handler }

func (d discardAddresses) Handle(ctx context.Context, r slog.Record) error {
	return d.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, "connection trouble", r.PC))
}
