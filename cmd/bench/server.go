package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"formledger/handlers"
	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/smtp"
)

// child is the server under measurement.
type child struct {
	ledger  ledger.Ledger
	relay   counting
	sink    *sink // nil: the relay accepts at once
	hold    *relay.Hold
	outbox  *outbox // nil: the form keeps no words
	server  *handlers.Server
	profile string
}

// counters are what the child knows of itself, for the parent.
type counters struct {
	Syncs   int64         `json:"syncs"`    // -1: they cannot be counted on this system
	Calls   int64         `json:"calls"`    // messages handed to the relay
	PeakKiB int64         `json:"peak_kib"` // 0: this system does not tell
	CPU     time.Duration `json:"cpu"`      // -1: likewise
}

// What the parent asks, a line each. All are answered with the counters.
const (
	askMark  = "mark"  // begins what is measured
	askDrain = "drain" // lets the courier send what waits, to its end
	askRead  = "read"  // ends what is measured
)

// serve is the child's life: it says its address, answers the parent's questions,
// and ends when the parent closes its standard input, or dies.
func serve(ctx context.Context, o options, in io.Reader, out, log io.Writer) error {
	c, err := openChild(ctx, o, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, c.close())
	}
	server := c.server.HTTPServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Fprintln(out, listener.Addr())
	err = errors.Join(c.converse(in, out), server.Close())
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return errors.Join(err, c.server.Finish(ctx), c.close())
}

func openChild(ctx context.Context, o options, complaints io.Writer) (*child, error) {
	sink, err := newLogSink(complaints)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewJSONHandler(sink, nil))
	c := &child{profile: o.profile}
	if err := c.openLedger(ctx, o, log); err != nil {
		return nil, err
	}
	if err := errors.Join(c.openRelay(o.server), c.wire(ctx, o, log)); err != nil {
		return nil, errors.Join(err, c.sink.close(), c.ledger.Close())
	}
	return c, nil
}

func (c *child) openRelay(m mode) (err error) {
	switch m {
	case modeMail, modeMailBare, modeKept, modeBacklog:
	case modeAway:
		c.relay.Sender = away{}
		return nil
	default:
		c.relay.Sender = nullRelay{}
		return nil
	}
	if c.sink, err = openSink(); err != nil {
		return err
	}
	c.relay.Sender, err = c.sink.sender()
	return err
}

func (c *child) openLedger(ctx context.Context, o options, log *slog.Logger) error {
	options := sqlledger.Options{Log: log}
	switch o.server {
	case modeBaseline, modeBare, modeMailBare:
		c.ledger = noLedger{taken: o.server == modeBare}
		return nil
	case modeSingle:
		options.MaxBatch = 1
	case modeProduct, modeMail, modeKept, modeAway, modeBacklog:
	default:
		return fmt.Errorf("there is no server mode %q", o.server)
	}
	db, err := sqlledger.Open(ctx, filepath.Join(o.data, "formledger.db"), options)
	if err != nil {
		return err
	}
	c.ledger = db
	return nil
}

// wire puts the server together as formledger serve does, but for the relay.
func (c *child) wire(ctx context.Context, o options, log *slog.Logger) error {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	keys, err := ledger.NewKeyRing([]ledger.Key{{ID: "k1", Secret: secret}})
	if err != nil {
		return err
	}
	definition := contactForm()
	if o.server.keeps() {
		definition.Policy = string(ledger.Queue)
	}
	form, faults := enquiry.Compile(definition)
	if len(faults) > 0 {
		return faults[0]
	}
	timing := relay.DefaultTiming().For(smtp.DefaultDeadlines().Total())
	c.hold = relay.NewHold(c.ledger, &c.relay, timing, time.Now, rand.Reader, log)
	config := handlers.Config{
		Forms: []*enquiry.Form{form}, Ledger: c.ledger, Keys: keys, Hold: c.hold, Timing: timing,
		PublicURL: "https://forms.example.com", Now: time.Now, Log: log,
	}
	if o.server.keeps() {
		if err := c.openOutbox(ctx, o, config); err != nil {
			return err
		}
		config.Courier = c.outbox.courier
	}
	c.server, err = handlers.New(config)
	return err
}

func (c *child) close() error {
	c.outbox.close()
	c.hold.Close()
	return errors.Join(c.sink.close(), c.ledger.Close())
}

func (c *child) converse(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		if err := errors.Join(c.profiled(lines.Text()), c.drained(lines.Text())); err != nil {
			return err
		}
		if err := answers.Encode(c.count()); err != nil {
			return err
		}
		if lines.Text() == askMark {
			forgetPeak()
		}
	}
	return lines.Err()
}

// profiled takes the profile of what is measured, without the warm-up.
func (c *child) profiled(question string) error {
	if c.profile == "" {
		return nil
	}
	switch question {
	case askDrain:
		return nil
	case askRead:
		pprof.StopCPUProfile()
		return nil
	}
	f, err := os.Create(c.profile)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

func (c *child) count() counters {
	return counters{Syncs: syncs(), Calls: c.relay.calls.Load(), PeakKiB: peakKiB(), CPU: cpuTime()}
}

// logSink takes the server's log as a null device does, so that writing it costs
// what it costs, and shows errors.
type logSink struct {
	null   *os.File
	errors io.Writer
}

func newLogSink(errors io.Writer) (logSink, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	return logSink{null, errors}, err
}

func (s logSink) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		_, _ = s.errors.Write(line)
	}
	return s.null.Write(line)
}
