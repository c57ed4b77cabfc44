package sqlfile

import (
	"context"
	"database/sql/driver"
	"net/url"
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

// WithMode is a connector alike that opens the file in a mode of SQLite's, such
// as ro or rw, which do not create it.
// Source: https://www.sqlite.org/uri.html
func (c *Connector) WithMode(mode string) *Connector {
	return &Connector{c.driver, c.source + "&mode=" + mode}
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
