package sqlledger

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pragmasOf(t *testing.T, conn *sql.Conn, names ...string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, name := range names {
		var value string
		if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
			t.Fatal(name, err)
		}
		got[name] = value
	}
	return got
}

func TestEveryConnectionHasItsPragmas(t *testing.T) {
	d := openTemp(t)
	for range 2 { // the first writer, and the one after a failure
		err := onWriter(t, d, func(tx *transaction) error {
			got := pragmasOf(t, tx.conn, "synchronous", "journal_mode", "recursive_triggers", "wal_autocheckpoint", "busy_timeout", "secure_delete")
			want := map[string]string{"synchronous": "2", "journal_mode": "wal", "recursive_triggers": "1", "wal_autocheckpoint": "4000", "busy_timeout": "5000", "secure_delete": "1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the writer (-want +got):\n%s", diff)
			}
			return fs.ErrInvalid // no error of SQLite: the writer takes a fresh connection
		})
		if !errors.Is(err, fs.ErrInvalid) {
			t.Error(err)
		}
	}
	for i := range d.reader.Stats().MaxOpenConnections {
		conn, err := d.reader.Conn(t.Context()) // held until the end, so each is another
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		want := map[string]string{"query_only": "1", "journal_mode": "wal", "busy_timeout": "5000", "mmap_size": "268435456"}
		got := pragmasOf(t, conn, "query_only", "journal_mode", "busy_timeout", "mmap_size")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reader %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestForeignAndNewerDatabasesAreRefusedAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, file string)
		says string
	}{
		"a newer schema": {newerLedger, fmt.Sprint("version ", schemaVersion+1)},
		"another program's": {func(t *testing.T, file string) {
			plainConn(t, file, `CREATE TABLE recipes (name TEXT)`)
		}, "another program"},
		"another program's meta": {func(t *testing.T, file string) {
			plainConn(t, file, `CREATE TABLE meta (name TEXT, value TEXT)`)
		}, "schema's version"},
		"a text": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(strings.Repeat("dear diary, ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			file := tempFile(t)
			c.make(t, file)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Open(t.Context(), file, Options{})
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) {
				t.Errorf("Open: %v", err)
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
				t.Errorf("the file has changed (%v)", err)
			}
		})
	}
}

func newerLedger(t *testing.T, file string) {
	t.Helper()
	d, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	plainConn(t, file, fmt.Sprintf(`UPDATE meta SET value = '%d' WHERE name = 'schema_version'`, schemaVersion+1))
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	d := openFile(t, filepath.Join(dir, "ledger.db"), Options{})
	claimed(t, d)
	want := map[string]fs.FileMode{"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
	got := map[string]fs.FileMode{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
}

// In an SQLite URI ? and # would end the path, % and // mean something else.
func TestAnyPathIsTakenAsItStands(t *testing.T) {
	for _, name := range []string{
		"what?.db", "?mode=memory", "a#b.db", "100%.db", "a%3Fb.db", "with space.db", "ä漢.db", "a&b=c;d.db", "a:b.db", `q"uo'te.db`, `back\slash.db`,
	} {
		dir := t.TempDir()
		d := openFile(t, filepath.Join(dir, name), Options{})
		c := claimed(t, d)
		if got := fileOf(t, d); filepath.Base(got) != name {
			t.Errorf("%q is kept in %q", name, got)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q: the folder holds %v, %v", name, entries, err)
		}
		if !isThere(t, openFile(t, filepath.Join(dir, name), Options{}), c) {
			t.Errorf("%q: the row is lost", name)
		}
	}
}

func TestRelativeAndDoubledSlashesAreTaken(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c := claimed(t, openFile(t, "ledger.db", Options{}))
	for _, file := range []string{"./ledger.db", "/" + filepath.Join(dir, "ledger.db"), dir + "//ledger.db"} {
		if !isThere(t, openFile(t, file, Options{}), c) {
			t.Errorf("%s is another file", file)
		}
	}
}

func TestAnUnusablePathIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{dir, filepath.Join(dir, "file", "ledger.db"), ""} {
		if d, err := Open(t.Context(), file, Options{}); err == nil {
			d.Close()
			t.Errorf("%q was opened", file)
		}
	}
}

// The version and the epoch are made once.
func TestReopeningKeepsTheEpoch(t *testing.T) {
	file := tempFile(t)
	var epochs [2]string
	for i := range epochs {
		d, err := Open(t.Context(), file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.reader.QueryRow(`SELECT value FROM meta WHERE name = 'epoch'`).Scan(&epochs[i]); err != nil {
			t.Fatal(err)
		}
		if c := claimed(t, d); !isThere(t, d, c) {
			t.Error("no row")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if epochs[0] == "" || epochs[0] != epochs[1] {
		t.Errorf("epochs: %v", epochs)
	}
}
