package sqlledger

import (
	"context"

	"formledger/ledger"
)

// Settle records an acknowledgment; see ledger.Ledger.
func (d *DB) Settle(ctx context.Context, a ledger.Acknowledgment) (bool, error) {
	if a.Claim.IsZero() {
		return false, errNoClaim
	}
	own := false
	alone := a.Policy == ledger.Hold && a.Note == "" && a.Earlier.IsZero()
	err := d.writer.submit(ctx, &write{atomic: !alone, do: func(t *transaction) (err error) {
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
	if a.Policy != ledger.Hold { // hold's happy path is one statement
		if err := t.wipe(a.ID.String()); err != nil {
			return false, err
		}
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
		return true, t.settledLate(a)
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

func (t *transaction) settledLate(a ledger.Acknowledgment) error {
	if err := t.wipe(a.ID.String()); err != nil {
		return err
	}
	if !a.Earlier.IsZero() {
		return t.acceptedBefore(a)
	}
	return t.record(eventOf(a, ledger.EventLateAcknowledged))
}

// confirm notes an acknowledgment of a row that an operator had declared
// accepted. One that the relay had settled is a repeat, and is no event; so is
// one of a row that is forgotten, as nobody knows any more who had settled that.
func (t *transaction) confirm(row ledger.Submission, a ledger.Acknowledgment) error {
	if row.AcceptedBy == ledger.AcceptedByRelay || row.Forgotten() {
		return nil
	}
	return t.recordOnce(eventOf(a, ledger.EventConfirmed))
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
