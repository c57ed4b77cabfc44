package mailbox

import (
	"errors"
	"net"
	"sync"
	"time"
)

// maxUnanswered is the most octets that are taken between two commands: the
// bound of what the server can make us keep, because go-imap has none for lines,
// literals and lists. Some 20,000 folders or 150,000 hits fit.
const maxUnanswered = 1 << 20

var (
	errTooMuch = errors.New("the server sends too much")
	errUnasked = errors.New("the server sends what nobody asked for")
)

// wire is what go-imap has for a connection. It keeps the first error, because
// go-imap passes on no more than its text, and after it nothing is read. The
// deadline is set once, below, and go-imap's own ones are not heeded.
type wire struct {
	net.Conn          // with TLS, if any
	tcp      net.Conn // below TLS
	greeting string   // what go-imap is to read first

	mu     sync.Mutex
	taken  int // octets read since the last write
	broken error
	closed bool

	mayEnable bool // one ENABLED may come
	plain     bool // nothing but "*", digits and spaces in this line so far
	word      int  // letters of ENABLED since
}

func (w *wire) Read(p []byte) (int, error) {
	if w.greeting != "" {
		n := copy(p, w.greeting)
		w.greeting = w.greeting[n:]
		return n, nil
	}
	if err := w.failed(); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if err = w.took(p[:n], err); err != nil {
		w.fail(err)
		return 0, err
	}
	return n, nil
}

// took looks at what came. An error with octets in front of it comes again.
func (w *wire) took(p []byte, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(p) == 0 {
		return err
	}
	if w.taken += len(p); w.taken > maxUnanswered {
		return errTooMuch
	}
	for _, b := range p {
		if w.enabled(b) {
			if !w.mayEnable {
				return errUnasked
			}
			w.mayEnable = false
		}
	}
	return nil
}

// enabled finds the response ENABLED (RFC 9051 section 7.2.1), where no other
// text can stand. go-imap keeps it in a map that its SEARCH reads without a
// lock: a server could end our whole process with it, so it must come only
// before the first search.
func (w *wire) enabled(b byte) bool {
	const name = "enabled"
	switch {
	case b == '\n':
		w.plain, w.word = true, 0
	case !w.plain:
	case w.word == 0 && (b == '*' || b == ' ' || '0' <= b && b <= '9'):
	case b|0x20 == name[w.word]:
		w.word++
	default:
		w.plain = false
	}
	if !w.plain || w.word < len(name) {
		return false
	}
	w.plain = false
	return true
}

// expectEnabled says whether one ENABLED may come.
func (w *wire) expectEnabled(may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mayEnable = may
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.failed(); err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.taken = 0
	w.mu.Unlock()
	n, err := w.Conn.Write(p)
	if err != nil {
		w.fail(err)
	}
	return n, err
}

// Close ends the connection without TLS's farewell, for which a server could
// keep us waiting.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return w.tcp.Close()
}

// fail keeps the first error, unless it is our own closing.
func (w *wire) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil && !w.closed {
		w.broken = err
	}
}

func (w *wire) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
