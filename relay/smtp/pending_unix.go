//go:build unix

package smtp

import (
	"errors"
	"syscall"
)

// pending reports whether the system has something to read: octets, the end of
// the stream, or an error, which it tells but once.
func (w *wire) pending() bool {
	socket, ok := w.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	seen := error(syscall.EAGAIN)
	var one [1]byte
	_ = raw.Read(func(fd uintptr) bool {
		_, _, seen = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	if errors.Is(seen, syscall.EAGAIN) || errors.Is(seen, syscall.EINTR) {
		return false
	}
	if seen != nil {
		w.kill(seen)
	}
	return true
}
