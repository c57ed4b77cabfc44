package relay

import (
	"errors"
	"fmt"
	"time"

	"formledger/ledger"
)

// Patience is how long and how often the courier tries, for each policy.
type Patience struct {
	Queue   QueuePatience
	Retry   RetryPatience
	Senders int // how many messages are sent at once
}

// QueuePatience is the back-off of policy queue.
type QueuePatience struct {
	// Pauses stand between one attempt and the next; after the last attempt, which
	// is one more than there are pauses, sending stops.
	Pauses []time.Duration `toml:"pauses"`
	Look   time.Duration   `toml:"look"` // between two looks for messages that are due
}

// RetryPatience is the pattern of policy retry.
type RetryPatience struct {
	Lease    time.Duration `toml:"lease"`    // how long a send is held by whoever began it
	Sweep    time.Duration `toml:"sweep"`    // between two looks for messages to try again
	Older    time.Duration `toml:"older"`    // a message is tried again once it has waited so long
	Attempts int64         `toml:"attempts"` // recorded failures after which sending stops
	Claims   int64         `toml:"claims"`   // claims after which sending stops, recorded or not
}

// DefaultPatience tries for two days under queue, and keeps the timing of the
// pattern that retry comes from.
func DefaultPatience() Patience {
	return Patience{
		Queue: QueuePatience{Pauses: []time.Duration{
			time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 16 * time.Hour, 24 * time.Hour,
		}, Look: time.Second},
		Retry:   RetryPatience{Lease: 5 * time.Minute, Sweep: 10 * time.Minute, Older: 10 * time.Minute, Attempts: 8, Claims: 16},
		Senders: 4,
	}
}

// Check finds what contradicts the deadlines of a send.
func (p Patience) Check(t Timing) error {
	r := p.Retry
	if shortest := min(r.Lease, r.Sweep, r.Older); shortest <= 0 {
		return fmt.Errorf("retry: %s is no duration; every one has to be longer than nothing", shortest)
	}
	if work := t.Call + t.Settle; r.Lease <= work {
		return fmt.Errorf("retry: lease is %s; it has to be longer than timing's call and settle together (%s), or two sends of one message could overlap", r.Lease, work)
	}
	if r.Attempts < 1 || r.Claims < r.Attempts {
		return fmt.Errorf("retry: attempts is %d and claims is %d; there has to be one attempt at least, and a claim for each", r.Attempts, r.Claims)
	}
	for _, pause := range append([]time.Duration{p.Queue.Look}, p.Queue.Pauses...) {
		if pause <= 0 {
			return fmt.Errorf("queue: %s is no pause; every one has to be longer than nothing", pause)
		}
	}
	if p.Senders < 1 || p.Senders > 256 {
		return errors.New("senders has to be between 1 and 256")
	}
	return nil
}

// caps are copied into a row when it is stored.
func (p Patience) caps(policy ledger.Policy) (attempts, claims int64) {
	if policy == ledger.Retry {
		return p.Retry.Attempts, p.Retry.Claims
	}
	return int64(len(p.Queue.Pauses)) + 1, 0
}

// lease is how long the courier holds a claim.
func (p Patience) lease(policy ledger.Policy, t Timing) time.Duration {
	if policy == ledger.Retry {
		return p.Retry.Lease
	}
	return t.Lease
}

// first is when a sweep may take a message that was just stored. The request
// that stored it has it sent at once; the sweep is for when that died.
func (p Patience) first(policy ledger.Policy, at time.Time) time.Time {
	if policy == ledger.Retry {
		return at.Add(p.Retry.Older)
	}
	return at
}

// next is when a message is tried again that has failed so often.
func (p Patience) next(policy ledger.Policy, attempts int64, at time.Time) time.Time {
	if policy == ledger.Retry {
		return at.Add(p.Retry.Older)
	}
	if len(p.Queue.Pauses) == 0 {
		return at
	}
	i := min(max(attempts-1, 0), int64(len(p.Queue.Pauses))-1)
	return at.Add(p.Queue.Pauses[i])
}

// horizon is the longest time between two attempts.
func (p Patience) horizon(policy ledger.Policy) time.Duration {
	longest := p.Retry.Older
	if policy != ledger.Retry {
		longest = 0
		for _, pause := range p.Queue.Pauses {
			longest = max(longest, pause)
		}
	}
	return longest + clockTolerance
}

// Longest is the longest lease that any claim can have.
func (p Patience) Longest(t Timing) time.Duration { return max(t.Lease, p.Retry.Lease) }
