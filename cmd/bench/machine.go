package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine describes what the numbers were measured on.
type machine struct {
	cpu, kernel, filesystem string
	cores                   int
	sync                    time.Duration // the median of writing 4 KiB to the disk for good
}

func describe(folder string) (machine, error) {
	m := machine{
		cpu:        strings.TrimPrefix(lineOf("/proc/cpuinfo", "model name"), ": "),
		kernel:     runtime.GOOS + " " + lineOf("/proc/sys/kernel/osrelease", ""),
		filesystem: filesystem(folder),
		cores:      runtime.NumCPU(),
	}
	if m.cpu == "" {
		m.cpu = runtime.GOARCH
	}
	var err error
	m.sync, err = syncTime(folder)
	return m, err
}

// inMemory are filesystems on which a commit costs nothing.
var inMemory = map[string]bool{"tmpfs": true, "ramfs": true}

// filesystem is the type and the device of the mount that a folder lies on.
func filesystem(folder string) string {
	real, err := filepath.Abs(folder)
	if err != nil {
		return "unknown"
	}
	if resolved, err := filepath.EvalSymlinks(real); err == nil {
		real = resolved
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "unknown"
	}
	return mountOf(real, string(mounts))
}

// mountOf finds the deepest mount above a path; of two at the same place, the
// later one hides the other. The format is that of fstab(5).
func mountOf(path, mounts string) string {
	best, found := -1, "unknown"
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) < best || !strings.HasPrefix(path+"/", strings.TrimSuffix(f[1], "/")+"/") {
			continue
		}
		best, found = len(f[1]), f[2]+" on "+f[0]
	}
	return found
}

// syncTime measures the disk itself: what one commit cannot be faster than.
func syncTime(folder string) (time.Duration, error) {
	const tries = 51
	f, err := os.CreateTemp(folder, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	times := make([]time.Duration, 0, tries)
	for range tries {
		start := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start))
	}
	return percentile(times, 50), nil
}

func (m machine) String() string {
	text := fmt.Sprintf("%s, %d cores, %s\n%s; writing 4 KiB with fsync takes %s (median)",
		m.cpu, m.cores, m.kernel, m.filesystem, m.sync.Round(time.Microsecond))
	kind, _, _ := strings.Cut(m.filesystem, " ")
	if inMemory[kind] {
		text += "\nThis is no disk: commits cost nothing here, so b and c mean little. Please name a folder on a disk with -dir."
	}
	return text
}
