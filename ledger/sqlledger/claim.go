package sqlledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Claim asks for the right to send; see ledger.Ledger.
func (d *DB) Claim(ctx context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
	if c.Token.IsZero() {
		return ledger.Claimed{}, errNoClaim
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
	return ledger.Claimed{Owned: err == nil && owns(c, row), Row: row}, err
}

// owns tells by the token: an earlier try of the same claim that errored may
// have won. If the row has become disputed since, nothing more is sent for it.
func owns(c ledger.NewClaim, row ledger.Submission) bool {
	return row.Claim == c.Token && row.PayloadHash == c.PayloadHash &&
		row.Status == ledger.Processing && row.Needs != ledger.NeedsDisputed
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
	if a.Claim.IsZero() {
		return false, errNoClaim
	}
	own := false
	err := d.writer.submit(ctx, &write{atomic: a.Note != "" || !a.Earlier.IsZero(), do: func(t *transaction) (err error) {
		own, err = t.settleOwn(a)
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

func (t *transaction) settleOwn(a ledger.Acknowledgment) (bool, error) {
	n, err := t.exec(settleOwn, text(a.Receipt), millis(a.At), a.ID.String(), a.PayloadHash, a.Claim.String())
	if err != nil || n == 0 {
		return false, err
	}
	if !a.Earlier.IsZero() {
		return true, t.acceptedBefore(a)
	}
	if a.Note == "" {
		return true, nil
	}
	return true, t.record(eventOf(a, ledger.EventPartlyRefused))
}

// acceptedBefore puts on record that the far end had taken the message under an
// earlier claim, and before the operator if one of them had decided otherwise.
func (t *transaction) acceptedBefore(a ledger.Acknowledgment) error {
	contradicted, err := t.any(findKind, a.ID.String(), string(ledger.EventNotReceived))
	if err != nil {
		return err
	}
	if contradicted {
		return t.contradict(eventOf(a, ledger.EventDisputed))
	}
	return t.record(eventOf(a, ledger.EventLateAcknowledged))
}

// any reports whether there is such an event.
func (t *transaction) any(s statement, args ...any) (bool, error) {
	rows, err := t.query(s, args...)
	if err != nil {
		return false, err
	}
	found, err := collect(rows, scanEvent)
	return len(found) > 0, err
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
	if n == 1 && !a.Earlier.IsZero() {
		return true, t.acceptedBefore(a)
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
	// an operator's word on a row that nobody held leaves no claim to compare
	if row.Status == ledger.Accepted && (row.Claim == a.Claim || row.Claim.IsZero()) {
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
	return t.recordOnce(eventOf(a, ledger.EventConfirmed))
}

// contradict puts a row before the operator, with the evidence on record. On a
// row that is disputed already, a repeat of the same evidence is no event.
func (t *transaction) contradict(e ledger.Event) error {
	n, err := t.exec(dispute, millis(e.At), e.Submission.String())
	if err != nil {
		return err
	}
	if n == 0 {
		return t.recordOnce(e)
	}
	return t.record(e)
}

func eventOf(a ledger.Acknowledgment, kind ledger.EventKind) ledger.Event {
	note := a.Receipt
	if !a.Earlier.IsZero() {
		note += "\naccepted under the earlier claim " + a.Earlier.String()
	}
	if a.Note != "" {
		note += "\n" + a.Note
	}
	return ledger.Event{Submission: a.ID, At: a.At, Kind: kind, Actor: ledger.ActorSystem, Claim: a.Claim, Note: note}
}

// Doubt records an ending without proof; see ledger.Ledger.
func (d *DB) Doubt(ctx context.Context, e ledger.Ended) (bool, error) {
	return d.end(ctx, e, ledger.EventDoubted, func(t *transaction) (int64, error) {
		n, err := t.exec(doubtRow, e.Cause, millis(e.At), e.ID.String(), e.Claim.String())
		if err != nil || n == 1 {
			return n, err
		}
		return 0, t.contradictIf(e, disputed)
	})
}

// Release gives a claim back; see ledger.Ledger.
func (d *DB) Release(ctx context.Context, e ledger.Ended) (bool, error) {
	return d.end(ctx, e, ledger.EventReleased, func(t *transaction) (int64, error) {
		n, err := t.exec(releaseRow, number(e.Attempted), e.Cause, millis(e.At), e.ID.String(), e.Claim.String())
		if err != nil || n == 1 {
			return n, err
		}
		// proof that nothing was sent, for a row that is declared accepted
		return 0, t.contradictIf(e, func(row ledger.Submission) bool {
			return disputed(row) || row.Status == ledger.Accepted
		})
	})
}

// disputed rows change by a person only; how their claim's call ended goes on
// record, for that person.
func disputed(row ledger.Submission) bool { return row.Needs == ledger.NeedsDisputed }

// contradictIf puts the end of a call before the operator, if the row still
// stands under the call's claim and is one of those.
func (t *transaction) contradictIf(e ledger.Ended, those func(ledger.Submission) bool) error {
	row, err := t.read(e.ID)
	if err == ledger.ErrUnseen {
		return nil
	}
	if err != nil || row.Claim != e.Claim || !those(row) {
		return err
	}
	return t.contradict(endedEvent(e, ledger.EventDisputed))
}

// end carries out the one conditional update that ends a call, and its event.
func (d *DB) end(ctx context.Context, e ledger.Ended, kind ledger.EventKind, update func(*transaction) (int64, error)) (bool, error) {
	if e.Claim.IsZero() {
		return false, errNoClaim
	}
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
	return ledger.Event{Submission: e.ID, At: e.At, Kind: kind, Actor: ledger.ActorSystem, Cause: e.Cause, Claim: e.Claim, Note: e.Note}
}

// recordOnce adds an event that the row's record does not hold yet, so that
// repeats of an errored write leave one.
func (t *transaction) recordOnce(e ledger.Event) error {
	known, err := t.any(findEvent, e.Submission.String(), string(e.Kind), token(e.Claim), text(e.Cause), text(e.Note))
	if err != nil || known {
		return err
	}
	return t.record(e)
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
