package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

// Config is what a Server works with. All fields are required but Authority.
type Config struct {
	Callers []Caller
	Calls   *Calls
	Sender  relay.Sender
	// Authority is the host that callers know the relay by, as signed.Authority
	// spells it. If it is empty, a call's Host stands for it, which a proxy in
	// between must not change.
	Authority   string
	CallTimeout time.Duration // the sender's call as a whole
	Settle      time.Duration // one try to record how the call ended
	Lease       time.Duration // how long a call may be under way
	Now         func() time.Time
	Log         *slog.Logger
}

// Server answers signed calls.
type Server struct {
	callers     atomic.Pointer[map[string]*caller] // by the ID of a key
	calls       *Calls
	sender      relay.Sender
	authority   string
	callTimeout time.Duration
	settle      time.Duration
	lease       time.Duration
	now         func() time.Time
	log         *slog.Logger
	turnedAway  seldom
	underway    underway
}

// New makes a server. It fails if two callers could be taken for each other, if
// one may send nothing or without bounds, and if a lease could end before the
// call that holds it.
func New(c Config) (*Server, error) {
	s := &Server{
		calls: c.Calls, sender: c.Sender, authority: strings.ToLower(c.Authority),
		callTimeout: c.CallTimeout, settle: c.Settle, lease: c.Lease, now: c.Now, log: c.Log,
	}
	if shortest := min(c.CallTimeout, c.Settle, c.Lease); shortest <= 0 {
		return nil, fmt.Errorf("relay: %s is no duration; call, settle and lease have to be longer than nothing", shortest)
	}
	if work := c.CallTimeout + c.Settle; c.Lease <= work {
		return nil, fmt.Errorf("relay: lease is %s; it has to be longer than call and settle together (%s), or two sends of one enquiry could overlap", c.Lease, work)
	}
	if err := s.SetCallers(c.Callers); err != nil {
		return nil, err
	}
	return s, nil
}

// SetCallers puts other callers, or other keys of theirs, in place of those of
// before, for the calls that come from now on. It fails as New does, and then
// changes nothing.
func (s *Server) SetCallers(all []Caller) error {
	byKey, err := callersByKey(all)
	if err != nil {
		return err
	}
	s.callers.Store(&byKey)
	return nil
}

func callersByKey(all []Caller) (map[string]*caller, error) {
	byKey, names := map[string]*caller{}, map[string]bool{}
	for _, c := range all {
		known, err := newCaller(c)
		if err != nil {
			return nil, fmt.Errorf("relay: %w", err)
		}
		if names[c.Name] {
			return nil, fmt.Errorf("relay: there are two callers %q", c.Name)
		}
		names[c.Name] = true
		for _, pair := range c.Keys.Names() {
			id := signed.Key{Name: pair, Direction: signed.Call}.ID()
			if other, taken := byKey[id]; taken {
				return nil, fmt.Errorf("relay: callers %q and %q have the same key %q", other.Name, c.Name, pair)
			}
			byKey[id] = known
		}
	}
	if len(byKey) == 0 {
		return nil, errors.New("relay: there is no caller, so nobody could have anything sent")
	}
	return byKey, nil
}

// Handler serves the relay's paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.serve(mux, signed.PathSend, signed.TagSend, s.send)
	s.serve(mux, signed.PathInquire, signed.TagInquiry, s.inquire)
	s.serve(mux, signed.PathHello, signed.TagHello, s.hello)
	mux.HandleFunc("GET /healthz", s.health)
	return mux
}

func (s *Server) serve(mux *http.ServeMux, path string, tag signed.Tag, answer func(verified) (any, error)) {
	mux.HandleFunc(http.MethodPost+" "+path, func(w http.ResponseWriter, r *http.Request) {
		s.underway.begin()
		defer s.underway.end()
		defer s.recovered(w, path)
		v, err := s.verify(w, r, path, tag)
		var body any
		if err == nil {
			body, err = answer(v)
		}
		if err == nil {
			err = s.acknowledge(w, v, body)
		}
		if err != nil {
			s.turnAway(w, path, v, err)
		}
	})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.calls.Broken():
		sayUnsigned(w, http.StatusServiceUnavailable, "stopping")
	default:
		sayUnsigned(w, http.StatusOK, "live")
	}
}

const readTimeout = 30 * time.Second // of a whole request

// HTTPServer is the server with every limit set. An answer may take as long as
// the tries to record what it says.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + s.settle + s.lease + 2*s.settle,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(discardAddresses{s.log.Handler()}, slog.LevelWarn),
	}
}

// Finish waits for the calls that are under way, or fails with the context's
// error. To be called once the server takes no more requests.
func (s *Server) Finish(ctx context.Context) error {
	select {
	case <-s.underway.none():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
