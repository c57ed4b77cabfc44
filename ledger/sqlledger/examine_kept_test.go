package sqlledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func keptIn(t *testing.T, file string, want []ledger.Kept) {
	t.Helper()
	got, err := ExamineKept(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
}

func TestExamineKeptCountsBesideAServerAndLeavesEverythingAsItIs(t *testing.T) {
	file := tempFile(t)
	d := openFile(t, file, Options{})
	keptIn(t, file, nil)
	for _, p := range []ledger.Policy{ledger.Queue, ledger.Retry} {
		if _, err := d.Store(t.Context(), ledgertest.NewEntry(p)); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, filepath.Dir(file))
	keptIn(t, file, []ledger.Kept{{Form: "contact", Key: "seal-1", Rows: 2}})
	if diff := cmp.Diff(before, snapshot(t, filepath.Dir(file))); diff != "" {
		t.Errorf("the files have changed (-before +after):\n%.500s", diff)
	}
}

func TestExamineKeptOfWhatHasNoOutbox(t *testing.T) {
	file := tempFile(t)
	schema, err := os.ReadFile("testdata/schema-1.sql")
	if err != nil {
		t.Fatal(err)
	}
	plainConn(t, file, string(schema), `INSERT INTO meta (name, value) VALUES ('schema_version', '1')`)
	keptIn(t, file, nil)
	if _, err := ExamineKept(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was examined")
	}
}
