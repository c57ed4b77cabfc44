package sqlledger

import (
	"context"
	"fmt"

	"formledger/ledger"
)

const causeNotReceived = "operator.not_received"

// Decide records a person's decision; see ledger.Ledger.
func (d *DB) Decide(ctx context.Context, n ledger.Decision) error {
	if _, known := eventKinds[n.Kind]; !known {
		return fmt.Errorf("%q is not a decision", n.Kind)
	}
	return d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) error {
		changed, err := t.decide(n)
		if err != nil {
			return err
		}
		if changed == 0 {
			return t.whyNot(n)
		}
		if err := t.words(n); err != nil {
			return err
		}
		return t.record(ledger.Event{
			Submission: n.Seen.ID, At: n.At, Kind: eventKinds[n.Kind], Actor: ledger.Operator(n.By),
			Claim: n.Seen.Claim, Note: n.Note,
		})
	}})
}

var eventKinds = map[ledger.DecisionKind]ledger.EventKind{
	ledger.Received:    ledger.EventReceived,
	ledger.NotReceived: ledger.EventNotReceived,
	ledger.Close:       ledger.EventClosed,
	ledger.SendAgain:   ledger.EventSendAgain,
}

func (t *transaction) decide(n ledger.Decision) (int64, error) {
	seen := []any{millis(n.At), n.Seen.ID.String(), string(n.Seen.Status), zeroMillis(n.Seen.UpdatedAt), token(n.Seen.Claim)}
	switch n.Kind {
	case ledger.Received:
		return t.exec(decideReceived, append([]any{ledger.Operator(n.By)}, seen...)...)
	case ledger.NotReceived:
		return t.exec(decideNotReceived, append([]any{causeNotReceived}, seen...)...)
	case ledger.SendAgain:
		return t.exec(decideSendAgain, seen...)
	default:
		return t.exec(decideClose, append([]any{millis(n.At)}, seen...)...)
	}
}

// words does to a row's words what was decided: they are wiped with the end of
// the case, or the courier takes them at once.
func (t *transaction) words(n ledger.Decision) error {
	if n.Kind == ledger.Received || n.Kind == ledger.Close {
		return t.wipe(n.Seen.ID.String())
	}
	row, err := t.read(n.Seen.ID)
	if err != nil || !row.Policy.KeepsWords() {
		return err
	}
	kept, err := t.postpone(n.Seen.ID.String(), n.At)
	if err == nil && !kept {
		err = ledger.ErrNoWords
	}
	return err
}

// whyNot tells which of the decision's conditions did not hold.
func (t *transaction) whyNot(n ledger.Decision) error {
	row, err := t.read(n.Seen.ID)
	switch {
	case err != nil:
		return err
	case row.Status == ledger.Processing && !row.Claim.IsZero():
		return ledger.ErrClaimed
	case !asSeen(row, n.Seen):
		return ledger.ErrStale
	case n.Kind == ledger.SendAgain:
		return ledger.ErrNotStopped
	case row.Status == ledger.Accepted && n.Kind == ledger.NotReceived:
		return ledger.ErrFinal
	default:
		return ledger.ErrStale
	}
}

func asSeen(row, seen ledger.Submission) bool {
	return row.UpdatedAt.Equal(seen.UpdatedAt) && row.Status == seen.Status && row.Claim == seen.Claim
}
