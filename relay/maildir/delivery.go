package maildir

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"formledger/ledger/failpoint"
	"formledger/relay"
)

// The stages of a call, as a verdict's cause names them.
const (
	stageLook    = "look"
	stageCreate  = "create"
	stageWrite   = "write"
	stageSync    = "sync"
	stageRename  = "rename"
	stageSyncDir = "sync_dir"
)

// delivery is one call on its way through the steps.
type delivery struct {
	fs        filesystem
	dir, name string
	content   []byte
	ctx       context.Context // of this one call
	lease     relay.Lease
	file      file // the file in tmp, while it is open
}

// A step returns the verdict that ends the call, or nil to go on.
type step func() *relay.Verdict

// look ends the call if the claim's file was delivered before: a caller that
// repeats a claim gets the same answer. It comes first, even before the lease,
// because whatever hinders this call, "not sent" would be untrue then.
//
// A folder that cannot be read says nothing about an earlier call. There was
// none: the ledger lets a claim make one call. So this is not sent.
func (d *delivery) look() *relay.Verdict {
	there, err := d.delivered()
	switch {
	case err != nil:
		return d.notSent(codeOf(err), stageLook)
	case !there:
		return nil
	}
	return d.settled()
}

// delivered reports whether new holds the file of the claim. A mail program may
// have moved it on to cur, under a name with flags; to look there would take
// longer with every mail that is kept, and a claim makes one call.
func (d *delivery) delivered() (bool, error) { return d.fs.exists(d.path("new")) }

// settled accepts the file of an earlier call, once its name is synced: that
// call may have ended before it was.
func (d *delivery) settled() *relay.Verdict {
	if err := d.fs.syncDir(filepath.Join(d.dir, "new")); err != nil {
		return d.unknown(codeOf(err), stageSyncDir)
	}
	v := d.accepted()
	return &v
}

// create opens the file in tmp. Its name belongs to the claim, and it must not
// exist: a second call under the claim at the same time stops here, and does
// not know what becomes of the first.
func (d *delivery) create() *relay.Verdict {
	failpoint.Hit("maildir.before-write")
	if code := d.hindrance(); code != "" {
		return d.notSent(code, stageCreate)
	}
	f, err := d.fs.create(d.path("tmp"))
	if errors.Is(err, fs.ErrExist) {
		return d.unknown("claim_in_use", stageCreate)
	}
	if err != nil {
		return d.drop(err, stageCreate)
	}
	d.file = f
	return nil
}

// write looks once more, now that the name in tmp keeps others out: a call
// under the same claim may have finished since. Then the words reach the disk.
func (d *delivery) write() *relay.Verdict {
	there, err := d.delivered()
	switch {
	case err != nil:
		return d.drop(err, stageLook)
	case there:
		d.discard()
		return d.settled()
	}
	if _, err := d.file.Write(d.content); err != nil {
		return d.drop(err, stageWrite)
	}
	if err := d.file.Sync(); err != nil {
		return d.drop(err, stageSync)
	}
	err = d.file.Close()
	d.file = nil
	if err != nil {
		return d.drop(err, stageSync)
	}
	return nil
}

// rename is the step that cannot be taken back. The lease is asked after the
// fail point, as after any pause: a process that slept must not go on.
//
// ENOENT is excluding only if the file was still in tmp afterwards: a network
// file system may carry out a rename, lose the answer, repeat the request, and
// report that there is nothing to rename (RFC 1813 section 4.5).
func (d *delivery) rename() *relay.Verdict {
	failpoint.Hit("maildir.before-rename")
	if code := d.hindrance(); code != "" {
		d.discard()
		return d.notSent(code, stageRename)
	}
	err := d.fs.rename(d.path("tmp"), d.path("new"))
	if err == nil {
		return nil
	}
	wasInTmp := d.discard() == nil
	if excluded(err) || errors.Is(err, syscall.ENOENT) && wasInTmp {
		return d.notSent(codeOf(err), stageRename)
	}
	return d.unknown(codeOf(err), stageRename)
}

func (d *delivery) sync() *relay.Verdict {
	failpoint.Hit("maildir.after-rename")
	if err := d.fs.syncDir(filepath.Join(d.dir, "new")); err != nil {
		return d.unknown(codeOf(err), stageSyncDir)
	}
	failpoint.Hit("maildir.after-sync")
	return nil
}

// hindrance is why the call must not go on, or "".
func (d *delivery) hindrance() string {
	if !d.lease.Held() {
		return relay.CodeLapsed
	}
	if d.ctx.Err() != nil {
		return "deadline"
	}
	return ""
}

// drop ends a call that failed before its rename.
func (d *delivery) drop(err error, stage string) *relay.Verdict {
	d.discard()
	return d.notSent(codeOf(err), stage)
}

// discard removes the file from tmp, and reports whether it was there. What
// cannot be removed stays behind, but in tmp it is no mail.
func (d *delivery) discard() error {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
	return d.fs.remove(d.path("tmp"))
}

func (d *delivery) path(sub string) string { return filepath.Join(d.dir, sub, d.name) }

func (d *delivery) accepted() relay.Verdict { return relay.AcceptedWith("maildir:" + d.name) }

func (d *delivery) notSent(code, stage string) *relay.Verdict {
	v := relay.ProvenNotSent(code, stage)
	v.Unreached = code != relay.CodeLapsed // a folder that cannot be written takes no other message either
	return &v
}

func (d *delivery) unknown(code, stage string) *relay.Verdict {
	v := relay.UnknownAfter(code, stage)
	return &v
}
