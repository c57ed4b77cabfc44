package sqlfile

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// Broken reports the errors after which only a restart can be trusted.
func Broken(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == sqlite3.ErrIoErr || e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB
}
