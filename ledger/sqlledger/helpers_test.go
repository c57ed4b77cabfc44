package sqlledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// onWriter runs code on the writer's connection, in a transaction of its own.
func onWriter(t *testing.T, d *DB, do func(*transaction) error) error {
	t.Helper()
	return d.writer.submit(t.Context(), &write{do: do})
}

// raw runs SQL on the writer's connection.
func raw(t *testing.T, d *DB, statement string, args ...any) error {
	t.Helper()
	return onWriter(t, d, func(tx *transaction) error {
		_, err := tx.conn.ExecContext(uncancelled, statement, args...)
		return err
	})
}

// rawConn hands out the driver's own connection of the writer.
func rawConn(t *testing.T, d *DB, use func(*sqlite3.SQLiteConn)) {
	t.Helper()
	err := onWriter(t, d, func(tx *transaction) error {
		return tx.conn.Raw(func(c any) error { use(c.(*sqlite3.SQLiteConn)); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
}

// countCommits counts the writer's commits from now on.
func countCommits(t *testing.T, d *DB) *atomic.Int64 {
	t.Helper()
	n := new(atomic.Int64)
	rawConn(t, d, func(c *sqlite3.SQLiteConn) {
		c.RegisterCommitHook(func() int { n.Add(1); return 0 })
	})
	n.Store(0)
	return n
}

// holdWriter stops the writer inside a transaction, so that what comes now
// gathers in its queue, until the function that it returns is called.
func holdWriter(t *testing.T, d *DB) (goOn func()) {
	t.Helper()
	started, released := make(chan struct{}), make(chan struct{})
	op := &write{done: make(chan struct{}), do: func(*transaction) error {
		close(started)
		<-released
		return nil
	}}
	if err := d.writer.enqueue(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	<-started
	return func() { close(released) }
}

// together makes calls that end up in one transaction, and answers with their
// errors.
func together(t *testing.T, d *DB, calls ...func() error) []error {
	t.Helper()
	goOn := holdWriter(t, d)
	errs := make([]error, len(calls))
	done := make(chan struct{})
	for i, call := range calls {
		go func() {
			errs[i] = call()
			done <- struct{}{}
		}()
		waitFor(t, func() bool { return len(d.writer.queue) == i+1 })
	}
	goOn()
	for range calls {
		<-done
	}
	return errs
}

// claiming is a call for together.
func claiming(d *DB, c ledger.NewClaim) func() error {
	return func() error {
		got, err := d.Claim(context.Background(), c)
		if err == nil && !got.Owned {
			return errors.New("not owned")
		}
		return err
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not come true")
		}
	}
}

// claimed makes a fresh claim that is owned.
func claimed(t *testing.T, d *DB) ledger.NewClaim {
	t.Helper()
	c := ledgertest.NewClaim()
	if err := claiming(d, c)(); err != nil {
		t.Fatal(err)
	}
	return c
}

// isThere reports whether a handle shows a claim's row under that claim.
func isThere(t *testing.T, d *DB, c ledger.NewClaim) bool {
	t.Helper()
	row, err := d.Submission(t.Context(), c.ID)
	if err != nil && !errors.Is(err, ledger.ErrUnseen) {
		t.Fatal(err)
	}
	return row.Claim == c.Token
}

// plainConn opens a file as any other program does.
func plainConn(t *testing.T, file string, statements ...string) {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range statements {
		if _, err := c.(*sqlite3.SQLiteConn).Exec(s, []driver.Value{}); err != nil {
			t.Fatal(err)
		}
	}
}
