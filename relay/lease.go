package relay

import "time"

// Lease is the time until which the holder of a claim may be at work. It was
// taken from time.Now and carries a reading of both clocks.
type Lease struct {
	until time.Time
	now   func() time.Time
}

// NewLease is a lease until the given time, judged by the given clock. Both
// times should come from time.Now, so that they carry a monotonic reading.
func NewLease(until time.Time, now func() time.Time) Lease {
	return Lease{until: until, now: now}
}

// Until is the end of the lease by the wall clock.
func (l Lease) Until() time.Time { return l.until.Round(0) }

// Held reports whether the holder may still act. Both clocks have to agree:
// the monotonic one stands still while a laptop sleeps, and the wall clock may
// be set back, and in either case somebody else may own the send by now.
func (l Lease) Held() bool {
	now := l.now()
	return now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}
