package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs each command as an operator does: testdata/script holds one
// script for each, with what it has to print. UPDATE_SCRIPTS=1 writes what it
// prints now into the scripts.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               prepareScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"seed": seed, "exits": exits, "blur": blur, "jsonok": jsonOK,
		},
	})
}

func prepareScript(e *testscript.Env) error {
	e.Setenv("FORMLEDGER_CONFIG", filepath.Join(e.WorkDir, "formledger.toml"))
	e.Setenv("FORMLEDGER_DATA", filepath.Join(e.WorkDir, "data"))
	return os.WriteFile(filepath.Join(e.WorkDir, "formledger.toml"), []byte(contactForm), 0o600)
}

// exits runs a command, whose exit code has to be the first argument.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		got, err = ended.ExitCode(), nil
	}
	ts.Check(err)
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit code %d, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// What differs from one run to the next: times that are not the seed's, ages and
// versions.
var (
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z`)
	ages     = regexp.MustCompile(`for (a minute|\d+ (minutes|hours|days))`)
	versions = regexp.MustCompile(`(version +)[0-9a-z]+`)
)

// blur writes the standard output into the file out, without what differs.
func blur(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: blur")
	}
	text := times.ReplaceAllStringFunc(ts.ReadFile("stdout"), func(at string) string {
		if strings.HasPrefix(at, seedMonth) {
			return at
		}
		return "NOW"
	})
	text = versions.ReplaceAllString(ages.ReplaceAllString(text, "for AGE"), "${1}VERSION")
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(text), 0o600))
}

// jsonOK fails unless the standard output is JSON, and has each value at its
// place, as in 0.events.1.kind=noted; len is the length of a list or an object.
func jsonOK(ts *testscript.TestScript, neg bool, args []string) {
	var whole any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &whole); err != nil || neg {
		ts.Fatalf("not JSON: %v", err)
	}
	for _, arg := range args {
		place, want, _ := strings.Cut(arg, "=")
		if got := fmt.Sprint(lookUp(whole, strings.Split(place, "."))); got != want {
			ts.Fatalf("%s is %s, want %s, in\n%s", place, got, want, ts.ReadFile("stdout"))
		}
	}
}

// lookUp walks into decoded JSON.
func lookUp(value any, place []string) any {
	if len(place) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		if inner, known := v[place[0]]; known || place[0] != "len" {
			return lookUp(inner, place[1:])
		}
		return len(v)
	case []any:
		if i, err := strconv.Atoi(place[0]); err == nil && i < len(v) {
			return lookUp(v[i], place[1:])
		}
		return len(v)
	}
	return nil
}
