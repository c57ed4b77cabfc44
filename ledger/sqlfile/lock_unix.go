//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX
)

// flock takes a lock or says at once that it cannot be had: flock(2).
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrInUse
		case err != nil:
			return fmt.Errorf("locking the database's folder: %w", err)
		}
		return nil
	}
}

// SameOwner gives a new file to whoever owns an old one, so that a server can read
// what root has made.
func SameOwner(fresh, old string) error {
	info, err := os.Stat(old)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	if err := os.Chown(fresh, int(owner.Uid), int(owner.Gid)); err != nil {
		return fmt.Errorf("giving the database to its owner: %w", err)
	}
	return nil
}
