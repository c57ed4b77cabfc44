package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func backedUp(t *testing.T, file string) (string, Copied) {
	t.Helper()
	target := filepath.Join(t.TempDir(), "copy.db")
	done, err := Backup(t.Context(), file, target)
	if err != nil {
		t.Fatal(err)
	}
	if left := snapshot(t, filepath.Dir(target)); len(left) != 1 {
		t.Errorf("beside the copy there are %d files", len(left)-1)
	}
	return target, done
}

func TestABackupHoldsEverythingAndBelongsToItsOwner(t *testing.T) {
	d := openTemp(t)
	c := claimed(t, d)
	if _, err := d.Doubt(t.Context(), ledgertest.End(c, "timeout/dot", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Store(t.Context(), ledgertest.NewEntry(ledger.Queue)); err != nil {
		t.Fatal(err)
	}
	copied, done := backedUp(t, fileOf(t, d))
	want := Copied{Version: schemaVersion, Rows: 2, Events: 1, Kept: 1, PayloadKeys: []string{"test"}, SealKeys: []string{"seal-1"}, LastChange: toMilli(ledgertest.At(0)).Add(time.Millisecond)}
	if diff := cmp.Diff(want, done, cmpopts.IgnoreFields(Copied{}, "Bytes")); diff != "" || done.Bytes == 0 {
		t.Errorf("%d bytes (-want +got):\n%s", done.Bytes, diff)
	}
	if diff := cmp.Diff(contentOf(t, fileOf(t, d)), contentOf(t, copied)); diff != "" {
		t.Errorf("(-ledger +copy):\n%s", diff)
	}
	if diff := cmp.Diff(schemaOf(t, fileOf(t, d)), schemaOf(t, copied)); diff != "" {
		t.Errorf("the schema (-ledger +copy):\n%s", diff)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func toMilli(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }

func TestABackupNeverWritesOverAFile(t *testing.T) {
	d := openTemp(t)
	target := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), fileOf(t, d), target); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	// even if the file comes while the copy is made
	partial, err := newPartial(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := publish(partial, target); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

// What was answered before a backup begins is in it, whatever others write
// meanwhile, in this process and in another.
func TestABackupUnderLoadIsOfOneMoment(t *testing.T) {
	file := tempFile(t)
	handles := []*DB{openFile(t, file, Options{}), openFile(t, file, Options{})}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var settled []ledger.NewClaim
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for d := handles[i%2]; ctx.Err() == nil; {
				c := ledgertest.NewClaim()
				_, err := d.Claim(context.Background(), c)
				if err == nil {
					_, err = d.Settle(context.Background(), ledgertest.Ack(c, 0))
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				settled = append(settled, c)
				mu.Unlock()
			}
		})
	}
	for range 5 {
		mu.Lock()
		before := append([]ledger.NewClaim(nil), settled...)
		mu.Unlock()
		copied, done := backedUp(t, file)
		holdsAll(t, copied, before)
		if done.Rows < int64(len(before)) {
			t.Errorf("%d rows of at least %d", done.Rows, len(before))
		}
	}
	cancel()
	all.Wait()
}

// holdsAll checks that a copy, opened as a ledger, shows all as accepted.
func holdsAll(t *testing.T, copied string, claims []ledger.NewClaim) {
	t.Helper()
	d, err := Open(t.Context(), copied, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range claims {
		if row, err := d.Submission(t.Context(), c.ID); err != nil || row.Status != ledger.Accepted || row.Claim != c.Token {
			t.Fatalf("%+v, %v", row, err)
		}
	}
}

func TestABackupOfWhatIsNoLedgerLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, file string)
		says    string
	}{
		"a newer schema": {newerLedger, fmt.Sprint("version ", schemaVersion+1)},
		"empty":          {func(t *testing.T, file string) { plainConn(t, file) }, "is empty"},
		"another program's": {func(t *testing.T, file string) {
			plainConn(t, file, `CREATE TABLE recipes (name TEXT)`)
		}, "another program"},
		"damaged": {damagedLedger, ErrDamaged.Error()},
		"a text": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(strings.Repeat("dear diary, ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			file, target := tempFile(t), filepath.Join(t.TempDir(), "copy.db")
			if c.prepare(t, file); c.says == "is empty" {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Backup(t.Context(), file, target); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if left := snapshot(t, filepath.Dir(target)); len(left) != 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// damagedLedger is one with pages that were written over.
func damagedLedger(t *testing.T, file string) {
	t.Helper()
	d, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		claimed(t, d)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt([]byte(strings.Repeat("\x5a", 8192)), info.Size()/4096/2*4096)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestABackupThatIsBrokenOffLeavesNothing(t *testing.T) {
	d := openTemp(t)
	claimed(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	target := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(ctx, fileOf(t, d), target); err == nil {
		t.Error("no error")
	}
	if left := snapshot(t, filepath.Dir(target)); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// A copy from before an upgrade can be made, and be opened.
func TestABackupOfAnOlderVersion(t *testing.T) {
	for version := 1; version < schemaVersion; version++ {
		file := tempFile(t)
		oldVersion(t, file, version)
		copied, done := backedUp(t, file)
		if done.Version != version || done.Rows < 5 || done.Events != 2 {
			t.Errorf("%+v", done)
		}
		goesOn(t, openFile(t, copied, Options{}))
	}
}

// What was wiped may still lie on free pages of the ledger; not of its copy.
func TestPromise8_ABackupHoldsNoTraceOfWhatWasWiped(t *testing.T) {
	d := openTemp(t)
	n := canary(t, d)
	accept(t, d, n)
	copied, _ := backedUp(t, fileOf(t, d))
	if got := traces(t, copied, n); got != "" {
		t.Errorf("%q", got)
	}
}
