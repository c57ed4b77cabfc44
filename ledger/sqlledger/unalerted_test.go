package sqlledger

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// The watcher looks every few seconds, also when a whole outage needs somebody:
// 10,000 rows, first with nobody told, then with everybody told.
func BenchmarkUnalerted(b *testing.B) {
	const many = 10_000
	d, err := Open(b.Context(), b.TempDir()+"/ledger.db", Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	run := func(do func(*transaction) error) {
		if err := d.writer.submit(b.Context(), &write{do: do}); err != nil {
			b.Fatal(err)
		}
	}
	run(func(tx *transaction) error { return inNeed(tx, many) })
	look := func(want int) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if rows, err := d.Unalerted(b.Context(), 0); err != nil || len(rows) != want {
					b.Fatalf("%d rows, %v", len(rows), err)
				}
			}
		}
	}
	b.Run("untold", look(many))
	run(everybodyTold)
	b.Run("told", look(0))
}

func inNeed(tx *transaction, many int) error {
	for range many {
		id := uuid.Must(uuid.NewV7())
		_, err := tx.conn.ExecContext(uncancelled, `INSERT INTO submissions
 (id, reference, form, policy, payload_hash, status, created_at, doubted, last_error, updated_at, needs)
 VALUES (?1, ?2, 'contact', 'hold', 'v1.x.y', 'uncertain', 1, 1, 'timeout@dot', 2, 'uncertain')`, id.String(), string(ledger.ReferenceOf(id)))
		if err != nil {
			return err
		}
		if err := tx.record(ledger.Event{Submission: id, At: time.UnixMilli(2), Kind: ledger.EventDoubted, Actor: ledger.ActorSystem}); err != nil {
			return err
		}
	}
	return nil
}

func everybodyTold(tx *transaction) error {
	_, err := tx.conn.ExecContext(uncancelled, `INSERT INTO events (id, submission, at, kind, actor, last_at)
 SELECT 'e' || id, id, 10, 'alerted', 'system', 10 FROM submissions`)
	return err
}
