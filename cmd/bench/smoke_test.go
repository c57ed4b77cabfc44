package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// The whole bench, with counts so small that its numbers mean nothing.
func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	var out, log bytes.Buffer
	args := []string{"-quick", "-conns=2", "-seconds=0.1", "-warm=0.02", "-submissions=40", "-dir=" + dir}
	if code := run(args, strings.NewReader(""), &out, &log); code != 0 {
		t.Fatalf("exit code %d: %s", code, log.String())
	}
	for _, r := range allRows {
		if !strings.Contains(out.String(), "\n  "+r.letter+"  "+r.name) {
			t.Errorf("row %s is not described in:\n%s", r.letter, out.String())
		}
		if strings.Count(out.String(), r.name) < 2 {
			t.Errorf("row %s has no numbers in:\n%s", r.letter, out.String())
		}
	}
	if strings.Contains(log.String(), "ERROR") || strings.Contains(log.String(), "failed") {
		t.Errorf("the server complained:\n%s", log.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCounters(t *testing.T) {
	if syncs() < 0 {
		t.Skip("fsync is not counted on this system")
	}
	b := &bench{options: options{window: 50 * time.Millisecond, most: 30}, folder: t.TempDir(), log: t.Output()}
	for _, r := range allRows {
		s, err := b.cell(t.Context(), r, 2)
		if err != nil {
			t.Fatal(err)
		}
		// a replay writes nothing, and what has no ledger has nothing to sync
		writes := r.server.recorded() && !r.replay
		if (s.syncs > 0) != writes || s.submissions == 0 || s.peakKiB == 0 {
			t.Errorf("row %s: %+v", r.letter, s)
		}
	}
}

func TestSingleCommitsAreSingle(t *testing.T) {
	if syncs() < 0 {
		t.Skip("fsync is not counted on this system")
	}
	b := &bench{options: options{window: time.Second, most: 60}, folder: t.TempDir(), log: t.Output()}
	s, err := b.cell(t.Context(), row{letter: "c", server: modeSingle}, 8)
	if err != nil {
		t.Fatal(err)
	}
	if s.syncs < 2 { // a claim and a settle
		t.Errorf("%.2f fsyncs per submission, want 2 or more", s.syncs)
	}
}

func TestWrongAnswerEndsTheRun(t *testing.T) {
	b := &bench{options: options{window: time.Second, most: 60}, folder: t.TempDir(), log: t.Output()}
	_, err := b.cell(t.Context(), row{letter: "x", server: modeProduct, recalls: true}, 2)
	if err == nil || !strings.Contains(err.Error(), "answered 201") {
		t.Errorf("fresh enquiries that are taken for replays: %v", err)
	}
}
