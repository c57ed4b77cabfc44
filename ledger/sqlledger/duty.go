package sqlledger

import (
	"context"
	"fmt"
	"time"

	"formledger/ledger"
)

// Duty asks for a duty; see ledger.Ledger.
func (d *DB) Duty(ctx context.Context, q ledger.Duty) (bool, error) {
	if q.Holder.IsZero() {
		return false, errNoClaim
	}
	taken := false
	err := d.writer.submit(ctx, &write{do: func(t *transaction) error {
		n, err := t.exec(takeDuty, "duty_"+q.Name, digits(q.Until)+q.Holder.String(), q.Holder.String(),
			digits(q.At), digits(q.At.Add(ledger.LongestDuty+time.Millisecond)))
		taken = n == 1
		return err
	}})
	if err != nil {
		return false, err
	}
	return taken, nil
}

// digits writes a time so that texts compare as times do.
func digits(t time.Time) string { return fmt.Sprintf("%016d", zeroMillis(t)) }
