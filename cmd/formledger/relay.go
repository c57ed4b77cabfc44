package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"formledger/relay"
	"formledger/relay/server"
	"formledger/relay/signed"
	"formledger/relay/smtp"
)

// stationSettings is the configuration file of a relay.
type stationSettings struct {
	station
	Callers []callerSettings `toml:"caller"`
}

// callerSettings is a form server that may call.
type callerSettings struct {
	Name       string   `toml:"name"`
	Keys       string   `toml:"keys"` // a file
	From       []string `toml:"from"`
	To         []string `toml:"to"` // or "any"
	DailyLimit int      `toml:"daily_limit"`
}

const (
	defaultRelayListen = "127.0.0.1:8090"
	defaultRelayData   = "formledger-relay-data"
)

func (s stationSettings) callsFile() string { return filepath.Join(s.Data, "calls", "calls.db") }

func newRelay(s streams, p *places) *cobra.Command {
	listen := ""
	c := &cobra.Command{
		Use:   "relay",
		Short: "Run a relay: it takes signed calls of form servers, and sends the mail",
		Long: `Run a relay: it takes the signed calls of form servers on other machines, keeps a
record of each, and sends the mail. It needs a configuration; formledger config
example relay prints one, and formledger keygen relay makes the keys.

Keep it on this machine and put a web server with HTTPS in front of it. The
environment variables FORMLEDGER_CONFIG, _DATA, _LISTEN, _PUBLIC_URL and
_SMTP_PASSWORD (or _SMTP_PASSWORD_FILE) go before the configuration.

An interrupt (Ctrl+C) or SIGTERM lets running sends finish; a second one ends at
once, and what was open is then called uncertain. A SIGHUP reads the callers and
their keys again.`,
		Args: usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadStation(*p, listen, s.environ)
			if err != nil {
				return err
			}
			again := func() (stationSettings, error) { return loadStation(*p, listen, s.environ) }
			return runRelay(c.Context(), cfg, again, s)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "`address` to listen on (default \""+defaultRelayListen+"\")")
	return c
}

// ofRelay reports whether a file is the configuration of a relay.
func ofRelay(text string) bool {
	var s struct {
		Callers []map[string]any `toml:"caller"`
	}
	_, err := toml.Decode(text, &s)
	return err == nil && len(s.Callers) > 0
}

// ofRelay reports whether the configuration that is named is a relay's.
func (p places) ofRelay(environ []string) bool {
	env, err := readEnvironment(environ)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(firstOf(p.config, env.Config))
	return err == nil && ofRelay(string(text))
}

func loadStation(p places, listen string, environ []string) (stationSettings, error) {
	env, err := readEnvironment(environ)
	if err != nil {
		return stationSettings{}, err
	}
	file := firstOf(p.config, env.Config)
	if file == "" {
		return stationSettings{}, errors.New("a relay needs a configuration; formledger config example relay prints one, to be named with --config")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return stationSettings{}, fmt.Errorf("reading the configuration: %w", err)
	}
	s, err := parseStation(file, string(text))
	if err != nil {
		return s, err
	}
	s.beside(filepath.Dir(file))
	for i := range s.Callers {
		beside(filepath.Dir(file), &s.Callers[i].Keys)
	}
	s.place(p, listen, env, defaultRelayListen, defaultRelayData)
	return s, errors.Join(s.readPassword(env), s.checkPublicURL())
}

func parseStation(name, text string) (stationSettings, error) {
	s := stationSettings{}
	lines, faults, err := readTOML(name, text, &s)
	if err != nil {
		return s, err
	}
	faults = append(faults, at(name, lines.first("smtp"), s.SMTP.check()))
	if len(s.Callers) == 0 {
		faults = append(faults, fmt.Errorf("%s: a relay's configuration has a [[caller]] for each form server; formledger config example relay shows one", name))
	}
	for i, c := range s.Callers {
		faults = append(faults, at(name, lines.of("caller", i), c.check()))
	}
	return s, errors.Join(faults...)
}

func (c callerSettings) check() error {
	switch {
	case c.Name == "":
		return errors.New("the caller has no name")
	case c.Keys == "":
		return fmt.Errorf("caller %q: name the file of its keys as keys; formledger keygen relay makes it", c.Name)
	case len(c.From) == 0 || len(c.To) == 0:
		return fmt.Errorf("caller %q: from and to list the addresses that it may use", c.Name)
	}
	return nil
}

// caller is what the relay server knows of a form server.
func (c callerSettings) caller() (server.Caller, error) {
	text, err := readPrivate(c.Keys, fmt.Sprintf("the keys of caller %q", c.Name))
	if err != nil {
		return server.Caller{}, err
	}
	keys, err := signed.ParseKeys(text)
	if err != nil {
		return server.Caller{}, fmt.Errorf("%s: %w", c.Keys, err)
	}
	caller := server.Caller{Name: c.Name, Keys: keys, From: c.From, DailyLimit: c.DailyLimit}
	for _, to := range c.To {
		if to == anybody {
			caller.AnyRecipient = true
		} else {
			caller.To = append(caller.To, to)
		}
	}
	return caller, nil
}

func (s stationSettings) callers() ([]server.Caller, error) {
	var all []server.Caller
	for _, c := range s.Callers {
		caller, err := c.caller()
		if err != nil {
			return nil, err
		}
		all = append(all, caller)
	}
	return all, nil
}

// authority is how callers name the relay; empty: as they do.
func (s stationSettings) authority() string {
	u, err := url.Parse(s.PublicURL)
	if err != nil || s.PublicURL == "" {
		return ""
	}
	return signed.Authority(u.Host, u.Scheme == "https")
}

// timing is how long a call may take: as long as its mail server may.
func (s stationSettings) timing() relay.Timing {
	t := relay.DefaultTiming()
	if s.SMTP != nil {
		t = t.For(smtp.DefaultDeadlines().Total())
	}
	return t
}

// relayHouse is everything that a relay has opened.
type relayHouse struct {
	calls  *server.Calls
	server *server.Server
	timing relay.Timing
	log    *slog.Logger
}

func openRelay(ctx context.Context, cfg stationSettings, log *slog.Logger) (*relayHouse, error) {
	callers, err := cfg.callers()
	if err != nil {
		return nil, err
	}
	sender, err := cfg.mailSender()
	if err != nil {
		return nil, err
	}
	calls, err := server.OpenCalls(ctx, cfg.callsFile())
	if err != nil {
		return nil, err
	}
	h := &relayHouse{calls: calls, timing: cfg.timing(), log: log}
	h.server, err = server.New(server.Config{
		Callers: callers, Calls: calls, Sender: sender, Authority: cfg.authority(),
		CallTimeout: h.timing.Call, Lease: h.timing.Lease, Settle: h.timing.Settle, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, calls.Close())
	}
	return h, nil
}

// reload reads the callers again, with their keys.
func (h *relayHouse) reload(again func() (stationSettings, error)) error {
	cfg, err := again()
	if err != nil {
		return err
	}
	callers, err := cfg.callers()
	if err != nil {
		return err
	}
	return h.server.SetCallers(callers)
}

// runRelay serves until the context ends, and ends at once when the database is
// broken.
func runRelay(ctx context.Context, cfg stationSettings, again func() (stationSettings, error), s streams) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(s.err, nil))
	h, err := openRelay(ctx, cfg, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot listen on %s: %w; another address can be named with --listen", cfg.Listen, err), h.calls.Close())
	}
	welcomeRelay(s, cfg, listener.Addr())
	err = serving{
		server: h.server.HTTPServer(), reload: func() error { return h.reload(again) }, finish: h.server.Finish,
		broken: h.calls.Broken(), grace: h.timing.Lease, log: log,
	}.until(ctx, stop, listener)
	return errors.Join(err, h.calls.Close())
}

func welcomeRelay(s streams, cfg stationSettings, at net.Addr) {
	fmt.Fprintf(s.out, "formledger %s is running as a relay.\n\n", version)
	fmt.Fprintf(s.out, "  address   %s\n", firstOf(cfg.PublicURL, "http://"+at.String()))
	fmt.Fprintf(s.out, "  callers   %s\n", strings.Join(cfg.callerNames(), ", "))
	fmt.Fprintf(s.out, "  mail      %s\n", cfg.mailGoes())
	fmt.Fprintf(s.out, "  stop      press Ctrl+C\n\n")
}

func (s stationSettings) callerNames() []string {
	var names []string
	for _, c := range s.Callers {
		names = append(names, c.Name)
	}
	return names
}
