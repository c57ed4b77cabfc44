package sqlledger

import (
	"context"

	"formledger/ledger"
)

// Doubt records an ending without proof; see ledger.Ledger.
func (d *DB) Doubt(ctx context.Context, e ledger.Ended) (bool, error) {
	return d.end(ctx, e, ledger.EndDoubted, ledger.EventDoubted)
}

// Release gives a claim back; see ledger.Ledger.
func (d *DB) Release(ctx context.Context, e ledger.Ended) (bool, error) {
	end := ledger.EndNotSent
	switch {
	case !e.Attempted:
		end = ledger.EndUnreached
	case ledger.IsForGood(e.Cause):
		end = ledger.EndRefused
	}
	return d.end(ctx, e, end, ledger.EventReleased)
}

func (d *DB) end(ctx context.Context, e ledger.Ended, end ledger.End, kind ledger.EventKind) (bool, error) {
	if e.Claim.IsZero() {
		return false, errNoClaim
	}
	changed := false
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		changed, err = t.end(e, end, kind)
		return err
	}})
	if err != nil {
		return false, err
	}
	return changed, nil
}

// end does to the row what its policy says, if the row still stands under the
// call's claim. It reports whether the row was changed.
func (t *transaction) end(e ledger.Ended, end ledger.End, kind ledger.EventKind) (bool, error) {
	row, err := t.read(e.ID)
	if err == ledger.ErrUnseen || err == nil && row.Claim != e.Claim {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	standing, changes := row.After(end)
	switch {
	case changes:
		return true, t.bring(row, standing, e, kind)
	case contradicts(row, end):
		return false, t.contradict(endedEvent(e, ledger.EventDisputed))
	}
	return false, nil
}

// contradicts: a disputed row changes by a person only, and how its claim's call
// ended goes on record for that person. Proof that nothing was sent is disputed
// on a row that is declared accepted.
func contradicts(row ledger.Submission, end ledger.End) bool {
	proof := end == ledger.EndNotSent || end == ledger.EndRefused || end == ledger.EndUnreached
	return row.Needs == ledger.NeedsDisputed || proof && row.Status == ledger.Accepted
}

// bring carries out what the end of a call makes of the row as it was read, with
// the end's event, and one more if the courier gives up.
func (t *transaction) bring(row ledger.Submission, n ledger.Standing, e ledger.Ended, kind ledger.EventKind) error {
	changed, err := t.exec(endCall, string(n.Status), text(string(n.Needs)), number(n.KeepsClaim), number(n.Doubted),
		n.Attempts, n.ClaimCap, text(e.Cause), millis(e.At), row.ID.String(), row.Claim.String(), millis(row.UpdatedAt))
	if err != nil {
		return err
	}
	if changed == 0 { // the row was read in this very transaction
		return ledger.ErrStale
	}
	if err := t.record(endedEvent(e, kind)); err != nil {
		return err
	}
	if n.Stopped {
		e.Note = "" // it stands beside how the call ended
		return t.record(endedEvent(e, ledger.EventStopped))
	}
	if e.Next.IsZero() || !row.Policy.KeepsWords() {
		return nil
	}
	_, err = t.postpone(row.ID.String(), e.Next) // a closed case has no words to wait with
	return err
}

func endedEvent(e ledger.Ended, kind ledger.EventKind) ledger.Event {
	return ledger.Event{Submission: e.ID, At: e.At, Kind: kind, Actor: ledger.ActorSystem, Cause: e.Cause, Claim: e.Claim, Note: e.Note}
}
