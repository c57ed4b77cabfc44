package sqlledger

import (
	"context"
	"errors"
	"time"

	"formledger/ledger"
)

// Claim asks for the right to send; see ledger.Ledger.
func (d *DB) Claim(ctx context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
	switch {
	case c.Token.IsZero():
		return ledger.Claimed{}, errNoClaim
	case c.Policy.KeepsWords():
		return ledger.Claimed{}, errClaimedFirst
	}
	var claimed ledger.Claimed
	err := d.writer.submit(ctx, &write{do: func(t *transaction) (err error) {
		claimed, err = t.claim(c)
		return err
	}})
	if err != nil {
		// the writer may still be at work on the variable
		return ledger.Claimed{}, err
	}
	return claimed, nil
}

var errClaimedFirst = errors.New("a message whose policy keeps its words is stored before it is claimed")

func (t *transaction) claim(c ledger.NewClaim) (ledger.Claimed, error) {
	if !t.restored.IsZero() {
		n := ledger.NewEntry{ID: c.ID, Form: c.Form, Policy: c.Policy, PayloadHash: c.PayloadHash, At: c.At}
		if row, unsure, err := t.unsure(n); unsure || err != nil {
			return ledger.Claimed{Row: row}, err
		}
	}
	now, lease, token := millis(c.At), millis(c.LeaseUntil), c.Token.String()
	n, err := t.exec(claimNew, c.ID.String(), string(ledger.ReferenceOf(c.ID)), c.Form, string(c.Policy),
		c.PayloadHash, now, token, lease, text(c.RelayEpoch))
	if err != nil {
		return ledger.Claimed{}, err
	}
	if n == 1 {
		return ledger.Claimed{Owned: true, Row: claimedRow(c)}, nil
	}
	if _, err = t.exec(claimFree, token, lease, text(c.RelayEpoch), now, c.ID.String(), c.PayloadHash); err != nil {
		return ledger.Claimed{}, err
	}
	row, err := t.read(c.ID)
	if err == ledger.ErrUnseen {
		return ledger.Claimed{}, errNoRow
	}
	return ledger.Claimed{Owned: err == nil && !row.Policy.KeepsWords() && owns(c, row), Row: row}, err
}

// owns tells by the token: an earlier try of the same claim that errored may
// have won. If the row has become disputed since, nothing more is sent for it.
func owns(c ledger.NewClaim, row ledger.Submission) bool {
	return row.Claim == c.Token && row.PayloadHash == c.PayloadHash &&
		row.Status == ledger.Processing && row.Needs != ledger.NeedsDisputed
}

// claimedRow is the row that claimNew has just inserted.
func claimedRow(c ledger.NewClaim) ledger.Submission {
	at := c.At.UTC().Truncate(time.Millisecond)
	return ledger.Submission{
		ID: c.ID, Reference: ledger.ReferenceOf(c.ID), Form: c.Form, Policy: c.Policy,
		PayloadHash: c.PayloadHash, Status: ledger.Processing, CreatedAt: at,
		Claim: c.Token, LeaseUntil: c.LeaseUntil.UTC().Truncate(time.Millisecond),
		RelayEpoch: c.RelayEpoch, Claims: 1, UpdatedAt: at,
	}
}
