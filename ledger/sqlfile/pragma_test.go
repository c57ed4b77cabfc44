package sqlfile

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAConnectionWithoutItsPragmasIsRefused(t *testing.T) {
	for _, p := range []Pragma{
		{"synchronous=FULL", "synchronous", "3"},
		{"sinchronous=FULL", "sinchronous", "2"}, // SQLite ignores a misspelt name
		{"journal_mode=OFF", "journal_mode", "wal"},
		{"synchronous=", "synchronous", "2"},
	} {
		db := sql.OpenDB(NewConnector(filepath.Join(t.TempDir(), "data.db"), []Pragma{p}))
		if err := db.PingContext(t.Context()); err == nil {
			t.Errorf("%v was taken", p)
		}
		db.Close()
	}
}

// Of connections that change a new file to WAL at once, none finds it locked.
func TestConnectionsThatStartAtOnceAllOpen(t *testing.T) {
	for range 5 {
		file := filepath.Join(t.TempDir(), "data.db")
		if err := Prepare(file); err != nil {
			t.Fatal(err)
		}
		var errs [6]error
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				db := sql.OpenDB(NewConnector(file, Writer))
				errs[i] = errors.Join(db.PingContext(context.Background()), db.Close())
			})
		}
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
	}
}
