package main

import (
	"os"
	"strconv"
	"strings"
)

// peakKiB is the most memory that this process had in use, as the kernel counts
// it; 0 where the kernel does not tell (it is not Linux).
func peakKiB() int64 {
	return firstNumber(lineOf("/proc/self/status", "VmHWM:"))
}

// forgetPeak begins the peak anew. Where that is refused, it goes on to be that
// of the process's whole life.
// Source: proc_pid_clear_refs(5)
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// lineOf is what follows a prefix in the first line of a file that has it.
func lineOf(file, prefix string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func firstNumber(text string) int64 {
	word, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
