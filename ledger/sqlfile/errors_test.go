package sqlfile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mattn/go-sqlite3"
)

func TestBroken(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                                   false,
		errors.New("not SQLite's"):            false,
		sqlite3.Error{Code: sqlite3.ErrFull}:  false,
		sqlite3.Error{Code: sqlite3.ErrIoErr}: true,
		fmt.Errorf("wrapped: %w", sqlite3.Error{Code: sqlite3.ErrCorrupt}): true,
		sqlite3.Error{Code: sqlite3.ErrNotADB}:                             true,
	} {
		if Broken(err) != want {
			t.Errorf("%v: not %v", err, want)
		}
	}
}
