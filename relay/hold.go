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
	caller
	random    io.Reader
	abandoned *abandoned
	health    *Health // nil: nobody asks
}

// Tells makes the policy tell of how its calls find the relay.
func (h *Hold) Tells(health *Health) { h.health = health }

// NewHold wires policy hold. now is time.Now and random crypto/rand, but in
// tests. Close ends what it does in the background.
func NewHold(l ledger.Ledger, s Sender, t Timing, now func() time.Time, random io.Reader, log *slog.Logger) *Hold {
	return &Hold{caller: caller{ledger: l, sender: s, timing: t, now: now, log: log}, random: random, abandoned: newAbandoned(l, now, log)}
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
	claimed, err := repeatedly(ctx, func() (ledger.Claimed, error) { return h.ledger.Claim(ctx, want) })
	if err != nil {
		h.abandoned.add(ledger.Ended{ID: want.ID, Claim: token, Cause: Cause{"claim_abandoned", "claim"}.String()})
		h.log.Error("claim abandoned: nothing is sent under it", "reference", ledger.ReferenceOf(want.ID), "error", err.Error())
		return Claim{}, fmt.Errorf("%w: %w", ErrNotClaimed, err)
	}
	failpoint.Hit("hold.after-claim")
	return Claim{claimed.Owned, claimed.Row, NewLease(want.LeaseUntil, h.now)}, nil
}

// Carry makes the one relay call of a claim, and records how it ended. It runs
// under deadlines of its own: nobody's leaving cancels it. Nothing is reported
// as recorded that is not in the ledger.
func (h *Hold) Carry(c Claim, m Message) Ending {
	verdict := h.call(c, m)
	failpoint.Hit("hold.before-settle")
	ending := h.record(c, verdict, time.Time{})
	failpoint.Hit("hold.after-settle")
	h.report(c, verdict, ending)
	if h.health != nil {
		h.health.note(verdict)
	}
	return ending
}
