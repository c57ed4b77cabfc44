//go:build failpoints

package smtp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"formledger/relay/smtp/smtptest"
)

// startChild makes one call in a process of its own that the fail point hits,
// and waits until it has.
func startChild(t *testing.T, f *smtptest.Server, setting, lapsed string) (pid int, output string, status syscall.WaitStatus) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SMTP_TEST_CHILD="+strconv.Itoa(f.Port()), "SMTP_TEST_LAPSED="+lapsed, "FORMLEDGER_FAILPOINT="+setting)
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

func TestADeathAtEachStepSendsNothingOrAWholeMessage(t *testing.T) {
	for step, mails := range map[string]int{
		"smtp.before-connect": 0, "smtp.before-dot": 0, "smtp.after-dot": 1, "smtp.after-reply": 1,
	} {
		f := newFake(t, Plain)
		f.Start()
		_, _, status := startChild(t, f, step+"=kill", "")
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: %v", step, status)
		}
		f.Finish()
		if len(f.Mails()) != mails {
			t.Errorf("%s: %d messages, want %d", step, len(f.Mails()), mails)
		}
	}
}

// A process that is paused past its lease sends nothing when it wakes up.
func TestAPauseBeyondTheLeaseSendsNothing(t *testing.T) {
	for step, want := range map[string]string{
		"smtp.before-connect": "not_sent lease_lapsed@connect", "smtp.before-dot": "not_sent lease_lapsed@dot",
	} {
		f := newFake(t, Plain)
		f.Start()
		lapsed := filepath.Join(t.TempDir(), "lapsed")
		pid, output, status := startChild(t, f, step+"=stop", lapsed)
		if !status.Stopped() {
			t.Fatalf("%s: %v", step, status)
		}
		if err := os.WriteFile(lapsed, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		await(t, pid)
		said, err := os.ReadFile(output)
		f.Finish()
		if err != nil || strings.TrimSpace(string(said)) != want || len(f.Mails()) != 0 {
			t.Errorf("%s: %v, %q, %d messages", step, err, said, len(f.Mails()))
		}
	}
}
