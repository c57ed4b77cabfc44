package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"formledger/ledger"
	"formledger/ledger/failpoint"
)

// Courier sends what the ledger keeps under policies queue and retry; nobody else
// does. Several couriers, in several processes, share one ledger without a leader:
// the claim alone decides who sends.
type Courier struct {
	caller
	patience  Patience
	seals     *ledger.Seals
	envelopes map[string]Envelope
	random    io.Reader
	abandoned *abandoned
	health    *Health
	nudged    chan errand            // what a request waits for
	found     chan ledger.Submission // what a sweep found
}

// CourierConfig is what a Courier works with. Now is time.Now and Random
// crypto/rand, but in tests.
type CourierConfig struct {
	Ledger    ledger.Ledger
	Sender    Sender
	Timing    Timing
	Patience  Patience
	Seals     *ledger.Seals       // nil: no form keeps words, and none are kept
	Envelopes map[string]Envelope // by form
	Health    *Health             // nil: one of its own
	Now       func() time.Time
	Random    io.Reader
	Log       *slog.Logger
}

// NewCourier makes a courier. It sends nothing before Run.
func NewCourier(c CourierConfig) *Courier {
	if c.Health == nil {
		c.Health = NewHealth(c.Ledger, c.Now, c.Log)
	}
	return &Courier{
		caller:   caller{ledger: c.Ledger, sender: c.Sender, timing: c.Timing, now: c.Now, log: c.Log},
		patience: c.Patience, seals: c.Seals, envelopes: c.Envelopes, random: c.Random, health: c.Health,
		abandoned: newAbandoned(c.Ledger, c.Now, c.Log),
		nudged:    make(chan errand, mostNudged), found: make(chan ledger.Submission),
	}
}

const (
	mostNudged = 1024 // requests that wait for an attempt; more are left to the sweep
	dueAtOnce  = 1000 // rows of one look; each sorts all that wait
)

// errand is a row that somebody waits for.
type errand struct {
	row  ledger.Submission
	done chan struct{} // closed when the attempt has ended, or none is due
}

// ErrNotStored says that the ledger did not say in time whether it has stored a
// message. It may have, and then the message will be sent.
var ErrNotStored = errors.New("the ledger did not confirm in time that the message is stored")

// Store seals a message and records it, before any attempt; m is as Compose made
// it for a row that is not there yet. The answer's row may be another's: then its
// payload hash tells whether it is of the same content.
func (c *Courier) Store(ctx context.Context, form string, p ledger.Policy, m Message, to []string) (ledger.Stored, error) {
	at := m.Date
	row := ledger.Submission{ID: m.SubmissionID, PayloadHash: m.PayloadHash}
	words, err := SealLetter(c.seals, row, Letter{Subject: m.Subject, Text: m.Text, ReplyTo: m.ReplyTo, To: to, MessageID: m.MessageID}, c.random)
	if err != nil {
		return ledger.Stored{}, err
	}
	attempts, claims := c.patience.caps(p)
	n := ledger.NewEntry{ID: row.ID, Form: form, Policy: p, PayloadHash: row.PayloadHash,
		AttemptCap: attempts, ClaimCap: claims, Words: words, Due: c.patience.first(p, at), At: at}
	failpoint.Hit("courier.before-store")
	stored, err := repeatedly(ctx, func() (ledger.Stored, error) { return c.ledger.Store(ctx, n) })
	failpoint.Hit("courier.after-store")
	if err != nil {
		return ledger.Stored{}, fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	return stored, nil
}

// Nudge asks for an attempt at a waiting row right away. The channel is closed
// once the attempt has ended, or if there is none: under queue a row waits until
// its next attempt is due, and while the relay cannot be reached all do.
func (c *Courier) Nudge(row ledger.Submission) <-chan struct{} {
	e := errand{row, make(chan struct{})}
	select {
	case c.nudged <- e:
	default:
		close(e.done)
	}
	return e.done
}

// Run sends until the context ends; what is being sent then is finished first.
func (c *Courier) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range c.patience.Senders {
		workers.Go(func() { c.work(ctx) })
	}
	workers.Go(func() { c.look(ctx, ledger.Queue, c.patience.Queue.Look) })
	workers.Go(func() { c.look(ctx, ledger.Retry, c.patience.Retry.Sweep) })
	workers.Wait()
	c.dismiss()
	c.abandoned.close()
}

// dismiss lets nobody wait for what will not be tried.
func (c *Courier) dismiss() {
	for {
		select {
		case e := <-c.nudged:
			close(e.done)
		default:
			return
		}
	}
}

// work carries out what is asked for, and what is due.
func (c *Courier) work(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case e := <-c.nudged:
			c.run(e)
		case row := <-c.found:
			c.attempt(row)
		case <-ctx.Done():
		}
	}
}

func (c *Courier) run(e errand) {
	defer close(e.done)
	if e.row.Policy == ledger.Retry || c.due(e.row) {
		c.attempt(e.row)
	}
}

// due reports whether the next attempt of a queued row has come.
func (c *Courier) due(row ledger.Submission) bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.timing.Settle)
	defer cancel()
	entry, err := c.ledger.Outbox(ctx, row.ID)
	ahead := entry.Next.Sub(c.now())
	return err == nil && (ahead <= 0 || ahead > c.patience.horizon(row.Policy))
}

// look searches for due rows at once and then at an interval, and hands them to
// whoever is free, oldest first.
func (c *Courier) look(ctx context.Context, p ledger.Policy, every time.Duration) {
	for {
		full, err := c.lookOnce(ctx, p)
		if err != nil && ctx.Err() == nil {
			c.log.Error("the outbox could not be read", "policy", string(p), "error", err.Error())
		}
		if full && ctx.Err() == nil {
			continue
		}
		if rest(ctx, every) != nil {
			return
		}
	}
}

// lookOnce reports whether there may be more that can be sent at once.
func (c *Courier) lookOnce(ctx context.Context, p ledger.Policy) (bool, error) {
	if now := c.now(); now.Before(c.health.until()) && p == ledger.Queue {
		return false, nil
	}
	rows, err := c.ledger.Due(ctx, ledger.Due{Policy: p, At: c.now(), Horizon: c.patience.horizon(p), Limit: dueAtOnce})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		select {
		case c.found <- row:
		case <-ctx.Done():
			return false, nil
		}
	}
	return len(rows) == dueAtOnce && c.health.until().IsZero(), nil
}

// attempt takes a row and makes its one call. It runs to its end, whatever ends
// meanwhile.
func (c *Courier) attempt(row ledger.Submission) {
	if !c.health.allow(c.now()) {
		return
	}
	claim, words, err := c.take(row)
	if err != nil || !claim.Owned {
		c.health.nothing()
		return
	}
	failpoint.Hit("courier.after-claim")
	verdict := c.deliver(claim, words)
	failpoint.Hit("courier.before-settle")
	ending := c.record(claim, verdict, c.heed(claim.Row, verdict))
	failpoint.Hit("courier.after-settle")
	c.report(claim, verdict, ending)
}

// take asks the ledger for the right to send a row, and for its words.
func (c *Courier) take(row ledger.Submission) (Claim, ledger.Sealed, error) {
	token, err := ledger.NewToken(c.random)
	if err != nil {
		return Claim{}, ledger.Sealed{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timing.Settle)
	defer cancel()
	now := c.now()
	want := ledger.NewClaim{ID: row.ID, PayloadHash: row.PayloadHash, Token: token, At: now,
		LeaseUntil: now.Add(c.patience.lease(row.Policy, c.timing)), RelayEpoch: c.epoch(ctx)}
	failpoint.Hit("courier.before-claim")
	taken, err := repeatedly(ctx, func() (ledger.Taken, error) { return c.ledger.Take(ctx, want) })
	if errors.Is(err, ledger.ErrNoWords) { // and so nothing was claimed
		c.log.Error("a waiting message has no words", "reference", row.Reference)
		return Claim{}, ledger.Sealed{}, err
	}
	if err != nil {
		c.abandoned.add(ledger.Ended{ID: row.ID, Claim: token, Cause: Cause{"claim_abandoned", "claim"}.String()})
		c.log.Error("claim abandoned: nothing is sent under it", "reference", row.Reference, "error", err.Error())
		return Claim{}, ledger.Sealed{}, err
	}
	return Claim{taken.Owned, taken.Row, NewLease(want.LeaseUntil, c.now)}, taken.Words, nil
}

// deliver opens the letter and makes the call. A letter that cannot be opened, or
// of a form that is gone, stops: only a person can help there, and says so with
// one more attempt.
func (c *Courier) deliver(claim Claim, words ledger.Sealed) Verdict {
	letter, err := c.open(claim.Row, words)
	envelope, known := c.envelopes[claim.Row.Form]
	if err == nil && known {
		return c.call(claim, letter.message(claim.Row, envelope))
	}
	code := "form_removed"
	if err != nil {
		code = "words_unreadable"
		c.log.Error("the words cannot be unsealed", "reference", claim.Row.Reference, "error", err.Error())
	}
	v := ProvenNotSent(code, "letter")
	v.Permanent = true
	return v
}

func (c *Courier) open(row ledger.Submission, words ledger.Sealed) (Letter, error) {
	if c.seals == nil {
		return Letter{}, ledger.ErrUnknownKey
	}
	return OpenLetter(c.seals, row, words)
}

// heed lets the others know how the relay does, and says when the row is tried
// next if it waits.
func (c *Courier) heed(row ledger.Submission, v Verdict) time.Time {
	state := c.health.note(v)
	if v.Unreached && row.Policy == ledger.Queue {
		// no later than that: once the relay is reached, everything goes on
		return earlier(state.NextTry, c.now().Add(firstProbe))
	}
	return c.patience.next(row.Policy, row.Attempts+1, c.now())
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
