package handlers

import (
	"bytes"
	"context"
	"sync"
	"time"

	"formledger/relay"
)

// unknown is a verdict that proves nothing.
var unknown = relay.UnknownAfter("lost", "dot")

// farEnd stands between the journey and the Maildir.
type farEnd struct {
	relay.Sender
	mu      sync.Mutex
	calls   int
	arrived chan struct{}                       // told of every call, if set
	gate    chan struct{}                       // calls wait for it, if set
	instead func(relay.Mail) *relay.Verdict     // answers instead of the Maildir, if not nil
	after   func(v relay.Verdict) relay.Verdict // changes the Maildir's answer
}

func (f *farEnd) Send(ctx context.Context, m relay.Mail, l relay.Lease) relay.Verdict {
	f.mu.Lock()
	f.calls++
	arrived, gate, instead, after := f.arrived, f.gate, f.instead, f.after
	f.mu.Unlock()
	if arrived != nil {
		arrived <- struct{}{}
	}
	if gate != nil {
		<-gate
	}
	if instead != nil {
		if v := instead(m); v != nil {
			return *v
		}
	}
	v := f.Sender.Send(ctx, m, l)
	if after != nil {
		v = after(v)
	}
	return v
}

// holdCalls makes the far end tell of every call, and keep it waiting until the
// test closes the gate.
func (k *kit) holdCalls() {
	arrived, gate := make(chan struct{}, 100), make(chan struct{})
	k.far.set(func(f *farEnd) { f.arrived, f.gate = arrived, gate })
}

func (f *farEnd) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *farEnd) set(change func(*farEnd)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// answering makes the far end answer with a verdict without delivering.
func (f *farEnd) answering(v relay.Verdict) {
	f.set(func(f *farEnd) { f.instead = func(relay.Mail) *relay.Verdict { return &v } })
}

func (f *farEnd) well() { f.set(func(f *farEnd) { f.instead, f.after = nil, nil }) }

// clock is the real one, moved on by a test.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
