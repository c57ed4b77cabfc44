package sqlledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// logFiles are the descriptors that this process has of a database's log.
func logFiles(t *testing.T, d *DB) map[int]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if n, err := strconv.Atoi(e.Name()); err == nil && target == fileOf(t, d)+"-wal" {
			found[n] = true
		}
	}
	return found
}

// writersLog is the writer's descriptor of the log: the one that is new once
// the writer has taken a fresh connection.
func writersLog(t *testing.T, d *DB) int {
	t.Helper()
	if err := onWriter(t, d, func(*transaction) error { return fs.ErrInvalid }); !errors.Is(err, fs.ErrInvalid) {
		t.Fatal(err)
	}
	before := logFiles(t, d)
	claimed(t, d)
	for fd := range logFiles(t, d) {
		if !before[fd] {
			return fd
		}
	}
	t.Fatal("the writer's log was not found")
	return 0
}

// replaceFile makes a descriptor of SQLite's mean another file, so that the
// kernel answers its next call with a real error.
func replaceFile(t *testing.T, fd int, name string, mode int) {
	t.Helper()
	f, err := os.OpenFile(name, mode, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Dup3(int(f.Fd()), fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsAnErrorAndNoMore(t *testing.T) {
	d := openTemp(t)
	first := claimed(t, d)
	replaceFile(t, writersLog(t, d), "/dev/full", os.O_RDWR)
	claims := []ledger.NewClaim{ledgertest.NewClaim(), ledgertest.NewClaim(), ledgertest.NewClaim()}
	failed := 0
	for i, err := range together(t, d, claiming(d, claims[0]), claiming(d, claims[1]), claiming(d, claims[2])) {
		if err != nil {
			failed++
		}
		if (err != nil && !isFull(err)) || errors.Is(err, ledger.ErrBroken) {
			t.Errorf("claim %d: %v", i, err)
		}
		if err != nil && isThere(t, d, claims[i]) {
			t.Errorf("claim %d is there", i)
		}
	}
	if failed != len(claims) {
		t.Errorf("%d of %d claims failed", failed, len(claims))
	}
	afterSpace(t, d, first, claims)
}

// After an I/O error nothing of this process can be trusted.
func TestAnErrorOfTheDiskBreaksTheLedgerForEver(t *testing.T) {
	file := tempFile(t)
	d := openFile(t, file, Options{})
	first, late := claimed(t, d), ledgertest.NewClaim()
	replaceFile(t, writersLog(t, d), file+"-wal", os.O_RDONLY)
	select {
	case <-d.Broken():
		t.Fatal("broken before anything failed")
	default:
	}
	for i, err := range together(t, d, claiming(d, ledgertest.NewClaim()), claiming(d, late)) {
		if !errors.Is(err, ledger.ErrBroken) {
			t.Errorf("claim %d: %v", i, err)
		}
	}
	isBrokenForEver(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	restarted := openFile(t, file, Options{})
	if !isThere(t, restarted, first) || isThere(t, restarted, late) {
		t.Error("the restart does not show what was acknowledged, and that alone")
	}
	claimed(t, restarted)
}

func isBrokenForEver(t *testing.T, d *DB) {
	t.Helper()
	select {
	case <-d.Broken():
	default:
		t.Fatal("not broken")
	}
	for range 3 {
		if err := claiming(d, ledgertest.NewClaim())(); !errors.Is(err, ledger.ErrBroken) {
			t.Errorf("a later claim: %v", err)
		}
	}
	if _, err := d.Lapse(context.Background(), ledgertest.At(0), ledgertest.At(0)); !errors.Is(err, ledger.ErrBroken) {
		t.Errorf("a later sweep: %v", err)
	}
	if err := d.Ping(context.Background()); !errors.Is(err, ledger.ErrBroken) {
		t.Errorf("a later ping: %v", err)
	}
}

func TestAReadersErrorOfTheDiskBreaksTheLedgerToo(t *testing.T) {
	d := openTemp(t)
	writers := writersLog(t, d)
	c := claimed(t, d)
	isThere(t, d, c) // so that a reader has opened the log
	for fd := range logFiles(t, d) {
		if fd != writers {
			replaceFile(t, fd, "/dev/null", os.O_WRONLY)
		}
	}
	c = claimed(t, d) // a page that no reader has seen yet
	if _, err := d.Submission(t.Context(), c.ID); !errors.Is(err, ledger.ErrBroken) {
		t.Fatalf("reading without a log: %v", err)
	}
	isBrokenForEver(t, d)
}
