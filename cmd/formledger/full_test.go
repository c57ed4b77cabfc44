//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"formledger/ledger"
)

// smallDisk mounts a disk of a megabyte over a folder of the site's data.
func (s *site) smallDisk(sub string) string {
	s.t.Helper()
	if os.Geteuid() != 0 {
		s.t.Skip("NOT TESTED: a full disk. The test mounts a small disk, which only root can do.")
	}
	dir := filepath.Join(s.data, sub)
	must(s.t, os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("CI") != "" {
			s.t.Fatalf("a small disk cannot be mounted: %v", err)
		}
		s.t.Skipf("NOT TESTED: a full disk. A small disk cannot be mounted: %v", err)
	}
	s.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill leaves no byte on the disk of a folder.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	must(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil && !errors.Is(err, io.ErrShortWrite) {
			t.Fatal(err)
		}
	}
	return func() { must(t, os.Remove(f.Name())) }
}

// A full disk for the mail, and one for the ledger: nothing is sent, the visitor
// is told so, and once there is space the same ID is sent once.
func TestAFullDisk(t *testing.T) {
	for _, sub := range []string{"mail", "ledger"} {
		t.Run(sub, func(t *testing.T) {
			t.Parallel()
			s, w := newSite(t, quick), newWords()
			dir := s.smallDisk(sub)
			p := s.start("")
			before := newWords()
			p.post(before, http.StatusCreated, "accepted")
			free := fill(t, dir)
			for range 2 {
				a := p.post(w, http.StatusServiceUnavailable, "not_sent")
				if !a.Retryable || a.Header.Get("Retry-After") == "" || a.Contact == "" {
					t.Errorf("the answer does not help the visitor: %v", a)
				}
			}
			p.replay(before)
			s.wantMails(1)
			free()
			p.sendsAtLast(w)
			p.replay(w)
			s.wantMails(2)
			s.needsNobody()
			if row := s.row(w.ID); row.Status != ledger.Accepted || row.Doubted {
				t.Errorf("the row is %+v", row)
			}
			p.stop()
		})
	}
}

// The disk fills up between the mail and its record. If there is space again
// within the lease, the record is made.
func TestADiskThatIsFullBeforeTheRecordForAMoment(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	dir := s.smallDisk("ledger")
	p, done := s.stopsAt("maildir.after-sync", w.json())
	free := fill(t, dir)
	p.signal(syscall.SIGCONT)
	p.logged("disk is full")
	if a := p.receipt(w.ID); a.Outcome != "processing" {
		t.Errorf("without a record the receipt says %v", a)
	}
	free()
	if a := p.answers(done); !a.is(http.StatusCreated, "accepted") {
		t.Errorf("the visitor got %v", a)
	}
	p.replay(w)
	s.wantMails(1)
	s.needsNobody()
}

// If not, it is never called accepted, and never sent again.
func TestADiskThatIsFullUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, resting), newWords()
	dir := s.smallDisk("ledger")
	p, done := s.stopsAt("maildir.after-sync", w.json())
	free := fill(t, dir)
	p.signal(syscall.SIGCONT)
	if a := p.answers(done); !a.is(http.StatusConflict, "processing") {
		t.Errorf("without a record the visitor got %v", a)
	}
	p.logged("outcome could not be recorded")
	for _, want := range []string{w.ID.String(), `"receipt":"maildir:`, `"claim":"` + s.row(w.ID).Claim.String()} {
		p.logged(want)
	}
	free()
	s.configure(quick)
	other := s.start("")
	other.becomes(w.ID, "uncertain")
	other.post(w, http.StatusConflict, "uncertain")
	s.wantMails(1)
}

// A database that is damaged under a running server ends it, with an error:
// nothing is said that its records do not bear out.
func TestADamagedLedgerEndsTheProcess(t *testing.T) {
	t.Parallel()
	s, w := newSite(t, patient), newWords()
	p := s.start("")
	p.post(w, http.StatusCreated, "accepted")
	p.stop()
	p = s.start("")
	db, err := os.OpenFile(s.ledgerFile(), os.O_WRONLY, 0)
	must(t, err)
	defer db.Close()
	info, err := db.Stat()
	must(t, err)
	_, err = db.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())-4096), 4096)
	must(t, err)
	if got := <-inBackground(p.base, w.json()); got.err == nil && got.answer.Status < http.StatusInternalServerError {
		t.Errorf("the visitor got %v", got.answer)
	}
	if end := p.wait(); end.ExitStatus() != exitFailed {
		t.Errorf("the process ended with %v", end)
	}
	p.logged("its restart recovers")
	s.wantMails(1)
}
