package sqlfile

import (
	"context"
	"database/sql/driver"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

// Connector opens connections with their pragmas set and read back.
type Connector struct {
	driver *sqlite3.SQLiteDriver
	source string
}

var _ driver.Connector = (*Connector)(nil)

// NewConnector is for one file, whatever its name. Transactions are immediate.
func NewConnector(file string, pragmas []Pragma) *Connector {
	hook := func(c *sqlite3.SQLiteConn) error { return setPragmas(c, pragmas) }
	return &Connector{&sqlite3.SQLiteDriver{ConnectHook: hook}, "file:" + escapePath(file) + "?_txlock=immediate"}
}

// NewExaminer is for a look at a file that has to be there, and stays as it is.
func NewExaminer(file string) *Connector {
	return NewConnector(file, []Pragma{Busy, ReadOnly, Full}).withMode(examineMode(file))
}

// NewCopier is for a copy of a file that has to be there, and stays as it is.
// VACUUM INTO writes a file of its own, which query_only would refuse as well.
func NewCopier(file string) *Connector {
	return NewConnector(file, []Pragma{Busy}).withMode(examineMode(file))
}

// withMode is a connector alike that opens the file in a mode of SQLite's, such
// as ro or rw, which do not create it.
// Source: https://www.sqlite.org/uri.html
func (c *Connector) withMode(mode string) *Connector {
	return &Connector{c.driver, c.source + "&mode=" + mode}
}

// examineMode is read-only beside a write-ahead log, which the last connection
// that may write would otherwise write into the database and remove. Without
// one it is read-write: a read-only connection would leave an empty log behind.
// Source: https://www.sqlite.org/wal.html#read_only_databases
func examineMode(file string) string {
	if _, err := os.Stat(file + "-wal"); err == nil {
		return "ro"
	}
	return "rw"
}

// Connect opens a connection; one that does not take its pragmas is refused.
func (c *Connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.source) }

// Driver is SQLite's.
func (c *Connector) Driver() driver.Driver { return c.driver }

// escapePath makes a path safe inside an SQLite URI, where ? and # end it, and
// two slashes begin a host.
// Source: https://www.sqlite.org/uri.html
func escapePath(path string) string {
	return (&url.URL{Path: filepath.Clean(path)}).EscapedPath()
}
