package main

import (
	"strings"
	"testing"
	"time"
)

func TestOthers(t *testing.T) {
	start := time.Now()
	before := usage{at: start, all: time.Hour, ours: time.Minute}
	after := usage{at: start.Add(10 * time.Second), all: time.Hour + 5*time.Second, ours: time.Minute + 5*time.Second}
	if got := after.others(before); got != 0 {
		t.Errorf("a machine that only we used: others used %v", got)
	}
	after.ours -= time.Second
	if got := after.others(before); got <= 0 || got > 0.1 {
		t.Errorf("others used a second of ten: %v", got)
	}
	if got := (usage{}).others(usage{}); got >= 0 {
		t.Errorf("a system that does not tell: %v", got)
	}
	if !strings.Contains(disturbance(0.3), "measure again") || strings.Contains(disturbance(0.01), "again") || disturbance(-1) != "" {
		t.Error("the reader is told the wrong thing")
	}
}

func TestBusyTime(t *testing.T) {
	if lineOf("/proc/stat", "cpu ") == "" {
		t.Skip("this system does not tell")
	}
	if busyTime() <= 0 || cpuTime() <= 0 {
		t.Errorf("busy for %s, of which %s are ours", busyTime(), cpuTime())
	}
}
