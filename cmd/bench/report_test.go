package main

import (
	"strings"
	"testing"
	"time"
)

// two rounds in which everything is twice as fast in the second
func twoRounds() results {
	r := results{}
	for letter, rate := range map[string]float64{"a": 1000, "b": 500, "c": 100, "d": 900, "m": 850, "w": 1000} {
		for i := range 2 {
			r[place{letter, targetConns}] = append(r[place{letter, targetConns}],
				sample{submissions: 10, rate: rate * float64(i+1), p50: time.Millisecond, syncs: 0.25, cpu: -1})
		}
	}
	return r
}

func TestTargets(t *testing.T) {
	var out strings.Builder
	printTargets(&out, twoRounds())
	want := []string{"0.500   met", "5.000   NOT MET", "0.900   met", "0.850   met", "0.250   NOT MET"}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, w := range want {
		if !strings.HasSuffix(lines[i+1], w) {
			t.Errorf("%q does not say %q", lines[i+1], w)
		}
	}
}

func TestTargetsThatWereNotMeasured(t *testing.T) {
	var out strings.Builder
	printTargets(&out, results{})
	if n := strings.Count(out.String(), "not measured"); n != 5 {
		t.Errorf("%d of 5 targets are called not measured:\n%s", n, out.String())
	}
}

func TestTables(t *testing.T) {
	o := options{conns: []int{targetConns}, rows: allRows[:4]}
	var out strings.Builder
	printTables(&out, o, twoRounds())
	printRatios(&out, o, twoRounds())
	for _, want := range []string{"At 64 connections", "1500       (1000 – 2000)", "unknown", "0.50  (0.50 – 0.50)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

func TestMountOf(t *testing.T) {
	mounts := "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/disk xfs rw 0 0\n"
	for path, want := range map[string]string{
		"/home/x": "ext4 on /dev/a", "/tmp": "tmpfs on tmpfs", "/tmpfile": "ext4 on /dev/a", "/tmp/disk/x": "xfs on /dev/b",
	} {
		if got := mountOf(path, mounts); got != want {
			t.Errorf("%s lies on %q, want %q", path, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-quick", "-rounds=3", "-conns=64, 8,8", "-rows=db"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 3 || o.window > time.Second || len(o.conns) != 2 || o.conns[0] != 8 || o.rows[0].letter != "b" || len(o.rows) != 2 {
		t.Errorf("%+v", o)
	}
	for _, bad := range []string{"-rows=", "-rows=aa", "-rows=x", "-conns=0", "-conns=9999", "-conns=a", "-rounds=0", "-seconds=0", "-warm=-1", "-submissions=0", "-senders=0", "-senders=300", "word"} {
		if _, err := parseOptions([]string{bad}, t.Output()); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
