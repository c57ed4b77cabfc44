package sqlledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// snapshot reads the files of a folder. The shared memory is the connections'
// own, and says nothing of the ledger; that it is there is noted.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-shm") {
			text = nil
		}
		texts[e.Name()] = string(text)
	}
	return texts
}

// died copies a ledger as a process leaves it that is killed.
func died(t *testing.T, file string) {
	t.Helper()
	d := openTemp(t)
	claimed(t, d)
	from := fileOf(t, d)
	for _, end := range []string{"", "-wal", "-shm"} {
		text, err := os.ReadFile(from + end)
		if err == nil {
			err = os.WriteFile(file+end, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestExamineLeavesEverythingAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, file string)
		made    bool
		says    string
	}{
		"in order": {func(t *testing.T, file string) {
			d := openFile(t, file, Options{})
			claimed(t, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}, true, ""},
		"its process died": {died, true, ""},
		"empty": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false, ""},
		"a newer schema": {newerLedger, false, fmt.Sprint("version ", schemaVersion+1)},
		"another program's": {func(t *testing.T, file string) {
			plainConn(t, file, `CREATE TABLE recipes (name TEXT)`)
		}, false, "another program"},
		"a text": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(strings.Repeat("dear diary, ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			file := tempFile(t)
			c.prepare(t, file)
			before := snapshot(t, filepath.Dir(file))
			made, err := Examine(t.Context(), file)
			if made != c.made || (err == nil) != (c.says == "") || err != nil && !(strings.Contains(err.Error(), c.says) && strings.Contains(err.Error(), file)) {
				t.Errorf("%v, %v; want %v, %q", made, err, c.made, c.says)
			}
			if diff := cmp.Diff(before, snapshot(t, filepath.Dir(file))); diff != "" {
				t.Errorf("the files have changed (-before +after):\n%.500s", diff)
			}
		})
	}
}

func TestExamineBesideAServer(t *testing.T) {
	file := tempFile(t)
	d := openFile(t, file, Options{})
	c := claimed(t, d)
	if made, err := Examine(t.Context(), file); !made || err != nil {
		t.Errorf("%v, %v", made, err)
	}
	if !isThere(t, d, c) || !isThere(t, d, claimed(t, d)) {
		t.Error("the server does not go on")
	}
}

func TestExamineMakesNothing(t *testing.T) {
	file := tempFile(t)
	if _, err := Examine(t.Context(), file); err == nil {
		t.Error("a file that is not there was examined")
	}
	if left := snapshot(t, filepath.Dir(file)); len(left) != 0 {
		t.Errorf("made %v", left)
	}
}
