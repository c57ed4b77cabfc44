//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
)

// taken is a site whose server has taken an enquiry and stopped, and a backup.
func taken(t *testing.T, policy ledger.Policy) (s *site, backup string, w words) {
	t.Helper()
	s, w = newSite(t, patient), newWords()
	s.under(patient, policy)
	p := s.start("")
	p.post(w, http.StatusCreated, "accepted")
	p.stop()
	backup = filepath.Join(s.dir, "copy.db")
	s.command("backup", backup).check(t, exitDone, "is a whole copy", "enquiries: 1,")
	return s, backup, w
}

// keyIDs are the IDs in a key file.
func keyIDs(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	f, err := parseKeyFile(string(text))
	must(t, err)
	var ids []string
	for i := range f.lines {
		if id, _, ok := f.key(i); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *site) payloadFile() string { return filepath.Join(s.data, "keys", "payload-hash") }

func TestABackupNamesItsKeysAndHoldsNone(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	s.waits()
	file := filepath.Join(s.dir, "copy.db")
	r := s.command("backup", file)
	r.check(t, exitDone, "messages whose words are kept: 1", "apart from it",
		"the payload keys "+keyIDs(t, s.payloadFile())[0]+" in "+s.payloadFile(), "the outbox keys "+keyIDs(t, s.outboxFile())[0]+" in "+s.outboxFile())
	if strings.Contains(r.out, "Careful") {
		t.Error(r.out)
	}
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	text, err := os.ReadFile(file)
	must(t, err)
	for _, keys := range []string{s.payloadFile(), s.outboxFile()} {
		key, err := os.ReadFile(keys)
		must(t, err)
		for line := range strings.Lines(string(key)) {
			if f := strings.Fields(line); len(f) == 3 && !strings.HasPrefix(line, "#") && strings.Contains(string(text), f[2]) {
				t.Errorf("a secret of %s is in the backup", keys)
			}
		}
	}
	must(t, os.Remove(s.outboxFile()))
	s.command("backup", file+"2").check(t, exitDone, "Careful: of the outbox keys")
}

// waits is a message under the keys of the site that nobody has tried to send.
func (s *shop) waits() ledger.Submission {
	s.t.Helper()
	keys, err := s.loaded().openKeys()
	must(s.t, err)
	n := ledger.NewEntry{ID: uuid.Must(uuid.NewV7()), Form: "contact", Policy: ledger.Queue, PayloadHash: keys.Hash([]byte("words")), At: time.Now(), Due: time.Now()}
	n.Words, err = s.seals.Seal(n.ID, n.PayloadHash, []byte("words"), zeros{})
	must(s.t, err)
	var row ledger.Submission
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		stored, err := db.Store(ctx, n)
		must(s.t, err)
		row = stored.Row
	})
	return row
}

// zeros is no source of randomness, but enough for one message.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestABackupIsNotWrittenOverAFile(t *testing.T) {
	t.Parallel()
	s, backup, _ := taken(t, ledger.Hold)
	before, err := os.ReadFile(backup)
	must(t, err)
	s.command("backup", backup).check(t, exitFailed, "is there already")
	if after, err := os.ReadFile(backup); err != nil || string(after) != string(before) {
		t.Error("the file has changed")
	}
	s.command("backup", filepath.Join(s.dir, "none", "copy.db")).check(t, exitFailed, "no such file")
	newSite(t, patient).command("backup", backup+"2").check(t, exitFailed, "there is no ledger")
	command(nil, "backup").check(t, exitUsage)
	if exists(backup + "2") {
		t.Error("a backup of nothing was made")
	}
}

func TestAFullDiskLeavesNoHalfBackup(t *testing.T) {
	t.Parallel()
	s, _, _ := taken(t, ledger.Hold)
	s.inRecord(300, time.Hour)
	dir := s.smallDisk("copies")
	free := fill(t, dir)
	must(t, os.Truncate(filepath.Join(dir, "filler"), 1<<20-100<<10)) // a part fits
	s.command("backup", filepath.Join(dir, "copy.db")).check(t, exitFailed, "full")
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	free()
	s.command("backup", filepath.Join(dir, "copy.db")).check(t, exitDone, "enquiries: 301,")
}

// posts sends enquiries from some visitors until it is stopped, and tells which
// were accepted so far. The tests beside this one need the machine too.
func (p *process) posts() (accepted func() []words, stop func()) {
	var mu sync.Mutex
	var all []words
	ctx, cancel := context.WithCancel(context.Background())
	var visitors sync.WaitGroup
	for range 4 {
		visitors.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
				w := newWords()
				if a, err := try(p.base, w.json()); err == nil && a.Outcome == "accepted" {
					mu.Lock()
					all = append(all, w)
					mu.Unlock()
				}
			}
		})
	}
	accepted = func() []words {
		mu.Lock()
		defer mu.Unlock()
		return append([]words(nil), all...)
	}
	return accepted, func() { cancel(); visitors.Wait() }
}

// Whatever was answered before the backup began is in it. Whatever came later is
// never sent by the server that goes on from it.
func TestABackupUnderLoadIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	s, elsewhere := newSite(t, patient), newSite(t, patient)
	p := s.start("")
	accepted, stop := p.posts()
	defer stop()
	eventually(t, func() error { return atLeast(20, len(accepted())) })
	before, backup := accepted(), filepath.Join(s.dir, "copy.db")
	s.command("backup", backup).check(t, exitDone, "is a whole copy")
	after := len(accepted()) + 20
	eventually(t, func() error { return atLeast(after, len(accepted())) })
	stop()
	p.stop()
	must(t, os.CopyFS(filepath.Join(elsewhere.data, "keys"), os.DirFS(filepath.Join(s.data, "keys"))))
	must(t, os.Chmod(elsewhere.payloadFile(), 0o600))
	elsewhere.command("restore", backup, "--note", "the disk had failed").check(t, exitDone, "is the ledger")
	q := elsewhere.start("")
	eventually(t, func() error {
		if strings.Contains(q.out.String(), "Please note: a backup was restored") {
			return nil
		}
		return fmt.Errorf("the start does not say so:\n%s", q.out)
	})
	for _, w := range before {
		q.replay(w)
	}
	uncertain := 0
	for _, w := range accepted() {
		if a := q.send(w.json()); a.is(http.StatusConflict, "uncertain") {
			uncertain++
		} else if !a.replayed() {
			t.Errorf("%v", a)
		}
	}
	if uncertain < 20 {
		t.Errorf("%d are uncertain", uncertain)
	}
	elsewhere.wantMails(0)
}

func atLeast(want, got int) error {
	if got < want {
		return fmt.Errorf("%d, and %d are wanted", got, want)
	}
	return nil
}
