package sqlledger

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

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
}

func (t *transaction) decide(n ledger.Decision) (int64, error) {
	seen := []any{millis(n.At), n.Seen.ID.String(), string(n.Seen.Status), millis(n.Seen.UpdatedAt), token(n.Seen.Claim)}
	switch n.Kind {
	case ledger.Received:
		return t.exec(decideReceived, append([]any{ledger.Operator(n.By)}, seen...)...)
	case ledger.NotReceived:
		return t.exec(decideNotReceived, append([]any{causeNotReceived}, seen...)...)
	default:
		return t.exec(decideClose, append([]any{millis(n.At)}, seen...)...)
	}
}

// whyNot tells which of the decision's conditions did not hold.
func (t *transaction) whyNot(n ledger.Decision) error {
	row, err := t.read(n.Seen.ID)
	switch {
	case err != nil:
		return err
	case row.Status == ledger.Processing && !row.Claim.IsZero():
		return ledger.ErrClaimed
	case row.UpdatedAt.Equal(n.Seen.UpdatedAt) && row.Status == ledger.Accepted && n.Kind == ledger.NotReceived:
		return ledger.ErrFinal
	default:
		return ledger.ErrStale
	}
}

// Conflict counts other content under an ID; see ledger.Ledger.
func (d *DB) Conflict(ctx context.Context, id uuid.UUID, at time.Time) error {
	return d.writer.submit(ctx, &write{do: func(t *transaction) error {
		event, err := uuid.NewV7()
		if err != nil {
			return err
		}
		_, err = t.exec(countConflict, event.String(), id.String(), millis(at))
		return err
	}})
}
