//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// spent holds the names that have acted in this process.
var spent sync.Map

// Hit acts if FORMLEDGER_FAILPOINT names this step, once for each name.
func Hit(name string) {
	action := actionFor(name, os.Getenv("FORMLEDGER_FAILPOINT"))
	if action == "" {
		return
	}
	if _, again := spent.LoadOrStore(name, true); again {
		return
	}
	switch action {
	case "kill":
		signalSelf(name, syscall.SIGKILL)
	case "stop":
		signalSelf(name, syscall.SIGSTOP)
	default:
		fmt.Fprintf(os.Stderr, "failpoint %s: unknown action %q, want kill or stop\n", name, action)
	}
}

func actionFor(name, setting string) string {
	for entry := range strings.SplitSeq(setting, ",") {
		n, action, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if n == name {
			return action
		}
	}
	return ""
}

// signalSelf aims at the calling thread. Linux may hand a signal for the whole
// process to another thread, and the caller would run on for a moment, past the
// step that the test means (signal(7), "thread-directed").
func signalSelf(name string, sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Tgkill(os.Getpid(), syscall.Gettid(), sig); err != nil {
		fmt.Fprintf(os.Stderr, "failpoint %s: %v\n", name, err)
	}
}
