package maildir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"formledger/relay"
)

func TestNewLeavesNothingBehind(t *testing.T) {
	s := newSender(t)
	counts(t, s.dir, 0, 0)
	if left := files(t, s.dir, "cur"); len(left) != 0 {
		t.Errorf("cur holds %v", left)
	}
	if _, err := New(s.dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		fs   filesystem
		want string
	}{
		"move":  {&faulty{step: "rename", err: syscall.EXDEV}, "a file cannot be moved into new"},
		"move2": {&faulty{step: "rename", calls: 1, err: syscall.EACCES}, "a file cannot be moved into cur"},
		"sync":  {&faulty{step: "syncDir", calls: 3, err: syscall.EINVAL}, "new cannot be synced"},
		"make":  {&faulty{step: "syncDir", err: syscall.EIO}, "making it"},
	} {
		dir := t.TempDir()
		_, err := open(dir, c.fs, time.Now())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestNewRefusesAFileInPlaceOfAFolder(t *testing.T) {
	dir := t.TempDir()
	touch(t, filepath.Join(dir, "new"), time.Now())
	if _, err := New(dir); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("%v", err)
	}
	if _, err := New(filepath.Join(dir, "new")); err == nil {
		t.Error("no error for a folder inside a file")
	}
}

func TestNewNeedsPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("NOT TESTED: root may write everywhere, so a folder without permission cannot be made")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
}

func TestNewRemovesOnlyOurOwnOldLeftovers(t *testing.T) {
	s := newSender(t)
	tmp := filepath.Join(s.dir, "tmp")
	old, young := time.Now().Add(-37*time.Hour), time.Now().Add(-35*time.Hour)
	touch(t, filepath.Join(tmp, "1.ours.formledger"), old)
	touch(t, filepath.Join(tmp, "2.ours.formledger"), young)
	touch(t, filepath.Join(tmp, "3.theirs.host"), old)
	touch(t, filepath.Join(s.dir, "new", "4.mail.formledger"), old)
	if _, err := New(s.dir); err != nil {
		t.Fatal(err)
	}
	if got := files(t, s.dir, "tmp"); len(got) != 2 || strings.Contains(strings.Join(got, " "), "1.ours") {
		t.Errorf("tmp holds %v", got)
	}
	counts(t, s.dir, 2, 1)
}

func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

func TestNewRefusesAReadOnlyDisk(t *testing.T) {
	if _, err := New(mount(t, syscall.MS_RDONLY)); !errors.Is(err, syscall.EROFS) {
		t.Errorf("%v", err)
	}
}

// mount gives a disk of 64 KiB that is the test's own.
func mount(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k"); err != nil {
		t.Skipf("NOT TESTED on a real disk: mounting a tmpfs needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A real full disk, emptied again.
func TestAFullDiskIsNotSentAndHeals(t *testing.T) {
	dir := mount(t, 0)
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if v := send(s, 1); v != folderFails("disk_full", "write") {
		t.Errorf("%+v", v)
	}
	counts(t, dir, 0, 0)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if v := send(s, 1); v.Finding != relay.Accepted {
		t.Errorf("with room again: %+v", v)
	}
	counts(t, dir, 0, 1)
}
