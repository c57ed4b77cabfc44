package ledger

// End is how the call of a claim ended, as far as a policy asks.
type End uint8

// The ends of a call.
const (
	// EndAccepted: somebody vouches for the message.
	EndAccepted End = iota
	// EndNotSent: provably nothing was sent.
	EndNotSent
	// EndRefused: provably nothing was sent, and the same message would be refused
	// again.
	EndRefused
	// EndUnreached: provably nothing was sent, because the relay was not reached or
	// the claim was given up. That says nothing about the message, and counts
	// neither as a failure nor as a claim.
	EndUnreached
	// EndDoubted: the outcome of the call is unknown.
	EndDoubted
	// EndLapsed: the lease passed without a record.
	EndLapsed
)

// Standing is what the end of a call makes of a row.
type Standing struct {
	Status     Status
	Needs      Need
	KeepsClaim bool // false: the row is free
	Doubted    bool
	Attempts   int64
	ClaimCap   int64
	// Stopped: the courier gives up, and somebody has to be told.
	Stopped bool
}

// After is what the end of a call under the row's own claim makes of the row: the
// whole of the three policies. It reports false where that end changes nothing: a
// row that is not claimed or is accepted, one that is disputed (but for a lapsed
// lease, so that a person can decide it), and one that is uncertain already, which
// only proof changes. A closed row does not come back into the queue.
func (s Submission) After(end End) (Standing, bool) {
	if !s.changedBy(end) {
		return Standing{}, false
	}
	n := Standing{Status: Processing, Doubted: s.Doubted, Attempts: s.Attempts, ClaimCap: s.ClaimCap}
	switch end {
	case EndAccepted:
		n.Status, n.KeepsClaim = Accepted, true
		return n, true
	case EndNotSent, EndRefused, EndDoubted:
		n.Attempts++
	case EndUnreached:
		if n.ClaimCap > 0 {
			n.ClaimCap++
		}
	}
	n.Doubted = n.Doubted || unknown(end)
	switch {
	case s.Needs == NeedsDisputed:
		n.Status, n.Needs, n.KeepsClaim = Uncertain, NeedsDisputed, true
	case s.Policy == Retry:
		n.stopRetry(s, end)
	case unknown(end):
		n.Status, n.Needs, n.KeepsClaim = Uncertain, NeedsUncertain, true
	case s.Policy == Queue && (end == EndRefused || reached(n.Attempts, s.AttemptCap) || reached(s.Claims, n.ClaimCap)):
		n.Needs = NeedsStopped
	}
	if !s.ClosedAt.IsZero() && n.Needs != NeedsDisputed {
		n.Needs = NeedsNobody
	}
	n.Stopped = s.Policy.KeepsWords() && n.Needs != NeedsNobody && n.Needs != NeedsDisputed
	return n, true
}

// stopRetry ends the tries of policy retry at a cap or a refusal for good. If
// the outcome of some attempt is unknown, that is what a person has to settle.
func (n *Standing) stopRetry(s Submission, end End) {
	if end != EndRefused && !reached(n.Attempts, s.AttemptCap) && !reached(s.Claims, n.ClaimCap) {
		return
	}
	n.Needs = NeedsStopped
	if n.Doubted {
		n.Status, n.Needs, n.KeepsClaim = Uncertain, NeedsUncertain, unknown(end)
	}
}

func (s Submission) changedBy(end End) bool {
	switch {
	case s.Claim.IsZero() || s.Status == Accepted:
		return false
	case s.Needs == NeedsDisputed:
		return end == EndLapsed && s.Status == Processing
	case unknown(end):
		return s.Status == Processing
	}
	return true
}

func unknown(end End) bool { return end == EndDoubted || end == EndLapsed }

func reached(n, limit int64) bool { return limit > 0 && n >= limit }
