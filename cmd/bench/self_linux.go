package main

/*
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

// A symbol of the executable goes before that of a shared library, and SQLite is
// linked into the executable: so its calls come here.
static atomic_llong synced;

int fsync(int fd) {
	atomic_fetch_add(&synced, 1);
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
	atomic_fetch_add(&synced, 1);
	return (int)syscall(SYS_fdatasync, fd);
}

static long long syncs_so_far(void) { return atomic_load(&synced); }
*/
import "C"

import (
	"syscall"
	"time"
)

// syncs is how often SQLite has asked for something to be on the disk. Go's own
// os.File.Sync goes to the kernel directly and is not in it.
func syncs() int64 { return int64(C.syncs_so_far()) }

// cpuTime is what this process has used of the processors, in the kernel too.
func cpuTime() time.Duration { return cpuTimeOf(syscall.RUSAGE_SELF) }

// childrenTime is the same of its children that have ended.
func childrenTime() time.Duration { return cpuTimeOf(syscall.RUSAGE_CHILDREN) }

func cpuTimeOf(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		return -1
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
