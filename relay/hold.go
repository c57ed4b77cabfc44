package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"formledger/ledger"
	"formledger/ledger/failpoint"
)

// Hold carries out policy hold: the request that claims an enquiry owns its one
// send, and no word of it is stored.
type Hold struct {
	ledger    ledger.Ledger
	sender    Sender
	timing    Timing
	now       func() time.Time
	random    io.Reader
	log       *slog.Logger
	abandoned *abandoned
}

// NewHold wires policy hold. now is time.Now and random crypto/rand, but in
// tests. Close ends what it does in the background.
func NewHold(l ledger.Ledger, s Sender, t Timing, now func() time.Time, random io.Reader, log *slog.Logger) *Hold {
	return &Hold{ledger: l, sender: s, timing: t, now: now, random: random, log: log, abandoned: newAbandoned(l, now, log)}
}

// Close stops the tries to give abandoned claims back. What is left lapses.
func (h *Hold) Close() { h.abandoned.close() }

// ErrNotClaimed says that the ledger did not answer in time. Nothing is sent
// under the claim that was asked for, even if the ledger took it.
var ErrNotClaimed = errors.New("the ledger did not grant a claim in time")

// Claim is the right to make one relay call, or the row that stands against it.
type Claim struct {
	Owned bool
	Row   ledger.Submission
	lease Lease
}

// Claim asks the ledger for the right to send, until the context ends. An
// errored try may have won all the same, so it is repeated with the same token.
func (h *Hold) Claim(ctx context.Context, want ledger.NewClaim) (Claim, error) {
	token, err := ledger.NewToken(h.random)
	if err != nil {
		return Claim{}, err
	}
	want.RelayEpoch = h.epoch(ctx)
	now := h.now()
	want.Policy, want.Token, want.At, want.LeaseUntil = ledger.Hold, token, now, now.Add(h.timing.Lease)
	failpoint.Hit("hold.before-claim")
	claimed, err := h.claimRepeatedly(ctx, want)
	if err != nil {
		h.abandoned.add(ledger.Ended{ID: want.ID, Claim: token, Cause: Cause{"claim_abandoned", "claim"}.String()})
		h.log.Error("claim abandoned: nothing is sent under it", "reference", ledger.ReferenceOf(want.ID), "error", err.Error())
		return Claim{}, fmt.Errorf("%w: %w", ErrNotClaimed, err)
	}
	failpoint.Hit("hold.after-claim")
	return Claim{claimed.Owned, claimed.Row, NewLease(want.LeaseUntil, h.now)}, nil
}

// epoch is that of a far end that has one.
func (h *Hold) epoch(ctx context.Context) string {
	if r, ok := h.sender.(Remembering); ok {
		return r.Epoch(ctx)
	}
	return ""
}

func (h *Hold) claimRepeatedly(ctx context.Context, want ledger.NewClaim) (ledger.Claimed, error) {
	for pause := firstPause; ; pause = longer(pause) {
		claimed, err := h.ledger.Claim(ctx, want)
		if err == nil || errors.Is(err, ledger.ErrBroken) {
			return claimed, err
		}
		if rest(ctx, pause) != nil {
			return claimed, err
		}
	}
}

// Ending is what a send came to.
type Ending struct {
	Row      ledger.Submission // as the ledger has it, but for times and counters
	Recorded bool              // false: the ledger does not know how the call ended
}

// Carry makes the one relay call of a claim, and records how it ended. It runs
// under deadlines of its own: nobody's leaving cancels it. Nothing is reported
// as recorded that is not in the ledger.
func (h *Hold) Carry(c Claim, m Message) Ending {
	m.Claim, m.RelayEpoch = c.Row.Claim, c.Row.RelayEpoch
	verdict := h.call(c.lease, m)
	failpoint.Hit("hold.before-settle")
	ending := h.record(c, verdict)
	failpoint.Hit("hold.after-settle")
	h.report(c, verdict, ending)
	return ending
}

// call renders the message whole before anything leaves, and calls the sender
// once. Its result stands before each step, so that a panic leaves what was
// known then: a sender that panics has told us nothing.
func (h *Hold) call(lease Lease, m Message) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("relay call panicked", "reference", m.Reference, "panic", fmt.Sprint(p))
		}
	}()
	v = ProvenNotSent("not_rendered", "render")
	v.Permanent = true
	mail, err := Render(m)
	if err != nil {
		h.log.Error("message cannot be rendered", "reference", m.Reference, "error", err.Error())
		return v
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.timing.Call)
	defer cancel()
	v = UnknownAfter("panic", "")
	return h.sender.Send(ctx, mail, lease)
}

// record writes the verdict into the ledger, again and again until the lease
// ends. Every try carries the claim, so a try that had happened all the same
// does no harm.
func (h *Hold) record(c Claim, v Verdict) Ending {
	for pause := firstPause; ; pause = longer(pause) {
		ctx, cancel := context.WithTimeout(context.Background(), h.timing.Settle)
		row, err := h.recordOnce(ctx, c.Row, v)
		cancel()
		if err == nil {
			return Ending{Row: row, Recorded: true}
		}
		if errors.Is(err, ledger.ErrBroken) || !c.lease.Held() {
			h.log.Error("outcome could not be recorded", "id", c.Row.ID, "claim", c.Row.Claim.String(),
				"verdict", v.Finding.String(), "receipt", v.Receipt, "cause", v.Cause.String(), "error", err.Error())
			return Ending{Row: c.Row}
		}
		time.Sleep(pause)
	}
}

// recordOnce records the verdict by the one write that fits it. Where that
// changes nothing, the row is read again: what is recorded is the answer.
func (h *Hold) recordOnce(ctx context.Context, row ledger.Submission, v Verdict) (ledger.Submission, error) {
	at := h.now()
	ended := ledger.Ended{ID: row.ID, Claim: row.Claim, Cause: v.Cause.String(), Note: v.Conversation, Attempted: true, At: at}
	if v.Permanent {
		ended.Cause = ledger.ForGood(ended.Cause)
	}
	var changed bool
	var err error
	switch v.Finding {
	case Accepted:
		changed, err = h.ledger.Settle(ctx, AcknowledgmentOf(row, v, at))
		row.Status, row.AcceptedBy, row.Receipt = ledger.Accepted, ledger.AcceptedByRelay, v.Receipt
	case NotSent:
		changed, err = h.ledger.Release(ctx, ended)
		row.Claim, row.LeaseUntil, row.LastError = ledger.Token{}, time.Time{}, ended.Cause
	default:
		changed, err = h.ledger.Doubt(ctx, ended)
		row.Status, row.Needs, row.Doubted, row.LastError = ledger.Uncertain, ledger.NeedsUncertain, true, ended.Cause
	}
	if err != nil || changed {
		return row, err
	}
	return h.ledger.Submission(ctx, row.ID)
}

// AcknowledgmentOf is what an accepting verdict means for the ledger. It goes
// without the conversation, unless that holds what the operator has to know: the
// happy path writes no event.
func AcknowledgmentOf(row ledger.Submission, v Verdict, at time.Time) ledger.Acknowledgment {
	a := ledger.Acknowledgment{ID: row.ID, PayloadHash: row.PayloadHash, Claim: row.Claim, Receipt: v.Receipt, Earlier: v.Earlier, At: at}
	if v.Partly {
		a.Note = v.Conversation
	}
	return a
}

// report logs what is not the happy path. The log holds no word of the enquiry.
func (h *Hold) report(c Claim, v Verdict, e Ending) {
	if v.Finding == Accepted && e.Recorded && !v.Partly && v.Earlier.IsZero() {
		return
	}
	h.log.Warn("relay call", "reference", c.Row.Reference, "form", c.Row.Form, "verdict", v.Finding.String(),
		"cause", v.Cause.String(), "partly_refused", v.Partly, "recorded", e.Recorded, "status", string(e.Row.Status))
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
