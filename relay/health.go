package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"formledger/ledger"
)

// Health is how the relay does, as all calls of this process found it. While it
// cannot be reached the courier pauses: that is the relay's failure and no
// message's. After each pause one message probes.
type Health struct {
	ledger ledger.Ledger
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	state   ledger.RelayState
	pause   time.Duration // before the next probe; 0: the relay is reached
	probing bool
	asked   bool // what the ledger says from before this process began
}

// NewHealth is that of a relay that nobody has called yet. Changes are kept in
// the ledger, where the operator looks.
func NewHealth(l ledger.Ledger, now func() time.Time, log *slog.Logger) *Health {
	return &Health{ledger: l, now: now, log: log}
}

const (
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
	noteTime     = 2 * time.Second // for what is nice to know
)

// allow reports whether a message may be tried now. Whoever was allowed says
// afterwards how it went: note, or nothing.
func (h *Health) allow(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pause == 0 {
		return true
	}
	if h.probing || now.Before(h.state.NextTry) && h.state.NextTry.Sub(now) <= h.pause {
		return false // a try further ahead was noted by a clock that has been set back
	}
	h.probing = true
	return true
}

// note takes a call's verdict and keeps what has changed. It answers with the
// state as it is now.
func (h *Health) note(v Verdict) ledger.RelayState {
	state, changed := h.take(v, h.now())
	if !changed && !h.outlived(state) {
		return state
	}
	h.log.Warn("relay", "reached", state.FailingSince.IsZero(), "cause", state.Cause, "next_try", state.NextTry)
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	if err := h.ledger.SetRelayState(ctx, state); err != nil { // it is news, and no promise rests on it
		h.log.Error("the relay's state could not be noted", "error", err.Error())
	}
	return state
}

// outlived reports whether the relay is reached, and the ledger still says of the
// time before this process began that it is not. It asks once.
func (h *Health) outlived(state ledger.RelayState) bool {
	h.mu.Lock()
	asks := !h.asked && state.FailingSince.IsZero()
	h.asked = h.asked || asks
	h.mu.Unlock()
	if !asks {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	before, err := h.ledger.RelayState(ctx)
	return err == nil && !before.FailingSince.IsZero()
}

func (h *Health) take(v Verdict, now time.Time) (ledger.RelayState, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !v.Unreached {
		changed := h.pause > 0
		h.state, h.pause, h.probing = ledger.RelayState{}, 0, false
		return h.state, changed
	}
	if h.pause > 0 && !h.probing {
		return h.state, false // it began before the relay was known to fail
	}
	if h.pause == 0 {
		h.state.FailingSince = now
	}
	h.pause = min(max(2*h.pause, firstProbe), longestProbe)
	h.state.NextTry, h.state.Cause, h.probing = now.Add(h.pause), v.Cause.String(), false
	return h.state, true
}

// nothing says that a message which was allowed was not tried after all.
func (h *Health) nothing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
}

// until is when the next message may be tried; zero: at once.
func (h *Health) until() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.NextTry
}
