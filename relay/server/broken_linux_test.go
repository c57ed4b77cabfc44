package server

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"formledger/relay/signed"
)

// spoilLog makes SQLite's descriptor of the log mean another file, so that the
// kernel answers its next call with a real error.
func spoilLog(t *testing.T, file, name string, mode int) {
	t.Helper()
	other, err := os.OpenFile(name, mode, 0)
	must(t, err)
	defer other.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	found := false
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if fd, err := strconv.Atoi(e.Name()); err == nil && target == file+"-wal" && fd != int(other.Fd()) {
			must(t, syscall.Dup3(int(other.Fd()), fd, syscall.O_CLOEXEC))
			found = true
		}
	}
	if !found {
		t.Fatal("the log was not found")
	}
}

func TestAnErrorOfTheDiskBreaksTheRelayForEver(t *testing.T) {
	b := newBench(t)
	first, m := b.message(), b.message()
	b.sends(first)
	spoilLog(t, b.file, b.file+"-wal", os.O_RDONLY)
	select {
	case <-b.calls.Broken():
		t.Fatal("broken before anything failed")
	default:
	}
	res, err := b.form.send(m)
	b.turnedAway(http.StatusServiceUnavailable, res, err)
	select {
	case <-b.calls.Broken():
	default:
		t.Fatal("not broken")
	}
	for range 3 { // a read as well
		res, err = b.form.inquire(first, true)
		b.turnedAway(http.StatusServiceUnavailable, res, err)
	}
	if _, err := b.server.known(first.Claim); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	b.wantMails(1)
	b.start(openCalls(t, b.file)) // the restart
	b.wants(b.asks(first), signed.StatusAccepted, "")
	b.wants(b.sends(m), signed.StatusAccepted, "")
	b.wantMails(2)
}

func TestAFullDiskIsAnErrorAndNoMore(t *testing.T) {
	b := newBench(t, shortLease)
	first, m := b.message(), b.message()
	b.sends(first)
	spoilLog(t, b.file, "/dev/full", os.O_RDWR)
	_, err := b.calls.seal(t.Context(), row{claim: m.Claim, caller: "shop", id: m.SubmissionID, hash: m.PayloadHash, status: signed.StatusSealed})
	if err == nil || errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	b.wants(b.asks(first), signed.StatusAccepted, "") // on a fresh connection
	b.wants(b.sends(m), signed.StatusAccepted, "")
	b.wantMails(2)
}
