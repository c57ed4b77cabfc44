package relay_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

// office is a bench whose mail goes through couriers: the ledger is real, the
// mail service does as the test says, and the clock is the bubble's.
type office struct {
	*bench
	patience relay.Patience
	seals    *ledger.Seals
	forms    map[string]relay.Envelope
	ahead    atomic.Int64 // nanoseconds that the wall clock was set by
	couriers []*relay.Courier
	end      context.CancelFunc
	ctx      context.Context
	running  sync.WaitGroup
}

const outboxKey = "k1 use MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"

func newOffice(t *testing.T) *office {
	t.Helper()
	ring, err := ledger.ParseKeyRing(outboxKey)
	must(t, err)
	o := &office{bench: newBench(t), patience: relay.DefaultPatience(), seals: ledger.NewSeals(ring)}
	o.forms = map[string]relay.Envelope{"contact": {From: "Website <form@shop.example>", To: []string{"owner@shop.example"}}}
	o.ctx, o.end = context.WithCancel(context.Background())
	t.Cleanup(o.closes)
	return o
}

// inOffice runs a test for policies, each in a bubble of its own.
func inOffice(t *testing.T, test func(t *testing.T, o *office, p ledger.Policy), policies ...ledger.Policy) {
	t.Helper()
	for _, p := range policies {
		t.Run(string(p), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newOffice(t), p) })
		})
	}
}

func (o *office) now() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) }

// newCourier is one that does not run yet.
func (o *office) newCourier() *relay.Courier {
	return relay.NewCourier(relay.CourierConfig{
		Ledger: o.ledger, Sender: o.far, Timing: o.timing, Patience: o.patience, Seals: o.seals,
		Envelopes: o.forms, Now: o.now, Random: rand.Reader, Log: slog.New(slog.NewJSONHandler(o.log, nil)),
	})
}

// opens lets a courier run, with a sweeper beside it, as a process does.
func (o *office) opens() *relay.Courier {
	c, start := o.newCourier(), time.Now()
	o.couriers = append(o.couriers, c)
	sweeper := &relay.Sweeper{Ledger: o.ledger, Timing: o.timing, Longest: o.patience.Longest(o.timing),
		Wall: o.now, Mono: func() time.Duration { return time.Since(start) }, Log: slog.New(slog.NewJSONHandler(o.log, nil))}
	o.running.Go(func() { c.Run(o.ctx) })
	o.running.Go(func() { sweeper.Run(o.ctx) })
	synctest.Wait() // it has looked once, or it would come between a request and its own attempt
	return c
}

// days makes the couriers look less often, for stories that take days.
func (o *office) days() *office {
	o.timing.Sweep, o.patience.Queue.Look = 10*time.Minute, time.Minute
	return o
}

func (o *office) closes() {
	o.end()
	o.running.Wait()
}

// letter is a message with words that must show up nowhere.
func (o *office) letter(id uuid.UUID) relay.Message {
	m := message(field("Message", "confidential"))
	m.SubmissionID, m.Reference, m.PayloadHash, m.Date = id, ledger.ReferenceOf(id), ledgertest.Hash(id.String()), o.now()
	m.MessageID = "id-of-" + id.String() + "@shop.example"
	return m
}

// stores records a message, and does not have it sent.
func (o *office) stores(c *relay.Courier, p ledger.Policy) ledger.Submission {
	o.t.Helper()
	stored, err := c.Store(context.Background(), "contact", p, o.letter(uuid.Must(uuid.NewV7())), nil)
	must(o.t, err)
	if !stored.Fresh || !stored.Row.Waiting() {
		o.t.Fatalf("stored: %+v", stored)
	}
	return stored.Row
}

// posts is a request: it stores, and waits for the courier.
func (o *office) posts(c *relay.Courier, p ledger.Policy) ledger.Submission {
	o.t.Helper()
	row := o.stores(c, p)
	<-c.Nudge(row)
	return o.row(row.ID)
}

// nudges is a repeat of a request.
func (o *office) nudges(c *relay.Courier, row ledger.Submission) ledger.Submission {
	o.t.Helper()
	<-c.Nudge(row)
	return o.row(row.ID)
}

func (o *office) is(row ledger.Submission, status ledger.Status, needs ledger.Need, waiting bool) {
	o.t.Helper()
	got := o.row(row.ID)
	if got.Status != status || got.Needs != needs || got.Waiting() != waiting {
		o.t.Errorf("the row is %s, needs %q, waits: %v (want %s, %q, %v): %+v", got.Status, got.Needs, got.Waiting(), status, needs, waiting, got)
	}
}

// kept reports whether the words are there.
func (o *office) kept(row ledger.Submission) bool {
	_, err := o.ledger.Outbox(context.Background(), row.ID)
	return err == nil
}

// service is a scripted mail service: it counts what it took, by Message-ID.
type service struct {
	mu     sync.Mutex
	taken  []relay.Mail
	active map[uuid.UUID]int
	most   int // calls of one row at the same time
}

func (s *service) takes(m relay.Mail) relay.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, m)
	return relay.AcceptedWith("250 taken")
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}

// during counts how many calls of one row there are at once.
func (s *service) during(m relay.Mail, call func() relay.Verdict) relay.Verdict {
	s.enter(m.SubmissionID, 1)
	defer s.enter(m.SubmissionID, -1)
	return call()
}

func (s *service) enter(id uuid.UUID, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		s.active = map[uuid.UUID]int{}
	}
	s.active[id] += by
	s.most = max(s.most, s.active[id])
}

// refusal is one that concerns the message; down is one that does not.
var (
	refusal = relay.ProvenNotSent("smtp_451", "rcpt")
	down    = relay.Verdict{Finding: relay.NotSent, Unreached: true, Cause: relay.Cause{Code: "refused", Stage: "connect"}}
)
