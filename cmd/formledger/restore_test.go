//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
)

func TestPromise2_ARestoredSiteSendsNothingTwice(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, backup, first := taken(t, policy)
		p, later, unnamed := s.start(""), newWords(), newWords()
		unnamed.ID = uuid.New()
		p.post(later, http.StatusCreated, "accepted")
		p.post(unnamed, http.StatusCreated, "accepted")
		s.command("restore", backup, "--note", "x").check(t, exitFailed, "is in use", "Nothing is changed")
		p.post(newWords(), http.StatusCreated, "accepted")
		p.stop()
		s.command("restore", backup, "--note", "the disk had failed", "--by", "eve").check(t, exitDone, "is kept as", "the next hour")
		if aside, err := filepath.Glob(filepath.Join(s.data, "ledger", "formledger.before-restore-*.db")); err != nil || len(aside) != 1 {
			t.Errorf("%v, %v", aside, err)
		}
		p = s.start("")
		p.logged("a restore is pending")
		p.replay(first)
		for range 2 {
			p.post(later, http.StatusConflict, "uncertain")
			p.post(unnamed, http.StatusConflict, "uncertain")
		}
		s.command("doctor").check(t, exitDone, "warn  restore: a backup was restored at")
		s.command("queue").check(t, exitDone, "Please note: a backup was restored at", "A backup was restored that does not know")
		s.command("queue", "--json").check(t, exitDone, `"restored_at": "20`)
		s.needs(string(ledger.ReferenceOf(later.ID)), ledger.NeedsDisputed)
		s.command("restore", "--done", "--note", "all is found").check(t, exitDone, "is a new one")
		fresh := newWords()
		fresh.ID = uuid.New()
		p.post(fresh, http.StatusCreated, "accepted")
		p.post(later, http.StatusConflict, "uncertain")
		s.wantMails(5)
		if r := s.command("doctor"); strings.Contains(r.out, "restore:") {
			t.Errorf("%s", r.out)
		}
		s.restoreOnRecord()
		s.command("restore", "--done", "--note", "again").check(t, exitFailed, "no restore is pending")
	}, ledger.Hold, ledger.Queue)
}

func (s *site) restoreOnRecord() {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		events, err := db.Events(ctx, uuid.Nil)
		must(s.t, err)
		got := ""
		for _, e := range events {
			got += fmt.Sprintf("%s %s; ", e.Kind, e.Note)
		}
		if got != "restored the disk had failed; restore_ended all is found; " {
			s.t.Errorf("on record: %s", got)
		}
	})
}

func TestARestoreNeedsTheKeysOfTheBackup(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	row, backup := s.waits(), filepath.Join(s.dir, "copy.db")
	s.command("backup", backup).check(t, exitDone)
	before := files(t, filepath.Join(s.data, "ledger"))
	for file, what := range map[string]string{s.payloadFile(): "payload keys", s.outboxFile(): "outbox keys"} {
		id := keyIDs(t, file)[0]
		must(t, os.Rename(file, file+".away"))
		s.command("restore", backup, "--note", "x").check(t, exitFailed, "nothing is changed", "of the "+what+", "+id+" cannot be read in "+file)
		other := newShop(t, ledger.Queue)
		text, err := os.ReadFile(map[bool]string{true: other.payloadFile(), false: other.outboxFile()}[file == s.payloadFile()])
		must(t, err)
		must(t, os.WriteFile(file, text, 0o600))
		s.command("restore", backup, "--note", "x").check(t, exitFailed, id)
		must(t, os.Rename(file+".away", file))
	}
	if after := files(t, filepath.Join(s.data, "ledger")); len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
	s.command("restore", backup, "--note", "x").check(t, exitDone, "1 enquiry was still to be sent")
	ref := string(row.Reference)
	s.needs(ref, ledger.NeedsDisputed)
	s.command("show", ref).check(t, exitDone, "restored by operator:")
	s.command("resolve", ref, "--not-received", "--note", "it is not in the mailbox").check(t, exitDone, "The courier")
	s.needsNobody()
}

func TestARestoreThatIsRefused(t *testing.T) {
	t.Parallel()
	s, backup, w := taken(t, ledger.Hold)
	text, err := os.ReadFile(backup)
	must(t, err)
	half := filepath.Join(s.dir, "half.db")
	must(t, os.WriteFile(half, text[:len(text)-4096], 0o600))
	s.command("restore", half, "--note", "x").check(t, exitFailed, "nothing is changed", "damaged")
	s.command("restore", s.config, "--note", "x").check(t, exitFailed, "damaged")
	s.command("restore", filepath.Join(s.dir, "none"), "--note", "x").check(t, exitFailed, "no such file")
	s.command("restore", s.ledgerFile(), "--note", "x").check(t, exitFailed, "is the present ledger itself")
	for _, args := range [][]string{{"restore"}, {"restore", backup}, {"restore", "--done"}, {"restore", backup, "--done", "--note", "x"}, {"restore", backup, "x", "--note", "x"}} {
		if r := s.command(args...); r.code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.err)
		}
	}
	s.command("restore", "--done", "--note", "x").check(t, exitFailed, "no restore is pending")
	if row := s.row(w.ID); row.Status != ledger.Accepted {
		t.Errorf("%+v", row)
	}
	if left, err := os.ReadDir(filepath.Join(s.data, "ledger")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A site whose disk is gone: the folder is empty but for the keys.
func TestARestoreIntoAnEmptyFolder(t *testing.T) {
	t.Parallel()
	s, backup, w := taken(t, ledger.Hold)
	must(t, os.RemoveAll(filepath.Join(s.data, "ledger")))
	r := s.command("restore", backup, "--note", "a new disk")
	r.check(t, exitDone, "is the ledger")
	if strings.Contains(r.out, "is kept as") {
		t.Error(r.out)
	}
	p := s.start("")
	p.replay(w)
	p.post(newWords(), http.StatusConflict, "uncertain") // the clocks of the next hour
}

func TestNoServerStartsDuringARestore(t *testing.T) {
	t.Parallel()
	s, backup, _ := taken(t, ledger.Hold)
	staged, err := sqlledger.Stage(context.Background(), backup, s.ledgerFile())
	must(t, err)
	p := launch(t, s.dir, nil, "serve", "--config", s.config, "--data", s.data, "--listen", "127.0.0.1:0")
	if end := p.wait(); end.ExitStatus() != exitFailed || !strings.Contains(p.log.String(), "is being restored right now") {
		t.Errorf("%v: %s", end, p.log)
	}
	must(t, staged.Drop())
	s.start("").stop()
}
