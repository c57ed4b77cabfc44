package sqlledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Forgettable counts what Forget would wipe; see ledger.Ledger.
func (d *DB) Forgettable(ctx context.Context, before time.Time) (int, error) {
	n, err := look(ctx, d, scanCount, `SELECT count(*) FROM submissions WHERE `+forgettable, millis(before))
	if err != nil {
		return 0, err
	}
	return n[0], nil
}

func scanCount(rows *sql.Rows) (n int, err error) {
	err = rows.Scan(&n)
	return n, err
}

// forgetSlice looks for rows on a reader's connection, from one ID to the next:
// the writer, whom enquiries wait for, then only visits those.
const forgetSlice = `SELECT id FROM submissions WHERE id > $2 AND ` + forgettable + ` ORDER BY id LIMIT $3`

// Forget wipes all but the identity of old cases; see ledger.Ledger.
func (d *DB) Forget(ctx context.Context, f ledger.Forgetting) (int, error) {
	for total, after := 0, ""; ; {
		ids, err := look(ctx, d, scanText, forgetSlice, millis(f.Before), after, sweepSlice)
		if err != nil || len(ids) == 0 {
			return total, err
		}
		n, err := d.sweep(ctx, func(t *transaction) (int, error) { return t.forget(ids, f) })
		total += n
		if err != nil {
			return total, err
		}
		if f.Each != nil {
			f.Each(total)
		}
		after = ids[len(ids)-1]
	}
}

// forget wipes those of the rows that still are as they were found.
func (t *transaction) forget(ids []string, f ledger.Forgetting) (int, error) {
	forgotten := 0
	for _, id := range ids {
		n, err := t.exec(forgetRow, millis(f.Before), id)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			continue
		}
		forgotten++
		if _, err := t.exec(forgetEvents, id); err != nil {
			return 0, err
		}
		if err := t.wipe(id); err != nil { // no ended case has words; should one, they go too
			return 0, err
		}
	}
	if forgotten == 0 {
		return 0, nil
	}
	t.untidy = true
	return forgotten, t.recordForgotten(forgotten, f)
}

// recordForgotten counts the rows of one forgetting on one event, slice by slice.
func (t *transaction) recordForgotten(rows int, f ledger.Forgetting) error {
	itself, actor := uuid.Nil.String(), ledger.Operator(f.By)
	note := "whose last change was before " + f.Before.UTC().Format(time.RFC3339)
	n, err := t.exec(countForgotten, rows, itself, millis(f.At), actor, note)
	if err != nil || n > 0 {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	_, err = t.exec(noteForgotten, id.String(), itself, millis(f.At), actor, note, rows)
	return err
}
