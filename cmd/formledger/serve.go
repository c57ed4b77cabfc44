package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"formledger/handlers"
	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/desk"
)

const serveHelp = `Run the form server.

Without a configuration it runs a demo form named "contact", whose mail goes
into a folder. With one, see formledger config example.

Flags go before environment variables, and those before the configuration:
  FORMLEDGER_CONFIG             the configuration file
  FORMLEDGER_DATA               as --data
  FORMLEDGER_LISTEN             as --listen
  FORMLEDGER_PUBLIC_URL         as public_url
  FORMLEDGER_TRUSTED_PROXIES    as trusted_proxies, separated by commas
  FORMLEDGER_PAYLOAD_KEYS       the payload keys themselves, or
  FORMLEDGER_PAYLOAD_KEYS_FILE  the file that holds them
  FORMLEDGER_OUTBOX_KEYS        the keys that seal waiting messages, or
  FORMLEDGER_OUTBOX_KEYS_FILE   the file that holds them
  FORMLEDGER_ALERT_SECRET       the secret of [alert], or
  FORMLEDGER_ALERT_SECRET_FILE  the file that holds it
  FORMLEDGER_ALERT_SERVICES     the addresses of the services of [alert], one a line, or
  FORMLEDGER_ALERT_SERVICES_FILE the file that holds them
  FORMLEDGER_MAILBOX_PASSWORD   the password of [mailbox], which the desk searches, or
  FORMLEDGER_MAILBOX_PASSWORD_FILE  the file that holds it
  FORMLEDGER_SMTP_PASSWORD      the password of the mail server, or
  FORMLEDGER_SMTP_PASSWORD_FILE the file that holds it
  FORMLEDGER_RELAY_KEYS         the keys between here and the relay, or
  FORMLEDGER_RELAY_KEYS_FILE    the file that holds them

An interrupt (Ctrl+C) or SIGTERM lets running sends finish; a second one ends
at once, which loses nothing: what was open is then called uncertain. A SIGHUP
reads the keys of [relay] again.`

func newServe(s streams, p *places) *cobra.Command {
	listen := ""
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the form server",
		Long:  serveHelp,
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(*p, listen, s.environ)
			if err != nil {
				return err
			}
			again := func() (config, error) { return load(*p, listen, s.environ) }
			return serve(c.Context(), cfg, again, s)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "`address` to listen on (default \""+defaultListen+"\")")
	return c
}

// serve opens everything in the order in which it is needed, and closes it in
// the reverse order. again reads the configuration once more.
func serve(ctx context.Context, cfg config, again func() (config, error), s streams) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(s.err, nil))
	h, err := open(ctx, cfg, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot listen on %s: %w; another address can be named with --listen", cfg.Listen, err), h.close())
	}
	h.reload = func() error { return reloadKeys(h.sender, again) }
	welcome(s, cfg, listener.Addr())
	if err := h.remindOfRestore(ctx, s.out); err != nil {
		return errors.Join(err, listener.Close(), h.close())
	}
	return h.run(ctx, stop, listener)
}

// house is everything that serve has opened.
type house struct {
	db      *sqlledger.DB
	sender  relay.Sender
	hold    *relay.Hold
	server  *handlers.Server
	courier *relay.Courier
	sweeper *relay.Sweeper
	watcher *desk.Watcher
	// reconciler is nil where there is no relay to ask, or it is off.
	reconciler *reconciler
	reload     func() error
	timing     relay.Timing
	log        *slog.Logger
}

func open(ctx context.Context, cfg config, log *slog.Logger) (*house, error) {
	keys, err := cfg.firstKeys()
	if err != nil {
		return nil, err
	}
	sender, err := cfg.sender()
	if err != nil {
		return nil, err
	}
	db, err := sqlledger.Open(ctx, cfg.ledgerFile(), sqlledger.Options{Log: log})
	if err != nil {
		return nil, err
	}
	h := &house{db: db, sender: sender, timing: cfg.Timing, log: log}
	h.hold = relay.NewHold(db, sender, cfg.Timing, time.Now, rand.Reader, log)
	h.sweeper = newSweeper(db, cfg, log)
	if far, ok := sender.(relay.Remembering); ok && cfg.Relay.every > 0 {
		h.reconciler = &reconciler{desk: &desk.Desk{Ledger: db, Relay: far, Now: time.Now}, every: cfg.Relay.every, log: log}
	}
	if err := h.keepWords(ctx, cfg); err != nil {
		return nil, errors.Join(err, h.close())
	}
	hooks, err := cfg.hooks()
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	h.server, err = handlers.New(handlers.Config{
		Forms: cfg.visitorForms(), Hooks: hooks, Ledger: db, Keys: keys, Hold: h.hold, Courier: h.courier, Timing: cfg.Timing,
		PublicURL: cfg.PublicURL, TrustedProxies: cfg.proxies, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// keepWords opens what the policies that keep words need: the courier, and whoever
// is told when it gives up. They are there whatever the forms' policies are now,
// because what waits keeps the policy that it came under.
func (h *house) keepWords(ctx context.Context, cfg config) error {
	kept, err := h.db.Kept(ctx)
	if err != nil {
		return err
	}
	seals, err := cfg.firstSeals(kept)
	if err != nil {
		return err
	}
	if err := refuseRemoved(kept, cfg.forms); err != nil {
		return err
	}
	if h.watcher, err = cfg.watcher(h.db, h.log); err != nil {
		return err
	}
	health := relay.NewHealth(h.db, time.Now, h.log)
	h.hold.Tells(health)
	h.courier = relay.NewCourier(relay.CourierConfig{
		Ledger: h.db, Sender: h.sender, Timing: cfg.Timing, Patience: cfg.Patience, Seals: seals,
		Envelopes: cfg.envelopes(), Health: health, Now: time.Now, Random: rand.Reader, Log: h.log,
	})
	return nil
}

const tidyEvery = time.Minute

func newSweeper(l ledger.Ledger, cfg config, log *slog.Logger) *relay.Sweeper {
	start := time.Now()
	return &relay.Sweeper{Ledger: l, Timing: cfg.Timing, Longest: cfg.Patience.Longest(cfg.Timing), Log: log,
		Wall: time.Now, Mono: func() time.Duration { return time.Since(start) }}
}

// run serves until the context ends, and works in the background meanwhile.
func (h *house) run(ctx context.Context, stop func(), listener net.Listener) error {
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var workers sync.WaitGroup
	workers.Go(func() { h.sweeper.Run(background) })
	workers.Go(func() { h.courier.Run(background) })
	workers.Go(func() { h.watcher.Run(background) })
	workers.Go(func() { h.tidy(background) })
	if h.reconciler != nil {
		workers.Go(func() { h.reconciler.run(background) })
	}
	err := serving{
		server: h.server.HTTPServer(), reload: h.reload, drain: h.server.Drain, finish: h.finish,
		broken: h.db.Broken(), grace: h.timing.Lease, log: h.log,
	}.until(ctx, stop, listener)
	if errors.Is(err, ledger.ErrBroken) {
		return err
	}
	end()
	workers.Wait()
	return errors.Join(err, h.close())
}

// tidy keeps wiped words from lying in the database's log.
func (h *house) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := h.db.Tidy(ctx); err != nil {
				h.log.Error("the ledger's log could not be emptied", "error", err.Error())
			}
		case <-ctx.Done():
			return
		}
	}
}

func (h *house) finish(ctx context.Context) error {
	if err := h.server.Finish(ctx); err != nil {
		return fmt.Errorf("waiting for running sends: %w", err)
	}
	return nil
}

func (h *house) close() error {
	h.hold.Close()
	return h.db.Close()
}

// welcome tells a person what runs now, and where.
func welcome(s streams, cfg config, at net.Addr) {
	base := firstOf(cfg.PublicURL, "http://"+at.String())
	fmt.Fprintf(s.out, "formledger %s is running.\n\n", version)
	for _, f := range cfg.forms {
		kind, path := "form", "f"
		if f.IsWebhook() {
			kind, path = "webhook", "hooks"
		}
		fmt.Fprintf(s.out, "  %-8s  %s/%s/%s\n", kind, base, path, f.Def().Name)
	}
	fmt.Fprintf(s.out, "  mail      %s\n", cfg.mailGoes())
	if cfg.demo {
		fmt.Fprintln(s.out, "  settings  none given, so this is a demo; formledger config example prints a file to start from")
	}
	fmt.Fprintf(s.out, "  stop      press Ctrl+C\n\n")
}
