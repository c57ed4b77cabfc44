package relay

import (
	"context"
	"log/slog"
	"time"

	"formledger/ledger"
)

// Sweeper looks for claims whose lease has passed without a record, and for
// released rows that nobody came back for. It asks two clocks, because a wall
// clock that was set makes leases look over that are not, or never end.
type Sweeper struct {
	Ledger ledger.Ledger
	Timing Timing
	// Longest is the longest lease that a claim can have; zero: that of Timing.
	Longest time.Duration
	Wall    func() time.Time
	// Mono is the time since some fixed moment on the monotonic clock.
	Mono func() time.Duration
	Log  *slog.Logger

	looked     bool // lastWall and lastMono hold the last look
	lastWall   time.Time
	lastMono   time.Duration
	wasSet     bool // the wall clock was set, and no quarantine has begun for it yet
	quarantine *quarantine
}

// quarantine holds the claims that stood when the clock lost its credit. What
// still stands unchanged one longest lease later, by the monotonic clock, has
// lapsed.
type quarantine struct {
	claims []ledger.OpenClaim
	until  time.Duration
}

// clockTolerance is how far the two clocks may drift apart between two looks
// before the wall clock counts as set.
const clockTolerance = 2 * time.Second

// Run sweeps at once and then at the interval, until the context ends.
func (s *Sweeper) Run(ctx context.Context) {
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("sweep failed", "error", err.Error())
		}
		if rest(ctx, s.Timing.Sweep) != nil {
			return
		}
	}
}

// Sweep looks once.
func (s *Sweeper) Sweep(ctx context.Context) error {
	now := s.Wall()
	lapsed, err := s.lapse(ctx, now)
	if err != nil {
		return err
	}
	unsent, err := s.Ledger.MarkUnsent(ctx, now.Add(-s.Timing.Unsent), now)
	if lapsed+unsent > 0 {
		s.Log.Warn("sweep", "lapsed", lapsed, "unsent", unsent)
	}
	return err
}

func (s *Sweeper) lapse(ctx context.Context, now time.Time) (int, error) {
	s.wasSet = s.diverged(now) || s.wasSet
	if s.quarantine != nil {
		return s.endQuarantine(ctx, now)
	}
	open, err := s.Ledger.OpenClaims(ctx)
	if err != nil {
		return 0, err
	}
	if s.wasSet || s.anyAhead(open, now) {
		s.Log.Warn("the clock was set: the sweep waits one longest lease", "open", len(open))
		s.quarantine, s.wasSet = &quarantine{claims: open, until: s.Mono() + s.longest()}, false
		return 0, nil
	}
	return s.Ledger.Lapse(ctx, now, now)
}

func (s *Sweeper) endQuarantine(ctx context.Context, now time.Time) (int, error) {
	if s.Mono() < s.quarantine.until {
		return 0, nil
	}
	n, err := s.Ledger.LapseClaims(ctx, s.quarantine.claims, now)
	if err == nil {
		s.quarantine = nil
	}
	return n, err
}

func (s *Sweeper) longest() time.Duration { return max(s.Longest, s.Timing.Lease) }

// diverged reports whether the wall clock and the monotonic clock have gone
// different ways since the last look.
func (s *Sweeper) diverged(now time.Time) bool {
	mono := s.Mono()
	gap := now.Round(0).Sub(s.lastWall.Round(0)) - (mono - s.lastMono)
	first := !s.looked
	s.looked, s.lastWall, s.lastMono = true, now, mono
	return !first && gap.Abs() > clockTolerance
}

// anyAhead reports whether a lease lies further ahead than any lease can.
func (s *Sweeper) anyAhead(open []ledger.OpenClaim, now time.Time) bool {
	for _, c := range open {
		if c.LeaseUntil.Sub(now) > s.longest()+clockTolerance {
			return true
		}
	}
	return false
}
