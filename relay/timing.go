package relay

import (
	"fmt"
	"time"
)

// Timing holds the deadlines of a send. A lease has to outlast everything that
// its holder may do, so that nobody else takes the row meanwhile.
type Timing struct {
	Answer time.Duration // a visitor gets an answer within this time, at most 10 s
	Call   time.Duration // the relay call as a whole
	Settle time.Duration // one try to record how the call ended
	Lease  time.Duration // how long a claim is held
	Sweep  time.Duration // between two looks for lapsed leases
	Unsent time.Duration // a released row that nobody came back for needs the operator
}

// DefaultTiming is right for the embedded Maildir.
func DefaultTiming() Timing {
	return Timing{
		Answer: 9 * time.Second,
		Call:   30 * time.Second,
		Settle: 10 * time.Second,
		Lease:  2 * time.Minute,
		Sweep:  15 * time.Second,
		Unsent: 15 * time.Minute,
	}
}

// For stretches the default to a relay whose call may take longer: the lease
// has to outlast it.
func (t Timing) For(call time.Duration) Timing {
	if t.Call < call {
		t.Call = call
	}
	if work := t.Answer + t.Call + t.Settle; t.Lease <= work {
		t.Lease = (work + time.Minute).Truncate(time.Second)
	}
	return t
}

const longestAnswer = 10 * time.Second

// Check finds deadlines that contradict each other.
func (t Timing) Check() error {
	if shortest := min(t.Answer, t.Call, t.Settle, t.Lease, t.Sweep, t.Unsent); shortest <= 0 {
		return fmt.Errorf("timing: %s is no duration; every one has to be longer than nothing", shortest)
	}
	if t.Answer > longestAnswer {
		return fmt.Errorf("timing: answer is %s; visitors wait %s at most", t.Answer, longestAnswer)
	}
	if work := t.Answer + t.Call + t.Settle; t.Lease <= work {
		return fmt.Errorf("timing: lease is %s; it has to be longer than answer, call and settle together (%s), or two sends of one enquiry could overlap", t.Lease, work)
	}
	return nil
}
