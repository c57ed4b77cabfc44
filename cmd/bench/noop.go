package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// noLedger grants every claim and keeps nothing. The methods that it does not
// have are never called on the happy path.
type noLedger struct {
	ledger.Ledger
	// taken makes it say that the row is there and accepted already.
	taken bool
}

func (noLedger) Submission(context.Context, uuid.UUID) (ledger.Submission, error) {
	return ledger.Submission{}, ledger.ErrUnseen
}

func (n noLedger) Claim(_ context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
	row := ledger.Submission{
		ID: c.ID, Reference: ledger.ReferenceOf(c.ID), Form: c.Form, Policy: c.Policy, PayloadHash: c.PayloadHash,
		Status: ledger.Processing, CreatedAt: c.At.UTC().Truncate(time.Millisecond), UpdatedAt: c.At,
		Claim: c.Token, LeaseUntil: c.LeaseUntil, Claims: 1,
	}
	if n.taken {
		row.Status, row.AcceptedBy = ledger.Accepted, ledger.AcceptedByRelay
	}
	return ledger.Claimed{Owned: !n.taken, Row: row}, nil
}

func (noLedger) Settle(context.Context, ledger.Acknowledgment) (bool, error) { return true, nil }

func (noLedger) Close() error { return nil }

// counting counts the calls of a sender.
type counting struct {
	relay.Sender
	calls atomic.Int64
}

func (c *counting) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	c.calls.Add(1)
	return c.Sender.Send(ctx, m, lease)
}

// away is a mail server that cannot be reached.
type away struct{}

func (away) Send(context.Context, relay.Mail, relay.Lease) relay.Verdict {
	return relay.Verdict{Finding: relay.NotSent, Unreached: true, Cause: relay.Cause{Code: "connect_refused", Stage: "connect"}}
}

// nullRelay accepts every message at once.
type nullRelay struct{}

func (nullRelay) Send(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
	if len(m.Bytes) == 0 {
		return relay.ProvenNotSent("empty", "render")
	}
	return relay.AcceptedWith("taken by the null relay")
}
