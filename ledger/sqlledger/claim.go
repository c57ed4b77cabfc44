package sqlledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Claim asks for the right to send; see ledger.Ledger.
func (d *DB) Claim(ctx context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
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

func (t *transaction) claim(c ledger.NewClaim) (ledger.Claimed, error) {
	now, lease, token := millis(c.At), millis(c.LeaseUntil), c.Token.String()
	n, err := t.exec(claimNew, c.ID.String(), string(ledger.ReferenceOf(c.ID)), c.Form, string(c.Policy),
		c.PayloadHash, now, token, lease, text(c.RelayEpoch))
	if err != nil {
		return ledger.Claimed{}, err
	}
	if n == 1 {
		return ledger.Claimed{Owned: true, Row: freshRow(c)}, nil
	}
	if _, err = t.exec(claimFree, token, lease, text(c.RelayEpoch), now, c.ID.String(), c.PayloadHash); err != nil {
		return ledger.Claimed{}, err
	}
	row, err := t.read(c.ID)
	if err == ledger.ErrUnseen {
		return ledger.Claimed{}, errNoRow
	}
	// by its token: an earlier try of the same claim that errored may have won
	owned := err == nil && row.Claim == c.Token && row.Status == ledger.Processing
	return ledger.Claimed{Owned: owned, Row: row}, err
}

// freshRow is the row that claimNew has just inserted.
func freshRow(c ledger.NewClaim) ledger.Submission {
	at := c.At.UTC().Truncate(time.Millisecond)
	return ledger.Submission{
		ID: c.ID, Reference: ledger.ReferenceOf(c.ID), Form: c.Form, Policy: c.Policy,
		PayloadHash: c.PayloadHash, Status: ledger.Processing, CreatedAt: at,
		Claim: c.Token, LeaseUntil: c.LeaseUntil.UTC().Truncate(time.Millisecond),
		RelayEpoch: c.RelayEpoch, Claims: 1, UpdatedAt: at,
	}
}

// Settle records an acknowledgment; see ledger.Ledger.
func (d *DB) Settle(ctx context.Context, a ledger.Acknowledgment) (bool, error) {
	own := false
	err := d.writer.submit(ctx, &write{do: func(t *transaction) error {
		n, err := t.exec(settleOwn, text(a.Receipt), millis(a.At), a.ID.String(), a.PayloadHash, a.Claim.String())
		own = n == 1
		return err
	}})
	if err != nil {
		return false, err
	}
	if own {
		return true, nil
	}
	return d.settleOdd(ctx, a)
}

// settleOdd is what is left once a settle did not find its row processing under
// its own claim: a repeat, a late acknowledgment, or a contradiction.
func (d *DB) settleOdd(ctx context.Context, a ledger.Acknowledgment) (bool, error) {
	settled := false
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		settled, err = t.settleOdd(a)
		return err
	}})
	if err != nil {
		return false, err
	}
	return settled, nil
}

func (t *transaction) settleOdd(a ledger.Acknowledgment) (bool, error) {
	n, err := t.exec(settleLate, text(a.Receipt), millis(a.At), a.ID.String(), a.PayloadHash, a.Claim.String())
	if err != nil {
		return false, err
	}
	if n == 1 {
		return true, t.record(eventOf(a, ledger.EventLateAcknowledged))
	}
	row, err := t.read(a.ID)
	if err == ledger.ErrUnseen || (err == nil && row.PayloadHash != a.PayloadHash) {
		return false, nil // an acknowledgment of nothing that is recorded here
	}
	if err != nil {
		return false, err
	}
	if row.Status == ledger.Accepted && row.Claim == a.Claim {
		return true, t.confirm(row, a)
	}
	return false, t.contradict(eventOf(a, ledger.EventDisputed))
}

// confirm notes an acknowledgment of a row that an operator had declared
// accepted. One that the relay had settled is a repeat, and is no event.
func (t *transaction) confirm(row ledger.Submission, a ledger.Acknowledgment) error {
	if row.AcceptedBy == ledger.AcceptedByRelay {
		return nil
	}
	return t.record(eventOf(a, ledger.EventConfirmed))
}

// contradict puts a row before the operator, with the evidence on record.
func (t *transaction) contradict(e ledger.Event) error {
	if _, err := t.exec(dispute, millis(e.At), e.Submission.String()); err != nil {
		return err
	}
	return t.record(e)
}

func eventOf(a ledger.Acknowledgment, kind ledger.EventKind) ledger.Event {
	return ledger.Event{Submission: a.ID, At: a.At, Kind: kind, Actor: ledger.ActorSystem, Claim: a.Claim, Note: a.Receipt}
}

// Doubt records an ending without proof; see ledger.Ledger.
func (d *DB) Doubt(ctx context.Context, e ledger.Ended) (bool, error) {
	return d.end(ctx, e, ledger.EventDoubted, func(t *transaction) (int64, error) {
		return t.exec(doubtRow, e.Cause, millis(e.At), e.ID.String(), e.Claim.String())
	})
}

// Release gives a claim back; see ledger.Ledger.
func (d *DB) Release(ctx context.Context, e ledger.Ended) (bool, error) {
	return d.end(ctx, e, ledger.EventReleased, func(t *transaction) (int64, error) {
		n, err := t.exec(releaseRow, number(e.Attempted), e.Cause, millis(e.At), e.ID.String(), e.Claim.String())
		if err != nil || n == 1 {
			return n, err
		}
		return 0, t.contradictAccepted(e)
	})
}

// contradictAccepted: proof that nothing was sent, for a row that an operator
// had declared accepted under this very claim.
func (t *transaction) contradictAccepted(e ledger.Ended) error {
	row, err := t.read(e.ID)
	if err == ledger.ErrUnseen {
		return nil
	}
	if err != nil || row.Status != ledger.Accepted || row.Claim != e.Claim {
		return err
	}
	return t.contradict(endedEvent(e, ledger.EventDisputed))
}

// end carries out the one conditional update that ends a call, and its event.
func (d *DB) end(ctx context.Context, e ledger.Ended, kind ledger.EventKind, update func(*transaction) (int64, error)) (bool, error) {
	changed := false
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) error {
		n, err := update(t)
		if err != nil || n == 0 {
			return err
		}
		changed = true
		return t.record(endedEvent(e, kind))
	}})
	if err != nil {
		return false, err
	}
	return changed, nil
}

func endedEvent(e ledger.Ended, kind ledger.EventKind) ledger.Event {
	return ledger.Event{Submission: e.ID, At: e.At, Kind: kind, Actor: ledger.ActorSystem, Cause: e.Cause, Claim: e.Claim}
}

// record adds an event to a row's record.
func (t *transaction) record(e ledger.Event) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	_, err = t.exec(insertEvent, id.String(), e.Submission.String(), millis(e.At), string(e.Kind), e.Actor,
		text(e.Cause), token(e.Claim), text(e.Note))
	return err
}
