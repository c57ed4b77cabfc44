//go:build failpoints

package failpoint_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"formledger/ledger/failpoint"
)

// TestMain lets the test binary run itself as the process that is hit.
func TestMain(m *testing.M) {
	if names, child := os.LookupEnv("FAILPOINT_TEST_HITS"); child {
		for name := range strings.SplitSeq(names, ",") {
			failpoint.Hit(name)
			os.Stdout.WriteString(name + "\n")
		}
		return
	}
	os.Exit(m.Run())
}

func TestKillEndsTheProcessAtTheNamedStep(t *testing.T) {
	cmd, out := start(t, "b=kill", "a,b,c")
	status := wait(t, cmd, 0)
	if !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("wait status %v, want killed", status)
	}
	if out.String() != "a\n" {
		t.Errorf("went on past the step: %q", out)
	}
}

func TestStopPausesOnceAndGoesOn(t *testing.T) {
	cmd, out := start(t, "x=kill, b=stop", "a,b,b,c")
	status := wait(t, cmd, syscall.WUNTRACED)
	if !status.Stopped() || out.String() != "a\n" {
		t.Fatalf("wait status %v after %q, want stopped after a", status, out)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	status = wait(t, cmd, syscall.WUNTRACED)
	if !status.Exited() || status.ExitStatus() != 0 || out.String() != "a\nb\nb\nc\n" {
		t.Errorf("wait status %v, output %q", status, out)
	}
}

func TestAnUnknownActionIsSaidAloud(t *testing.T) {
	cmd, out := start(t, "a=sleep", "a")
	if status := wait(t, cmd, 0); status.ExitStatus() != 0 {
		t.Errorf("wait status %v", status)
	}
	if !strings.Contains(out.String(), `unknown action "sleep"`) {
		t.Errorf("output %q", out)
	}
}

// output is a file, so that no goroutine copies and every write is seen at once.
type output struct{ *os.File }

func (o output) String() string {
	b, err := os.ReadFile(o.Name())
	if err != nil {
		return err.Error()
	}
	return string(bytes.ToValidUTF8(b, nil))
}

func start(t *testing.T, setting, hits string) (*exec.Cmd, output) {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FORMLEDGER_FAILPOINT="+setting, "FAILPOINT_TEST_HITS="+hits)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, output{f}
}

func wait(t *testing.T, cmd *exec.Cmd, options int) syscall.WaitStatus {
	t.Helper()
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, options, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
}
