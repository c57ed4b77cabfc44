package sqlfile

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLocksKeepOthersOff(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data.db")
	if err := Prepare(file); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "linked.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	first, second := mustLock(t, Share, file), mustLock(t, Share, link)
	refused(t, Exclude, file)
	first.Release()
	refused(t, Exclude, link)
	second.Release()
	alone := mustLock(t, Exclude, file)
	refused(t, Exclude, file)
	refused(t, Share, link)
	if err := alone.Release(); err != nil {
		t.Error(err)
	}
	mustLock(t, Share, file).Release()
	if err := (*Lock)(nil).Release(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the lock is a file: %v, %v", entries, err)
	}
	if _, err := Share(filepath.Join(dir, "none", "data.db")); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("without a folder: %v", err)
	}
}

func mustLock(t *testing.T, take func(string) (*Lock, error), file string) *Lock {
	t.Helper()
	l, err := take(file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func refused(t *testing.T, take func(string) (*Lock, error), file string) {
	t.Helper()
	if l, err := take(file); !errors.Is(err, ErrInUse) {
		l.Release()
		t.Errorf("%v", err)
	}
}

// Alone refuses while another connection is there, and leaves one file.
func TestAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data.db")
	db := sql.OpenDB(NewConnector(file, Writer))
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), `CREATE TABLE x (y TEXT); INSERT INTO x VALUES ('z')`)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Alone(file); !errors.Is(err, ErrInUse) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(conn.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Alone(file); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestPutKeepsWhatWasThereWithItsLog(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"fresh": "new", "data.db": "old", "data.db-wal": "log", "data.db-shm": "memory"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Put(in("fresh"), in("data.db"), in("kept")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"data.db": "new", "kept": "old", "kept-wal": "log", "kept-shm": "memory"})
	// a second one does not take the place of the first
	if err := os.WriteFile(in("fresh"), []byte("newer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Put(in("fresh"), in("data.db"), in("kept")); err == nil {
		t.Error("what was kept was written over")
	}
	holds(t, dir, map[string]string{"data.db": "new", "kept": "old", "kept-wal": "log", "kept-shm": "memory", "fresh": "newer"})
	if err := Put(in("fresh"), in("other.db"), ""); err != nil {
		t.Error(err)
	}
}

func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Errorf("%v, %v", entries, err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
