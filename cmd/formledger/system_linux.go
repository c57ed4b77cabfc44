package main

import (
	"fmt"
	"os"
	"syscall"
)

// freeSpace is what is left for users, in bytes.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// clockSynced reports whether a daemon keeps the clock in step: adjtimex(2)
// says TIME_ERROR (5) when nobody does.
func clockSynced() (bool, error) {
	state, err := syscall.Adjtimex(&syscall.Timex{})
	return state != 5, err
}

// mayWrite reports why this user may not write, by access(2), which tries
// nothing.
func mayWrite(path string) error {
	const read, write = 4, 2
	if err := syscall.Access(path, read|write); err != nil {
		return fmt.Errorf("%s cannot be written to: %w", path, err)
	}
	return nil
}

// keepOwner gives a new file to whoever owns the old one.
func keepOwner(old string, fresh *os.File) error {
	info, err := os.Stat(old)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	if err := fresh.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
		return fmt.Errorf("giving the keys to their owner: %w", err)
	}
	return nil
}
