package sqlledger

import (
	"context"

	"formledger/ledger"
)

// Dispute puts a row before the operator; see ledger.Ledger.
func (d *DB) Dispute(ctx context.Context, e ledger.Event) error {
	return d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) error { return t.contradict(e) }})
}
