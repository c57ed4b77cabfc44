// Package handlers is the visitor's side: the journey of an enquiry (submit.go
// reads it from top to bottom), the hosted form, and the receipts. It is the
// only package that knows Echo.
package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
	"formledger/web"
)

// Config is what a Server works with. All fields are required but PublicURL and
// TrustedProxies.
type Config struct {
	Forms  []*enquiry.Form
	Hooks  []Hook // the forms that take webhooks
	Ledger ledger.Ledger
	Keys   *ledger.KeyRing
	Hold   *relay.Hold
	// Courier sends what the forms of policies queue and retry keep.
	Courier *relay.Courier
	Timing  relay.Timing
	// PublicURL is where visitors reach the server, without a final slash. If it
	// is empty, receipts are named by their path.
	PublicURL string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []*net.IPNet
	Now            func() time.Time
	Log            *slog.Logger
}

// Server answers visitors.
type Server struct {
	forms     map[string]*enquiry.Form // that visitors fill in
	hooks     map[string]Hook
	ledger    ledger.Ledger
	keys      *ledger.KeyRing
	hold      *relay.Hold
	courier   *relay.Courier
	timing    relay.Timing
	publicURL string
	now       func() time.Time
	log       *slog.Logger
	pages     *web.Pages
	assets    *web.Assets
	flights   *flights
	draining  atomic.Bool
	echo      *echo.Echo
}

// New makes a server.
func New(c Config) (*Server, error) {
	pages, err := web.New()
	if err != nil {
		return nil, fmt.Errorf("reading the pages: %w", err)
	}
	assets, err := web.NewAssets()
	if err != nil {
		return nil, fmt.Errorf("reading the browser's client: %w", err)
	}
	s := &Server{
		forms: map[string]*enquiry.Form{}, hooks: map[string]Hook{}, ledger: c.Ledger, keys: c.Keys, hold: c.Hold, courier: c.Courier, timing: c.Timing,
		publicURL: c.PublicURL, now: c.Now, log: c.Log,
		pages: pages, assets: assets, flights: newFlights(), echo: echo.New(),
	}
	for _, f := range c.Forms {
		s.forms[f.Def().Name] = f
	}
	for _, h := range c.Hooks {
		s.hooks[h.Form.Def().Name] = h
	}
	s.route(c.TrustedProxies)
	return s, nil
}

func (s *Server) route(trusted []*net.IPNet) {
	s.echo.IPExtractor = clientAddress(trusted)
	s.echo.HTTPErrorHandler = s.handleError
	s.echo.Use(s.logged, s.noStore, s.recovered)
	s.echo.POST("/f/:form", s.submit, s.crossOrigin)
	s.echo.POST("/hooks/:form", s.hook)
	s.echo.OPTIONS("/f/:form", s.preflight, s.crossOrigin)
	look := []string{http.MethodGet, http.MethodHead}
	s.echo.Match(look, "/f/:form", s.hosted, s.cacheable)
	s.echo.Match(look, "/receipts/:id", s.receipt)
	s.echo.Match(look, "/js/:version/*", s.asset)
	s.echo.Match(look, "/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "live\n") })
	s.echo.Match(look, "/readyz", s.ready)
}

// clientAddress finds the visitor's address: the right-most one in
// X-Forwarded-For that no proxy of ours has, and only if a proxy of ours sent
// the request.
func clientAddress(trusted []*net.IPNet) echo.IPExtractor {
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, n := range trusted {
		trust = append(trust, echo.TrustIPRange(n))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// HTTPServer is the server with every limit set: Echo's own has none.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(discardAddresses{s.log.Handler()}, slog.LevelWarn),
	}
}

// Drain makes /readyz say that no more work should be sent here.
func (s *Server) Drain() { s.draining.Store(true) }

// Finish waits for the sends that are under way. To be called once the server
// takes no more requests.
func (s *Server) Finish(ctx context.Context) error {
	select {
	case <-s.flights.drained():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) ready(c echo.Context) error {
	if s.draining.Load() {
		return c.String(http.StatusServiceUnavailable, "stopping\n")
	}
	if err := s.ledger.Ping(c.Request().Context()); err != nil {
		s.log.Error("not ready", "error", err.Error())
		return c.String(http.StatusServiceUnavailable, "the ledger does not answer\n")
	}
	return c.String(http.StatusOK, "ready\n")
}
