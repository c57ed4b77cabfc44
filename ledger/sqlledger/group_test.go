package sqlledger

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/mattn/go-sqlite3"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func TestManyWritesShareOneCommit(t *testing.T) {
	for _, c := range []struct {
		name                      string
		maxBatch, writes, commits int // commits with that of the write that holds the writer
	}{{"all that wait", 256, 200, 2}, {"as many as allowed", 30, 100, 5}, {"each its own", 1, 4, 5}} {
		t.Run(c.name, func(t *testing.T) {
			d := openFile(t, tempFile(t), Options{MaxBatch: c.maxBatch})
			commits := countCommits(t, d)
			calls := make([]func() error, c.writes)
			for i := range calls {
				calls[i] = claiming(d, ledgertest.NewClaim())
			}
			if err := errors.Join(together(t, d, calls...)...); err != nil {
				t.Fatal(err)
			}
			if n := int(commits.Load()); n != c.commits {
				t.Errorf("%d writes took %d commits, not %d", c.writes, n, c.commits)
			}
		})
	}
}

// One caller's refusal is its own: what the others wrote is durable, and of
// what it wrote itself nothing is left.
func TestACallersErrorIsItsOwn(t *testing.T) {
	d := openTemp(t)
	doubted := claimed(t, d)
	if _, err := d.Doubt(t.Context(), ledgertest.End(doubted, "timeout/dot", 0)); err != nil {
		t.Fatal(err)
	}
	stale, bad, half := ledger.Decision{Kind: ledger.Close, By: "ada"}, ledgertest.NewClaim(), ledgertest.NewClaim()
	stale.Seen.ID, bad.Policy = doubted.ID, "hope"
	good := []ledger.NewClaim{ledgertest.NewClaim(), ledgertest.NewClaim(), ledgertest.NewClaim(), ledgertest.NewClaim()}
	commits := countCommits(t, d)
	errs := together(t, d,
		claiming(d, good[0]), claiming(d, bad),
		claiming(d, good[1]), func() error { return d.Decide(context.Background(), stale) },
		claiming(d, good[2]), func() error { return d.writer.submit(context.Background(), halfDone(half)) },
		claiming(d, good[3]))
	if n := commits.Load(); n != 2 {
		t.Errorf("%d commits", n)
	}
	if !errors.Is(errs[1], errNoRow) || !errors.Is(errs[3], ledger.ErrStale) || !isConstraint(errs[5]) {
		t.Errorf("errors: %v", errs)
	}
	other := openFile(t, fileOf(t, d), Options{})
	for i, c := range good {
		if errs[2*i] != nil || !isThere(t, other, c) {
			t.Errorf("neighbour %d: %v", i, errs[2*i])
		}
	}
	if isThere(t, other, half) {
		t.Error("half of a failed write is there")
	}
}

// halfDone is a write whose second statement fails.
func halfDone(c ledger.NewClaim) *write {
	return &write{atomic: true, do: func(t *transaction) error {
		if _, err := t.claim(c); err != nil {
			return err
		}
		_, err := t.conn.ExecContext(uncancelled, `UPDATE submissions SET status = 'sent' WHERE id = ?`, c.ID.String())
		return err
	}}
}

func isConstraint(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrConstraint
}

func fileOf(t *testing.T, d *DB) string {
	t.Helper()
	var file string
	if err := d.reader.QueryRowContext(t.Context(), `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// After an error that may have ended the transaction nobody is told of a
// success, nothing is left of the batch, and no lock either: another process
// writes at once, and so does this one, on a fresh connection.
func TestAFailedTransactionLeavesNothing(t *testing.T) {
	d := openTemp(t)
	other := openFile(t, fileOf(t, d), Options{})
	claims := []ledger.NewClaim{ledgertest.NewClaim(), ledgertest.NewClaim()}
	ends := &write{do: func(*transaction) error { return fs.ErrInvalid }}
	errs := together(t, d, claiming(d, claims[0]),
		func() error { return d.writer.submit(context.Background(), ends) }, claiming(d, claims[1]))
	for _, err := range errs {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("errors: %v", errs)
		}
	}
	for i, handle := range []*DB{other, d} {
		if isThere(t, handle, claims[i]) {
			t.Errorf("claim %d is there", i)
		}
		if err := claiming(handle, claims[i])(); err != nil {
			t.Errorf("claim %d, repeated: %v", i, err)
		}
	}
	if errors.Is(d.Ping(t.Context()), ledger.ErrBroken) {
		t.Error("the ledger thinks that it is broken")
	}
}

// The commit after the one of the write that holds the writer fails.
func TestAnErrorOfTheCommitIsEverybodys(t *testing.T) {
	d := openTemp(t)
	bad := ledgertest.NewClaim()
	bad.Policy = "hope"
	claims := []ledger.NewClaim{ledgertest.NewClaim(), bad, ledgertest.NewClaim(), ledgertest.NewClaim()}
	var calls []func() error
	for _, c := range claims {
		calls = append(calls, claiming(d, c))
	}
	failCommit(t, d, 3)
	errs := together(t, d, calls...)
	if slices.Contains(errs, nil) || errors.Is(errs[1], errNoRow) {
		t.Errorf("errors: %v", errs)
	}
	claims[1].Policy = ledger.Hold
	for i, c := range claims {
		if isThere(t, d, c) {
			t.Errorf("claim %d is there", i)
		}
		if err := claiming(d, c)(); err != nil {
			t.Errorf("claim %d, repeated: %v", i, err)
		}
	}
}

// failCommit makes SQLite roll back instead of one of the next commits, of
// which the first is that of failCommit itself. The hook goes with its
// connection.
func failCommit(t *testing.T, d *DB, number int) {
	t.Helper()
	commits := 0
	rawConn(t, d, func(c *sqlite3.SQLiteConn) {
		c.RegisterCommitHook(func() int {
			if commits++; commits == number {
				return 1
			}
			return 0
		})
	})
}
