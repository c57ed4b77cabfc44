package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"formledger/ledger"
)

// caller makes the one relay call of a claim and records how it ended, for the
// request under hold and for the courier alike.
type caller struct {
	ledger ledger.Ledger
	sender Sender
	timing Timing
	now    func() time.Time
	log    *slog.Logger
}

// epoch is that of a far end that has one.
func (c *caller) epoch(ctx context.Context) string {
	if r, ok := c.sender.(Remembering); ok {
		return r.Epoch(ctx)
	}
	return ""
}

// call renders the message whole before anything leaves, and calls the sender
// once. Its result stands before each step, so that a panic leaves what was
// known then: a sender that panics has told us nothing.
func (c *caller) call(claim Claim, m Message) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("relay call panicked", "reference", m.Reference, "panic", fmt.Sprint(p))
		}
	}()
	m.Claim, m.RelayEpoch = claim.Row.Claim, claim.Row.RelayEpoch
	v = ProvenNotSent("not_rendered", "render")
	v.Permanent = true
	mail, err := Render(m)
	if err != nil {
		c.log.Error("message cannot be rendered", "reference", m.Reference, "error", err.Error())
		return v
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timing.Call)
	defer cancel()
	v = UnknownAfter("panic", "")
	return c.sender.Send(ctx, mail, claim.lease)
}

// Ending is what a send came to.
type Ending struct {
	Row      ledger.Submission // as the ledger has it, but for times and counters
	Recorded bool              // false: the ledger does not know how the call ended
}

// record writes the verdict into the ledger, again and again until the lease
// ends. Every try carries the claim, so a try that had happened all the same
// does no harm. next is when the courier tries again, if it does.
func (c *caller) record(claim Claim, v Verdict, next time.Time) Ending {
	for pause := firstPause; ; pause = longer(pause) {
		ctx, cancel := context.WithTimeout(context.Background(), c.timing.Settle)
		row, err := c.recordOnce(ctx, claim.Row, v, next)
		cancel()
		if err == nil {
			return Ending{Row: row, Recorded: true}
		}
		if errors.Is(err, ledger.ErrBroken) || !claim.lease.Held() {
			c.log.Error("outcome could not be recorded", "id", claim.Row.ID, "claim", claim.Row.Claim.String(),
				"verdict", v.Finding.String(), "receipt", v.Receipt, "cause", v.Cause.String(), "error", err.Error())
			return Ending{Row: claim.Row}
		}
		time.Sleep(pause)
	}
}

// recordOnce records the verdict by the one write that fits it. Where that
// changes nothing, the row is read again: what is recorded is the answer.
func (c *caller) recordOnce(ctx context.Context, row ledger.Submission, v Verdict, next time.Time) (ledger.Submission, error) {
	at := c.now()
	ended := endedBy(row, v, next, at)
	var changed bool
	var err error
	switch v.Finding {
	case Accepted:
		changed, err = c.ledger.Settle(ctx, AcknowledgmentOf(row, v, at))
		row.AcceptedBy, row.Receipt = ledger.AcceptedByRelay, v.Receipt
	case NotSent:
		changed, err = c.ledger.Release(ctx, ended)
		row.LastError = ended.Cause
	default:
		changed, err = c.ledger.Doubt(ctx, ended)
		row.LastError = ended.Cause
	}
	if err != nil || changed {
		return after(row, v, ended), err
	}
	return c.ledger.Submission(ctx, row.ID)
}

// endedBy is what a verdict without an acknowledgment means for the ledger. Under
// hold every call counts; for the courier, a relay that was not reached says
// nothing about the message.
func endedBy(row ledger.Submission, v Verdict, next, at time.Time) ledger.Ended {
	e := ledger.Ended{ID: row.ID, Claim: row.Claim, Cause: v.Cause.String(), Note: v.Conversation, At: at, Next: next}
	e.Attempted = row.Policy == ledger.Hold || !v.Unreached
	if v.Permanent && e.Attempted {
		e.Cause = ledger.ForGood(e.Cause)
	}
	return e
}

// after is the row as the ledger has it now.
func after(row ledger.Submission, v Verdict, e ledger.Ended) ledger.Submission {
	end := ledger.EndDoubted
	switch {
	case v.Finding == Accepted:
		end = ledger.EndAccepted
	case v.Finding == NotSent && !e.Attempted:
		end = ledger.EndUnreached
	case v.Finding == NotSent && v.Permanent:
		end = ledger.EndRefused
	case v.Finding == NotSent:
		end = ledger.EndNotSent
	}
	if now, ok := row.After(end); ok {
		row.Status, row.Needs, row.Doubted = now.Status, now.Needs, now.Doubted
		if !now.KeepsClaim {
			row.Claim, row.LeaseUntil = ledger.Token{}, time.Time{}
		}
	}
	return row
}

// AcknowledgmentOf is what an accepting verdict means for the ledger. It goes
// without the conversation, unless that holds what the operator has to know: the
// happy path writes no event.
func AcknowledgmentOf(row ledger.Submission, v Verdict, at time.Time) ledger.Acknowledgment {
	a := ledger.Acknowledgment{ID: row.ID, PayloadHash: row.PayloadHash, Policy: row.Policy, Claim: row.Claim, Receipt: v.Receipt, Earlier: v.Earlier, At: at}
	if v.Partly {
		a.Note = v.Conversation
	}
	return a
}

// report logs what is not the happy path. The log holds no word of the enquiry.
func (c *caller) report(claim Claim, v Verdict, e Ending) {
	if v.Finding == Accepted && e.Recorded && !v.Partly && v.Earlier.IsZero() {
		return
	}
	c.log.Warn("relay call", "reference", claim.Row.Reference, "form", claim.Row.Form, "verdict", v.Finding.String(),
		"cause", v.Cause.String(), "partly_refused", v.Partly, "recorded", e.Recorded, "status", string(e.Row.Status))
}

// repeatedly asks the ledger until it answers, it is broken, or the context ends.
// An errored try may have happened all the same, so all carry the same token.
func repeatedly[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for pause := firstPause; ; pause = longer(pause) {
		answer, err := ask()
		if err == nil || errors.Is(err, ledger.ErrBroken) || errors.Is(err, ledger.ErrNoWords) {
			return answer, err
		}
		if rest(ctx, pause) != nil {
			return answer, err
		}
	}
}

const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// longer doubles a pause between two tries, up to a second.
func longer(pause time.Duration) time.Duration { return min(2*pause, longestPause) }

// rest waits, or fails when the context ends first.
func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
