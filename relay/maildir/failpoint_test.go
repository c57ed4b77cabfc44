//go:build failpoints

package maildir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"formledger/relay"
)

// startChild runs one call in a process of its own that the fail point hits,
// and waits until it has.
func startChild(t *testing.T, dir, setting string) (pid int, output string, status syscall.WaitStatus) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MAILDIR_TEST_CHILD="+dir, "FORMLEDGER_FAILPOINT="+setting)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, out.Name(), await(t, cmd.Process.Pid)
}

func await(t *testing.T, pid int) (status syscall.WaitStatus) {
	t.Helper()
	for {
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if err == nil {
			return status
		}
		if err != syscall.EINTR {
			t.Fatal(err)
		}
	}
}

func TestADeathAtEachStepLeavesNoFileOrAWholeOne(t *testing.T) {
	for step, want := range map[string][2]int{ // files in tmp and in new
		"maildir.before-write":  {0, 0},
		"maildir.before-rename": {1, 0},
		"maildir.after-rename":  {0, 1},
		"maildir.after-sync":    {0, 1},
	} {
		dir := filepath.Join(t.TempDir(), "mail")
		_, _, status := startChild(t, dir, step+"=kill")
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v", step, status)
		}
		counts(t, dir, want[0], want[1])
		for _, name := range files(t, dir, "new") {
			if raw, err := os.ReadFile(filepath.Join(dir, "new", name)); err != nil || string(raw) != mailText {
				t.Errorf("%s: %v, %q", step, err, raw)
			}
		}
	}
}

// A process that is paused past its lease sends nothing when it wakes up.
func TestAPauseBeyondTheLeaseSendsNothing(t *testing.T) {
	for step, want := range map[string]relay.Verdict{
		"maildir.before-write":  relay.ProvenNotSent("lease_lapsed", "create"),
		"maildir.before-rename": relay.ProvenNotSent("lease_lapsed", "rename"),
	} {
		dir := filepath.Join(t.TempDir(), "mail")
		pid, output, status := startChild(t, dir, step+"=stop")
		if !status.Stopped() {
			t.Fatalf("%s: %v", step, status)
		}
		if err := os.WriteFile(dir+".lapsed", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		await(t, pid)
		said, err := os.ReadFile(output)
		if err != nil || strings.TrimSpace(string(said)) != "not_sent "+want.Cause.String() {
			t.Errorf("%s: %v, %q", step, err, said)
		}
		counts(t, dir, 0, 0)
	}
}
