package sqlfile

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

func TestAModeThatCreatesNothing(t *testing.T) {
	for _, mode := range []string{"ro", "rw"} {
		file := filepath.Join(t.TempDir(), "data.db")
		db := sql.OpenDB(NewConnector(file, []Pragma{Busy}).withMode(mode))
		if err := db.PingContext(t.Context()); err == nil {
			t.Errorf("%s: a file that is not there was opened", mode)
		}
		db.Close()
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: made the file", mode)
		}
	}
}
