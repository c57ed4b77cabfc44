package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"formledger/ledger"
)

// serving is an HTTP server that stops in order.
type serving struct {
	server *http.Server
	reload func() error                // reads keys again
	drain  func()                      // nil, or called before it takes no more requests
	finish func(context.Context) error // waits for what requests have begun
	broken <-chan struct{}             // the database has lost its footing
	grace  time.Duration               // for everything that is under way
	log    *slog.Logger
}

// until serves until the context ends, then stops in order: no new requests,
// running ones and what they began finished. It ends at once, with
// ledger.ErrBroken, when the database is broken. A SIGHUP reloads.
func (s serving) until(ctx context.Context, stop func(), listener net.Listener) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	failed := make(chan error, 1)
	go func() { failed <- s.server.Serve(listener) }()
	for {
		select {
		case <-hangups:
			s.reloads()
		case <-ctx.Done():
			stop() // from here on a second signal ends the process at once
			s.log.Info("stopping: running sends are finished first")
			return s.end()
		case <-s.broken:
			return fmt.Errorf("%w; the process ends, and its restart recovers", ledger.ErrBroken)
		case err := <-failed:
			return errors.Join(err, s.end())
		}
	}
}

func (s serving) reloads() {
	if err := s.reload(); err != nil {
		s.log.Error("keys could not be read again, so the old ones stay in use", "error", err.Error())
		return
	}
	s.log.Info("keys are read again")
}

func (s serving) end() error {
	if s.drain != nil {
		s.drain()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("waiting for running requests: %w", err)
	}
	return s.finish(ctx)
}
