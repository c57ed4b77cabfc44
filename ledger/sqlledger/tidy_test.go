package sqlledger

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlfile"
)

// canary is a message whose sealed words are easy to find in a file.
func canary(t *testing.T, d *DB) ledger.NewEntry {
	t.Helper()
	n := ledgertest.NewEntry(ledger.Queue)
	n.Words.Box = "v1." + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("the words of "+n.ID.String(), 300)))
	if got, err := d.Store(t.Context(), n); err != nil || !got.Fresh {
		t.Fatalf("%+v, %v", got, err)
	}
	return n
}

func accept(t *testing.T, d *DB, n ledger.NewEntry) {
	t.Helper()
	c := ledgertest.Taking(n, 0)
	if got, err := d.Take(t.Context(), c); err != nil || !got.Owned {
		t.Fatalf("%+v, %v", got, err)
	}
	if settled, err := d.Settle(t.Context(), ledgertest.Ack(c, 0)); err != nil || !settled {
		t.Fatalf("%v, %v", settled, err)
	}
}

// traces are the files of a ledger that hold a part of sealed words, which may
// be split over several pages.
func traces(t *testing.T, file string, n ledger.NewEntry) string {
	t.Helper()
	var found []string
	for _, end := range []string{"", "-wal"} {
		content, err := os.ReadFile(file + end)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for at := 0; at+64 <= len(n.Words.Box); at += 64 {
			if bytes.Contains(content, []byte(n.Words.Box[at:at+64])) {
				found = append(found, "file"+end)
				break
			}
		}
	}
	return strings.Join(found, ", ")
}

func tidy(t *testing.T, d *DB) {
	t.Helper()
	if err := d.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPromise8_WipedWordsAreGoneFromTheFiles(t *testing.T) {
	d := openTemp(t)
	file, wiped, kept := fileOf(t, d), canary(t, d), canary(t, d)
	tidy(t, d) // so that the words are in the database too
	if got := traces(t, file, wiped); got != "file" {
		t.Fatalf("before: %q", got)
	}
	accept(t, d, wiped)
	tidy(t, d)
	if got := traces(t, file, wiped); got != "" {
		t.Errorf("after: %q", got)
	}
	if traces(t, file, kept) == "" {
		t.Error("the words that are kept are gone too")
	}
	closed := canary(t, d)
	row, err := d.Submission(t.Context(), closed.ID)
	if err == nil {
		err = d.Decide(t.Context(), ledger.Decision{Seen: row, Kind: ledger.Close, By: "ada", At: ledgertest.At(0)})
	}
	if err != nil {
		t.Fatal(err)
	}
	if traces(t, file, closed) == "" {
		t.Error("the log is empty without Tidy")
	}
	tidy(t, d)
	if got := traces(t, file, closed); got != "" {
		t.Errorf("closed: %q", got)
	}
}

func logSize(t *testing.T, d *DB) int64 {
	t.Helper()
	info, err := os.Stat(fileOf(t, d) + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A log that is emptied has to be made anew, which costs the next writers time.
func TestTidyDoesNothingWhereNothingWasWiped(t *testing.T) {
	d := openTemp(t)
	claimed(t, d)
	tidy(t, d) // the first: the log may be that of a process that died
	if size := logSize(t, d); size != 0 {
		t.Errorf("at the first call %d bytes are left", size)
	}
	c := claimed(t, d)
	if _, err := d.Settle(t.Context(), ledgertest.Ack(c, 0)); err != nil {
		t.Fatal(err)
	}
	canary(t, d)
	tidy(t, d)
	if logSize(t, d) == 0 {
		t.Error("the log was emptied for nothing")
	}
}

// While a reader looks at what was there before, the log has to stay.
func TestTidyTriesAgainAfterAReader(t *testing.T) {
	d := openTemp(t)
	n := canary(t, d)
	reader, err := lookAt(t, fileOf(t, d)).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	onReader := func(statement string) {
		t.Helper()
		if _, err := reader.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	onReader(`BEGIN DEFERRED`)
	onReader(`SELECT count(*) FROM outbox`)
	accept(t, d, n)
	tidy(t, d)
	if traces(t, fileOf(t, d), n) == "" {
		t.Fatal("the reader was not in the way")
	}
	waitsAsUsual(t, d)
	claimed(t, d)
	onReader(`ROLLBACK`)
	tidy(t, d)
	if got := traces(t, fileOf(t, d), n); got != "" {
		t.Errorf("after the reader: %q", got)
	}
	waitsAsUsual(t, d)
}

func waitsAsUsual(t *testing.T, d *DB) {
	t.Helper()
	err := onWriter(t, d, func(tx *transaction) error {
		if got := pragmasOf(t, tx.conn, "busy_timeout")["busy_timeout"]; got != fmt.Sprint(sqlfile.BusyTimeout.Milliseconds()) {
			t.Errorf("the writer waits %s ms", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Another process keeps the log when this one ends.
func TestCloseLeavesNoWipedWords(t *testing.T) {
	d := openTemp(t)
	file := fileOf(t, d)
	other := openFile(t, file, Options{})
	tidy(t, other)
	n := canary(t, d)
	accept(t, d, n)
	if traces(t, file, n) == "" {
		t.Fatal("the words were never there")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := traces(t, file, n); got != "" {
		t.Errorf("after Close: %q", got)
	}
	claimed(t, other)
}

// Callers whose writes share a batch with Tidy are answered like any others.
func TestTidyStandsBetweenTransactions(t *testing.T) {
	d := openTemp(t)
	n := canary(t, d)
	accept(t, d, n)
	a, b := ledgertest.NewClaim(), ledgertest.NewClaim()
	for i, err := range together(t, d, claiming(d, a), func() error { return d.Tidy(context.Background()) }, claiming(d, b)) {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got := traces(t, fileOf(t, d), n); got != "" || !isThere(t, d, a) || !isThere(t, d, b) {
		t.Errorf("traces: %q", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Tidy(context.Background()); err == nil {
		t.Error("after Close there is no error")
	}
}
