package maildir

import (
	"context"
	"io"
	"slices"
	"syscall"
	"testing"

	"formledger/relay"
)

// faulty is the real disk with one step that fails, before or after it took
// effect, on each of its calls or only on some.
type faulty struct {
	disk
	step  string
	err   error
	after bool // it happened, and failed all the same
	calls int  // let this many calls of the step pass
	hook  func(step string)
}

// fail runs a step, or what its failure leaves of it.
func (f *faulty) fail(step string, do func() error) error {
	if f.hook != nil {
		f.hook(step)
	}
	if step != f.step {
		return do()
	}
	if f.calls > 0 {
		f.calls--
		return do()
	}
	if f.after {
		do()
	}
	return f.err
}

func (f *faulty) exists(path string) (there bool, err error) {
	err = f.fail("exists", func() error { there, err = f.disk.exists(path); return err })
	return there && err == nil, err
}

func (f *faulty) create(path string) (made file, err error) {
	err = f.fail("create", func() error { made, err = f.disk.create(path); return err })
	if err != nil {
		if made != nil {
			made.Close()
		}
		return nil, err
	}
	return faultyFile{made, f}, nil
}

func (f *faulty) rename(from, to string) error {
	return f.fail("rename", func() error { return f.disk.rename(from, to) })
}

func (f *faulty) remove(path string) error {
	return f.fail("remove", func() error { return f.disk.remove(path) })
}

func (f *faulty) syncDir(dir string) error {
	return f.fail("syncDir", func() error { return f.disk.syncDir(dir) })
}

type faultyFile struct {
	file
	f *faulty
}

func (w faultyFile) Write(p []byte) (n int, err error) {
	err = w.f.fail("write", func() error { n, err = w.file.Write(p); return err })
	if err != nil && w.f.after {
		n = len(p) / 2
	}
	return n, err
}

func (w faultyFile) Sync() error { return w.f.fail("sync", w.file.Sync) }

func (w faultyFile) Close() error {
	if err := w.file.Close(); err != nil {
		return err
	}
	return w.f.fail("close", func() error { return nil })
}

// sendFaulty makes one call with a step that fails, and holds the verdict
// against what is in the folder.
func sendFaulty(t *testing.T, f *faulty) relay.Verdict {
	t.Helper()
	s := newSender(t)
	s.fs = f
	v := send(s, 1)
	inNew := len(files(t, s.dir, "new"))
	switch {
	case v.Permanent:
		t.Error("a full disk gets emptied: nothing here is permanent")
	case v.Finding == relay.NotSent && inNew != 0:
		t.Error("not sent, and there it is")
	case v.Finding == relay.Accepted && inNew != 1:
		t.Error("accepted, and not there")
	}
	if left := files(t, s.dir, "tmp"); len(left) != 0 && f.step != "remove" {
		t.Errorf("left in tmp: %v", left)
	}
	return v
}

func TestEveryStepThatFailsSaysWhatItProves(t *testing.T) {
	notSent, unknown := folderFails, relay.UnknownAfter
	for _, c := range []struct {
		step  string
		calls int
		err   error
		want  relay.Verdict
	}{
		{"exists", 0, syscall.EIO, notSent("io_error", "look")},
		{"exists", 1, syscall.EIO, notSent("io_error", "look")},
		{"create", 0, syscall.ENOSPC, notSent("disk_full", "create")},
		{"create", 0, syscall.EROFS, notSent("read_only", "create")},
		{"create", 0, syscall.EIO, notSent("io_error", "create")},
		{"write", 0, syscall.ENOSPC, notSent("disk_full", "write")},
		{"write", 0, syscall.EDQUOT, notSent("disk_full", "write")},
		{"write", 0, io.ErrShortWrite, notSent("io_error", "write")},
		{"sync", 0, syscall.EIO, notSent("io_error", "sync")},
		{"close", 0, syscall.EIO, notSent("io_error", "sync")},
		{"rename", 0, syscall.EIO, unknown("io_error", "rename")},
		{"rename", 0, syscall.EINTR, unknown("io_error", "rename")},
		{"syncDir", 0, syscall.EIO, unknown("io_error", "sync_dir")},
		{"syncDir", 0, syscall.ENOENT, unknown("folder_missing", "sync_dir")},
	} {
		for _, after := range []bool{false, true} {
			f := &faulty{step: c.step, calls: c.calls, err: c.err, after: after}
			if v := sendFaulty(t, f); v != c.want {
				t.Errorf("%s fails with %v (it happened: %v): %+v, want %+v", c.step, c.err, after, v, c.want)
			}
		}
	}
}

func TestARenameThatIsExcludedIsNotSent(t *testing.T) {
	for _, err := range slices.Concat(neverRenamed, []error{syscall.ENOENT}) {
		if v := sendFaulty(t, &faulty{step: "rename", err: err}); v.Finding != relay.NotSent || v.Cause.Stage != "rename" {
			t.Errorf("%v: %+v", err, v)
		}
	}
}

// A network file system may have renamed and say that there was nothing.
func TestARenameThatFindsNothingAfterItHappenedIsUnknown(t *testing.T) {
	v := sendFaulty(t, &faulty{step: "rename", err: syscall.ENOENT, after: true})
	if v != relay.UnknownAfter("folder_missing", "rename") {
		t.Errorf("%+v", v)
	}
}

func TestWhatCannotBeRemovedFromTmpIsStillNotSent(t *testing.T) {
	s := newSender(t)
	f := &faulty{step: "remove", err: syscall.EIO}
	s.fs = f
	c := newClock()
	f.hook = func(step string) {
		if step == "close" {
			c.lapse()
		}
	}
	v := s.Send(context.Background(), mailWith(1), c.lease())
	if v != relay.ProvenNotSent("lease_lapsed", "rename") {
		t.Errorf("%+v", v)
	}
	counts(t, s.dir, 1, 0)
	s.fs = disk{}
	if v := send(s, 1); v != relay.UnknownAfter("claim_in_use", "create") {
		t.Errorf("the same claim again: %+v", v)
	}
}

func TestALapsedLeaseStopsTheCall(t *testing.T) {
	for during, want := range map[string]relay.Verdict{
		"exists": relay.ProvenNotSent("lease_lapsed", "create"), // before the first byte
		"write":  relay.ProvenNotSent("lease_lapsed", "rename"),
		"sync":   relay.ProvenNotSent("lease_lapsed", "rename"),
		"rename": relay.AcceptedWith("maildir:" + nameOf(mailWith(1))), // too late to stop
	} {
		s, c := newSender(t), newClock()
		s.fs = &faulty{hook: func(step string) {
			if step == during {
				c.lapse()
			}
		}}
		if v := s.Send(context.Background(), mailWith(1), c.lease()); v != want {
			t.Errorf("lapsed during %s: %+v, want %+v", during, v, want)
		}
		counts(t, s.dir, 0, map[bool]int{true: 1}[want.Finding == relay.Accepted])
	}
}

func TestADeadlineStopsTheCall(t *testing.T) {
	for during, want := range map[string]relay.Verdict{
		"exists": folderFails("deadline", "create"),
		"sync":   folderFails("deadline", "rename"),
		"rename": relay.AcceptedWith("maildir:" + nameOf(mailWith(1))),
	} {
		s := newSender(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.fs = &faulty{hook: func(step string) {
			if step == during {
				cancel()
			}
		}}
		if v := s.Send(ctx, mailWith(1), newClock().lease()); v != want {
			t.Errorf("over during %s: %+v, want %+v", during, v, want)
		}
		cancel()
	}
}

// A call under the same claim finished between this one's look and its create.
func TestADeliveryInBetweenIsSeen(t *testing.T) {
	s := newSender(t)
	other := &Sender{dir: s.dir, fs: disk{}}
	name := nameOf(mailWith(1))
	s.fs = &faulty{hook: func(step string) {
		if step == "create" {
			send(other, 1)
		}
	}}
	if v := send(s, 1); v != relay.AcceptedWith("maildir:"+name) {
		t.Errorf("%+v", v)
	}
	counts(t, s.dir, 0, 1)
}

// What an earlier call left unsynced is accepted only once it is synced.
func TestAnEarlierFileThatCannotBeSyncedIsUnknown(t *testing.T) {
	s := newSender(t)
	s.fs = &faulty{step: "syncDir", err: syscall.EIO}
	for range 2 {
		if v := send(s, 1); v != relay.UnknownAfter("io_error", "sync_dir") {
			t.Errorf("%+v", v)
		}
	}
	s.fs = disk{}
	if v := send(s, 1); v.Finding != relay.Accepted {
		t.Errorf("%+v", v)
	}
	counts(t, s.dir, 0, 1)
}

// folderFails is the verdict of a folder that would take no other message either.
func folderFails(code, stage string) relay.Verdict {
	v := relay.ProvenNotSent(code, stage)
	v.Unreached = true
	return v
}
