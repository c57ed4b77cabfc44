package server

import "sync"

// underway counts the calls in this process, so that its end can wait for them.
type underway struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // not nil: somebody waits for n to be 0
}

func (u *underway) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
}

func (u *underway) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n--
	if u.n == 0 && u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// none is closed when no call is under way.
func (u *underway) none() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n == 0 {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	if u.idle == nil {
		u.idle = make(chan struct{})
	}
	return u.idle
}
