package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// buildDir holds the program that the tests start as real processes.
var buildDir string

// TestMain also is formledger itself, where a script runs it.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"formledger": main})
}

// suite is all tests, of the program that is not formledger now.
type suite struct{ m *testing.M }

// Run is what testscript.Main calls.
func (s suite) Run() int {
	var err error
	if buildDir, err = os.MkdirTemp("", "formledger-build-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(buildDir)
	flag.Parse()
	// The tests wait for leases to end; they hardly compute. So many run at once.
	if p := flag.Lookup("test.parallel"); p.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = p.Value.Set("24")
	}
	return s.m.Run()
}

// program builds formledger with its fail points, once.
var program = sync.OnceValues(func() (string, error) {
	file := filepath.Join(buildDir, "formledger")
	out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", file, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	// somebody else may run it too: the test of a folder without permission
	return file, os.Chmod(buildDir, 0o755)
})

// eventually waits until a condition holds, and fails with its last complaint.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	eventuallyWithin(t, 30*time.Second, condition)
}

func eventuallyWithin(t *testing.T, limit time.Duration, condition func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = condition(); err == nil {
			return
		}
	}
	t.Fatalf("waited %s in vain: %v", limit, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
