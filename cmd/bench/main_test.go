package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary be the child, as the bench itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-server=") {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// Under the race detector every child would linger for a second as it ends:
	// https://go.dev/doc/articles/race_detector#Options
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}
