package sqlledger

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// A limit of SQLite's own plays the full disk: it ends with the connection, as
// if space had been made meanwhile.
func TestAFullDatabaseLeavesNoHalfBatch(t *testing.T) {
	d := openTemp(t)
	first := claimed(t, d)
	if err := raw(t, d, `PRAGMA max_page_count = 20`); err != nil {
		t.Fatal(err)
	}
	claims := make([]ledger.NewClaim, 40)
	calls := make([]func() error, len(claims))
	for i := range claims {
		claims[i] = ledgertest.NewClaim()
		claims[i].Form = strings.Repeat("long name ", 400) // more than the pages that are left, in all
		calls[i] = claiming(d, claims[i])
	}
	for i, err := range together(t, d, calls...) {
		if !isFull(err) || errors.Is(err, ledger.ErrBroken) {
			t.Errorf("claim %d: %v", i, err)
		}
	}
	for i, c := range claims {
		if isThere(t, d, c) {
			t.Errorf("claim %d is there", i)
		}
	}
	afterSpace(t, d, first, claims)
}

// afterSpace repeats errored claims: each is owned, and the row that was there
// before is there still.
func afterSpace(t *testing.T, d *DB, first ledger.NewClaim, claims []ledger.NewClaim) {
	t.Helper()
	for i, c := range claims {
		if err := claiming(d, c)(); err != nil {
			t.Fatalf("claim %d, repeated: %v", i, err)
		}
	}
	if settled, err := d.Settle(context.Background(), ledgertest.Ack(first, 0)); err != nil || !settled {
		t.Errorf("settling the row of before: %v, %v", settled, err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func isFull(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrFull
}
