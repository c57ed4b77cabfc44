//go:build failpoints

package server

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"formledger/relay/signed"
)

// startChild starts a relay in a process of its own that the fail point hits.
func startChild(t *testing.T, dir, setting string) (address string, wait func() syscall.WaitStatus) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RELAY_TEST_CHILD="+dir, "FORMLEDGER_FAILPOINT="+setting)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitFor(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "address"))
		address = string(text)
		return err == nil
	})
	return address, func() syscall.WaitStatus {
		_ = cmd.Wait()
		return cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
}

// sentBy counts the mails that a child sent.
func sentBy(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "sent"))
	if !os.IsNotExist(err) {
		must(t, err)
	}
	return bytes.Count(text, []byte("\n"))
}

func TestADeathAtEachStepLeavesNoFalseProofAndNoSecondSend(t *testing.T) {
	for step, want := range map[string]struct {
		sent       int
		now, later signed.Status
	}{
		"server.before-claim": {0, signed.StatusSealed, signed.StatusSealed},
		"server.after-claim":  {0, signed.StatusProcessing, signed.StatusUncertain},
		"server.after-send":   {1, signed.StatusProcessing, signed.StatusUncertain},
		"server.after-record": {1, signed.StatusAccepted, signed.StatusAccepted},
	} {
		t.Run(step, func(t *testing.T) {
			b, dir, keys := newBench(t), t.TempDir(), pair(t)
			must(t, os.WriteFile(filepath.Join(dir, "keys"), []byte(keys), 0o600))
			file := filepath.Join(dir, "calls.db")
			b.form.keys = readKeys(t, keys)
			address, wait := startChild(t, dir, step+"=kill")
			_, epoch, err := ExamineCalls(t.Context(), file)
			must(t, err)
			m := b.message()
			m.Epoch = epoch
			b.form.address = address
			if res, err := b.form.send(m); err == nil {
				t.Errorf("an answer: %+v", res)
			}
			if status := wait(); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("%v", status)
			}
			if got := sentBy(t, dir); got != want.sent {
				t.Errorf("%d mails, want %d", got, want.sent)
			}
			b.start(openCalls(t, file))
			if now := b.asks(m); now.Status != want.now || now.Epoch != epoch {
				t.Errorf("%+v, want %s", now, want.now)
			}
			b.clock.advance(2 * time.Minute)
			for _, later := range []signed.Answer{b.asks(m), b.sends(m)} {
				if later.Status != want.later || isProof(later.Status) && want.sent > 0 {
					t.Errorf("%+v, want %s", later, want.later)
				}
			}
			b.wantMails(0)
		})
	}
}
