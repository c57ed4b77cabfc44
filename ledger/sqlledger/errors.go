package sqlledger

import (
	"errors"

	"github.com/mattn/go-sqlite3"

	"formledger/ledger"
)

// endsTransaction reports whether an error leaves the whole transaction in
// doubt. A constraint undoes its own statement and nothing else; after others
// (disk full, I/O, no memory) SQLite may have rolled everything back by itself.
// Source: https://www.sqlite.org/lang_transaction.html section 3
func endsTransaction(err error) bool {
	if err == nil {
		return false
	}
	for _, own := range []error{ledger.ErrStale, ledger.ErrClaimed, ledger.ErrFinal, ledger.ErrUnseen,
		ledger.ErrNoWords, ledger.ErrNotStopped, ledger.ErrNotRestored, errNoRow} {
		if errors.Is(err, own) {
			return false
		}
	}
	var e sqlite3.Error
	return !errors.As(err, &e) || e.Code != sqlite3.ErrConstraint
}
