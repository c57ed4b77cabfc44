package server

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"formledger/ledger/sqlledger"
)

func TestTheEpochIsMadeWithTheDatabaseAndStays(t *testing.T) {
	file := tempFile(t)
	first := openCalls(t, file).Epoch()
	if again := openCalls(t, file).Epoch(); first == "" || again != first {
		t.Errorf("%q, then %q", first, again)
	}
	if other := openCalls(t, tempFile(t)).Epoch(); other == first {
		t.Error("two databases have one epoch")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", err, info.Mode())
	}
}

// executed is a file that another program has written.
func executed(t *testing.T, statements string) string {
	t.Helper()
	file := tempFile(t)
	c, err := OpenCalls(t.Context(), file)
	must(t, err)
	_, err = c.db.Exec(statements)
	must(t, err)
	must(t, c.Close())
	return file
}

func ledgerFile(t *testing.T) string {
	t.Helper()
	file := tempFile(t)
	l, err := sqlledger.Open(t.Context(), file, sqlledger.Options{})
	must(t, err)
	must(t, l.Close())
	return file
}

func textFile(t *testing.T, text string) string {
	t.Helper()
	file := tempFile(t)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// snapshot reads the files of a folder. The shared memory is the connections'
// own, and says nothing of the calls; that it is there is noted.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	texts := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		if strings.HasSuffix(e.Name(), "-shm") {
			text = nil
		}
		texts[e.Name()] = string(text)
	}
	return texts
}

func TestFilesThatAreNotARelaysAreRefusedAndLeftAlone(t *testing.T) {
	for says, file := range map[string]string{
		"version 2":       executed(t, `UPDATE meta SET value = '2' WHERE name = 'calls_version'`),
		"another program": executed(t, `DROP TABLE calls`),
		"calls_version":   executed(t, `DELETE FROM meta WHERE name = 'calls_version'`),
		"another program's tables; please name a file of its own": ledgerFile(t),
		"not a database": textFile(t, strings.Repeat("dear diary, ", 1000)),
	} {
		before := snapshot(t, filepath.Dir(file))
		c, err := OpenCalls(t.Context(), file)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: opened %v, %v", says, c, err)
		}
		if made, epoch, err := ExamineCalls(t.Context(), file); made || epoch != "" || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %q, %v", says, made, epoch, err)
		}
		if !maps.Equal(before, snapshot(t, filepath.Dir(file))) {
			t.Errorf("%q: the files have changed", says)
		}
	}
}

func TestALedgerIsNotOpenedOnTheCallsOfARelay(t *testing.T) {
	if l, err := sqlledger.Open(t.Context(), executed(t, ``), sqlledger.Options{}); err == nil {
		l.Close()
		t.Error("the ledger took it")
	}
}

func TestExamineChangesNothing(t *testing.T) {
	b := newBench(t)
	b.sends(b.message())
	closed := executed(t, ``)
	for file, want := range map[string]bool{b.file: true, closed: true, textFile(t, ""): false} {
		before := snapshot(t, filepath.Dir(file))
		made, epoch, err := ExamineCalls(t.Context(), file)
		if err != nil || made != want || (epoch != "") != want || file == b.file && epoch != b.calls.Epoch() {
			t.Errorf("%v, %q, %v", made, epoch, err)
		}
		if !maps.Equal(before, snapshot(t, filepath.Dir(file))) {
			t.Errorf("made %v: the files have changed", want)
		}
	}
	nothing := tempFile(t)
	if _, _, err := ExamineCalls(t.Context(), nothing); err == nil || len(snapshot(t, filepath.Dir(nothing))) != 0 {
		t.Errorf("a file that is not there: %v", err)
	}
}
