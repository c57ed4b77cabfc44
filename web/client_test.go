package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

var passed = regexp.MustCompile(`(?m)^# pass (\d+)$`)

// The core's own tests run where it runs: in JavaScript, with a fake clock and a
// scripted network.
func TestTheCoreInJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		untested := fmt.Sprintf("NOT TESTED: the browser client's core: %v; make deps installs it", err)
		if os.Getenv("CI") != "" {
			t.Fatal(untested)
		}
		t.Skip(untested)
	}
	files, err := filepath.Glob(filepath.Join("client", "test", "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	said, err := exec.CommandContext(ctx, node, append([]string{"--test", "--test-reporter=tap"}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	if n := passed.FindSubmatch(said); n == nil || len(n[1]) < 3 { // a hundred and more
		t.Errorf("hardly anything was tested:\n%s", said)
	}
}
