package smtp

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"formledger/relay/smtp/syntax"
)

const (
	// maxUnanswered is the most octets taken between two writes: the bound of a
	// reply (go-mail reads lines of any length) and of a handshake, whose
	// certificates are the longest thing in it.
	maxUnanswered = 64 << 10
	// maxGreeting is how much of the server's first words is kept.
	maxGreeting = 512
	// glance is how long it is looked at what came and nobody asked for.
	glance = 50 * time.Millisecond
)

// wire is the TCP connection below TLS. It alone sets deadlines: go-mail would
// set one for everything, and TLS one for its own farewell. After the first
// failure it is dead, so that nobody carries on out of step with the server.
type wire struct {
	net.Conn
	ctx     context.Context // of the one call
	until   time.Time
	taken   int // octets read since the last write
	wrote   bool
	first   []byte // the first octets that came, before anything was written
	broken  error
	glances bool
}

// arm gives the next step its time. The end of ctx cuts it short: that is
// looked at after the deadline is set, and cut comes after it is set, so that
// one of them has the last word.
func (w *wire) arm(d time.Duration) {
	w.until = time.Now().Add(d)
	if end, ok := w.ctx.Deadline(); ok && end.Before(w.until) {
		w.until = end
	}
	w.Conn.SetDeadline(w.until)
	if w.ctx.Err() != nil {
		w.cut()
	}
}

// cut ends whatever is being waited for. It may come from another goroutine.
func (w *wire) cut() { w.Conn.SetDeadline(time.Unix(1, 0)) }

// kill makes every later read and write fail.
func (w *wire) kill(err error) {
	if w.broken == nil {
		w.broken = err
	}
}

func (w *wire) Read(p []byte) (int, error) {
	if w.taken >= maxUnanswered {
		w.kill(syntax.ErrTooLong)
	}
	if w.broken != nil {
		return 0, w.broken
	}
	n, err := w.Conn.Read(p[:min(len(p), maxUnanswered-w.taken)])
	w.taken += n
	if !w.wrote {
		w.first = append(w.first, p[:min(n, maxGreeting-len(w.first))]...)
	}
	if err != nil && !(w.glances && errors.Is(err, os.ErrDeadlineExceeded)) {
		w.kill(err)
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if w.broken != nil {
		return 0, w.broken
	}
	w.taken, w.wrote = 0, true
	n, err := w.Conn.Write(p)
	if err != nil {
		w.kill(err)
	}
	return n, err
}

// glancing runs a read that takes what is there already and waits for nothing,
// unless the system has octets whose meaning only TLS knows.
func (w *wire) glancing(read func()) {
	until := time.Unix(1, 0)
	if w.pending() {
		until = time.Now().Add(glance)
	}
	w.glances = true
	w.Conn.SetReadDeadline(until)
	read()
	w.glances = false
	w.arm(time.Until(w.until))
}

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
