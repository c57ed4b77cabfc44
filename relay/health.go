package relay

import (
	"sync"
	"time"

	"formledger/ledger"
)

// breaker pauses all sending while the relay cannot be reached: that is the
// relay's failure and no message's. After each pause one message probes.
type breaker struct {
	mu      sync.Mutex
	state   ledger.RelayState
	pause   time.Duration // before the next probe; 0: the relay is reached
	probing bool
}

const (
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
)

// allow reports whether a message may be tried now. Whoever was allowed says
// afterwards how it went: note, or nothing.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return true
	}
	if b.probing || now.Before(b.state.NextTry) && b.state.NextTry.Sub(now) <= b.pause {
		return false // a try further ahead was noted by a clock that has been set back
	}
	b.probing = true
	return true
}

// note takes a call's verdict, and reports whether the state has changed.
func (b *breaker) note(v Verdict, now time.Time) (ledger.RelayState, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !v.Unreached {
		changed := b.pause > 0
		b.state, b.pause, b.probing = ledger.RelayState{}, 0, false
		return b.state, changed
	}
	if b.pause > 0 && !b.probing {
		return b.state, false // it began before the relay was known to fail
	}
	if b.pause == 0 {
		b.state.FailingSince = now
	}
	b.pause = min(max(2*b.pause, firstProbe), longestProbe)
	b.state.NextTry, b.state.Cause, b.probing = now.Add(b.pause), v.Cause.String(), false
	return b.state, true
}

// nothing says that a message which was allowed was not tried after all.
func (b *breaker) nothing() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// until is when the next message may be tried; zero: at once.
func (b *breaker) until() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.NextTry
}
