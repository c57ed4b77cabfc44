package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"formledger/ledger/sqlfile"
)

// Tidy sees to it that wiped words do not stay in the write-ahead log either,
// where they would lie until enough other writes had gone over them. While a
// reader or another process is in the way it does nothing, and the next Tidy
// tries again.
func (d *DB) Tidy(ctx context.Context) error {
	return d.writer.submit(ctx, &write{between: (*writer).tidy})
}

// TidyNow goes on with that until it is done. When the context ends first it says
// so: somebody was in the way all the time.
func (d *DB) TidyNow(ctx context.Context) error {
	for {
		done := false
		err := d.writer.submit(ctx, &write{between: func(w *writer) error {
			err := w.tidy()
			done = !w.untidy
			return err
		}})
		if err != nil || done {
			return err
		}
		select {
		case <-time.After(tidyPause):
		case <-ctx.Done():
			return fmt.Errorf("emptying the ledger's log, which others are reading: %w", ctx.Err())
		}
	}
}

const tidyPause = 50 * time.Millisecond

// tidy runs on the writer's goroutine, outside a transaction. The usual waiting
// for others would keep all writers waiting too.
func (w *writer) tidy() error {
	if !w.untidy {
		return nil
	}
	if err := w.tx.pragma(sqlfile.Hurried); err != nil {
		return err
	}
	truncated, err := w.tx.truncateLog()
	if truncated {
		w.untidy = false
	}
	return errors.Join(err, w.tx.pragma(sqlfile.Busy))
}

// truncateLog moves the log into the database and empties it, unless somebody
// is in the way. Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
func (t *transaction) truncateLog() (bool, error) {
	var busy, frames, moved int
	row := t.conn.QueryRowContext(uncancelled, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := row.Scan(&busy, &frames, &moved); err != nil {
		return false, fmt.Errorf("emptying the ledger's log: %w", err)
	}
	return busy == 0, nil
}

// pragma changes one of the connection's settings and reads it back.
func (t *transaction) pragma(p sqlfile.Pragma) error {
	var got string
	if _, err := t.conn.ExecContext(uncancelled, "PRAGMA "+p.Set); err != nil {
		return fmt.Errorf("setting %s: %w", p.Set, err)
	}
	if err := t.conn.QueryRowContext(uncancelled, "PRAGMA "+p.Read).Scan(&got); err != nil {
		return fmt.Errorf("reading back %s: %w", p.Read, err)
	}
	if got != p.Want {
		return fmt.Errorf("the database took %s as %q instead of %q", p.Read, got, p.Want)
	}
	return nil
}
