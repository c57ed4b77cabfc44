package sqlledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

const afterwards = 100 * time.Hour

var restoration = ledger.Restoration{At: ledgertest.At(afterwards), By: "ada", Note: "the disk had failed"}

// restored puts a copy into a ledger's place, which nobody has open.
func restored(t *testing.T, copied, file string) (disputed int, aside string) {
	t.Helper()
	s, err := Stage(t.Context(), copied, file)
	if err != nil {
		t.Fatal(err)
	}
	if disputed, aside, err = s.Put(t.Context(), restoration); err != nil {
		t.Error(err)
	}
	if err := s.Drop(); err != nil {
		t.Error(err)
	}
	return disputed, aside
}

func closed(t *testing.T, d *DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func epochOf(t *testing.T, file string) string {
	t.Helper()
	db, leave := lookIn(file)
	defer leave()
	return table(t, db, `SELECT value FROM meta WHERE name = 'epoch'`)[0]
}

func TestARestorePutsTheCopyInPlaceAndKeepsWhatWasThere(t *testing.T) {
	d := openTemp(t)
	file, early := fileOf(t, d), claimed(t, d)
	copied, _ := backedUp(t, file)
	late := claimed(t, d)
	before, epoch := contentOf(t, file), epochOf(t, file)
	closed(t, d)
	disputed, aside := restored(t, copied, file)
	if want := filepath.Join(filepath.Dir(file), "ledger.before-restore-20260308T090607Z.db"); disputed != 1 || aside != want {
		t.Errorf("%d disputed, %s", disputed, aside)
	}
	if diff := cmp.Diff(before, contentOf(t, aside)); diff != "" {
		t.Errorf("what was there (-before +now):\n%s", diff)
	}
	now := openFile(t, file, Options{})
	if row, err := now.Submission(t.Context(), early.ID); err != nil || row.Needs != ledger.NeedsDisputed || row.Status != ledger.Uncertain {
		t.Errorf("%+v, %v", row, err)
	}
	if _, err := now.Submission(t.Context(), late.ID); !errors.Is(err, ledger.ErrUnseen) {
		t.Error(err)
	}
	if at, err := now.Restored(t.Context()); err != nil || !at.Equal(toMilli(restoration.At)) {
		t.Errorf("%v, %v", at, err)
	}
	if at, err := ExamineRestored(t.Context(), file); err != nil || !at.Equal(toMilli(restoration.At)) {
		t.Errorf("ExamineRestored: %v, %v", at, err)
	}
	if epochOf(t, file) == epoch {
		t.Error("the epoch has not changed")
	}
	for _, f := range []string{file, aside} {
		if info, err := os.Stat(f); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

func TestARestoreWhereNoLedgerIs(t *testing.T) {
	d := openTemp(t)
	c := claimed(t, d)
	copied, _ := backedUp(t, fileOf(t, d))
	file := filepath.Join(t.TempDir(), "new", "ledger.db")
	if disputed, aside := restored(t, copied, file); disputed != 1 || aside != "" {
		t.Errorf("%d disputed, %q", disputed, aside)
	}
	if left := snapshot(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("%d files", len(left))
	}
	if row, err := openFile(t, file, Options{}).Submission(t.Context(), c.ID); err != nil || row.Needs != ledger.NeedsDisputed {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestARestoreOverADamagedLedger(t *testing.T) {
	d := openTemp(t)
	claimed(t, d)
	copied, _ := backedUp(t, fileOf(t, d))
	for name, damage := range map[string]func(*testing.T, string){
		"pages": damagedLedger,
		"no database": func(t *testing.T, file string) {
			for _, end := range []string{"", "-wal"} {
				if err := os.WriteFile(file+end, []byte(strings.Repeat("zz"+end, 5000)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"its process died": died,
	} {
		file := tempFile(t)
		damage(t, file)
		was := snapshot(t, filepath.Dir(file))
		_, aside := restored(t, copied, file)
		now := snapshot(t, filepath.Dir(file))
		if kept := now[filepath.Base(aside)]; len(kept) < len(was["ledger.db"]) || name == "no database" && kept != was["ledger.db"] {
			t.Errorf("%s: what was there is not kept as it was", name)
		}
		if _, there := now["ledger.db-wal"]; there {
			t.Errorf("%s: the old log lies beside the new ledger", name)
		}
		claimsNew(t, openFile(t, file, Options{}))
	}
}

// Whoever has only the files of a dead machine has a log beside the database.
func TestARestoreOfTheFilesOfADeadMachine(t *testing.T) {
	d, dead := openTemp(t), filepath.Join(t.TempDir(), "ledger.db")
	c := claimed(t, d)
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(fileOf(t, d) + end)
		must(t, err)
		must(t, os.WriteFile(dead+end, text, 0o400))
	}
	file := tempFile(t)
	if disputed, _ := restored(t, dead, file); disputed != 1 {
		t.Errorf("%d are disputed", disputed)
	}
	if row, err := openFile(t, file, Options{}).Submission(t.Context(), c.ID); err != nil || row.Needs != ledger.NeedsDisputed {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestAKilledRestoreIsSweptAway(t *testing.T) {
	d := openTemp(t)
	claimed(t, d)
	copied, _ := backedUp(t, fileOf(t, d))
	file := tempFile(t)
	dead := filepath.Join(filepath.Dir(file), stagePrefix+"dead")
	must(t, os.Mkdir(dead, 0o700))
	must(t, os.WriteFile(filepath.Join(dead, "ledger.db"), []byte("half"), 0o600))
	restored(t, copied, file)
	if left := snapshot(t, filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left behind: %d files", len(left)-1)
	}
}

// claimsNew claims an ID that is new for certain.
func claimsNew(t *testing.T, d *DB) {
	t.Helper()
	c := newerClaim()
	if got, err := d.Claim(t.Context(), c); err != nil || !got.Owned {
		t.Errorf("%+v, %v", got, err)
	}
}

func newerClaim() ledger.NewClaim {
	c := ledgertest.Again(ledgertest.NewClaim(), afterwards+2*time.Hour)
	c.ID = ledgertest.IDAt(c.At)
	return c
}

func TestARestoreIsRefusedAndChangesNothing(t *testing.T) {
	good := openTemp(t)
	claimed(t, good)
	copied, _ := backedUp(t, fileOf(t, good))
	for name, c := range map[string]struct {
		prepare func(t *testing.T, file string)
		says    string
	}{
		"a newer schema":    {newerLedger, fmt.Sprint("version ", schemaVersion+1)},
		"damaged":           {damagedLedger, ErrDamaged.Error()},
		"another program's": {func(t *testing.T, file string) { plainConn(t, file, `CREATE TABLE recipes (name TEXT)`) }, "another program"},
		"half": {func(t *testing.T, file string) {
			text, err := os.ReadFile(copied)
			if err == nil {
				err = os.WriteFile(file, text[:len(text)/2/4096*4096], 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged.Error()},
		"not there": {func(*testing.T, string) {}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			d := openTemp(t)
			claimed(t, d)
			file, backup := fileOf(t, d), filepath.Join(t.TempDir(), "copy.db")
			closed(t, d)
			c.prepare(t, backup)
			before := snapshot(t, filepath.Dir(file))
			content := contentOf(t, file)
			if s, err := Stage(t.Context(), backup, file); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v", s, err)
			}
			if diff := cmp.Diff(content, contentOf(t, file)); diff != "" || len(snapshot(t, filepath.Dir(file))) != len(before) {
				t.Errorf("the ledger has changed:\n%s", diff)
			}
			closed(t, openFile(t, file, Options{}))
		})
	}
}

func TestARestoreIsRefusedWhileSomebodyHasTheLedgerOpen(t *testing.T) {
	d := openTemp(t)
	file := fileOf(t, d)
	copied, _ := backedUp(t, file)
	refusedInUse(t, copied, file)
	if _, err := Stage(t.Context(), file, file); err == nil || !strings.Contains(err.Error(), "itself") {
		t.Errorf("a ledger as its own backup: %v", err)
	}
	closed(t, d)
	// an older formledger takes no lock of ours
	old := lookAt(t, file)
	conn, err := old.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `SELECT count(*) FROM submissions`); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !strings.Contains(pragmasOf(t, conn, "journal_mode")["journal_mode"], "wal") {
		t.Fatal("the ledger is not in WAL mode")
	}
	refusedInUse(t, copied, file)
}

func refusedInUse(t *testing.T, copied, file string) {
	t.Helper()
	if s, err := Stage(t.Context(), copied, file); !errors.Is(err, ErrInUse) {
		t.Errorf("%v, %v", s, err)
	}
}

func TestNobodyOpensALedgerThatIsBeingRestored(t *testing.T) {
	d := openTemp(t)
	file := fileOf(t, d)
	copied, _ := backedUp(t, file)
	closed(t, d)
	s, err := Stage(t.Context(), copied, file)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Open(t.Context(), file, Options{}); err == nil || !strings.Contains(err.Error(), "being restored") {
		d.Close()
		t.Errorf("%v", err)
	}
	if _, err := Backup(t.Context(), file, filepath.Join(t.TempDir(), "x.db")); err == nil {
		t.Error("it can be copied")
	}
	refusedInUse(t, copied, file)
	if err := s.Drop(); err != nil {
		t.Fatal(err)
	}
	openFile(t, file, Options{})
}

// A copy of an older version is brought up to date on its way.
func TestARestoreOfAnOlderVersion(t *testing.T) {
	for version := 1; version < schemaVersion; version++ {
		old, file := tempFile(t), tempFile(t)
		oldVersion(t, old, version)
		disputed, _ := restored(t, old, file)
		if want := version + 1; disputed != want { // claimed, released; stopped
			t.Errorf("version %d: %d are disputed", version, disputed)
		}
		d := openFile(t, file, Options{})
		claimsNew(t, d)
		if rows, err := d.List(t.Context(), ledger.Filter{Needs: ledger.NeedsDisputed}); err != nil || len(rows) != disputed {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	}
}
