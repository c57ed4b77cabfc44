package ledgertest

import (
	"time"

	"formledger/ledger"
)

// model is one row as the contract describes it, kept in memory, and as plainly
// as can be: the engine has to come to the same by its conditional writes.
type model struct {
	seen   bool
	row    ledger.Submission
	words  *ledger.Entry // nil: there are none
	events []ledger.EventKind
	told   map[string]bool // evidence since the row became disputed or accepted
	alerts []time.Time     // when an alert was attempted
}

func (m *model) touch(at time.Time) {
	if at = toMillis(at); !at.After(m.row.UpdatedAt) {
		at = m.row.UpdatedAt.Add(time.Millisecond)
	}
	m.row.UpdatedAt = at
}

func (m *model) event(kind ledger.EventKind) { m.events = append(m.events, kind) }

func (m *model) disputed() bool { return m.row.Needs == ledger.NeedsDisputed }

func (m *model) claim(c ledger.NewClaim) (owned bool) {
	switch {
	case !m.seen:
		m.seen = true
		m.row = ledger.Submission{
			ID: c.ID, Reference: ledger.ReferenceOf(c.ID), Form: c.Form, Policy: c.Policy, PayloadHash: c.PayloadHash,
			Status: ledger.Processing, CreatedAt: toMillis(c.At), UpdatedAt: toMillis(c.At),
		}
	case m.row.PayloadHash != c.PayloadHash || m.keeps():
		return false
	case !m.free():
		return m.held(c.Token)
	default:
		m.touch(c.At)
	}
	m.grant(c)
	return true
}

func (m *model) grant(c ledger.NewClaim) {
	m.row.Claim, m.row.LeaseUntil, m.row.RelayEpoch = c.Token, toMillis(c.LeaseUntil), c.RelayEpoch
	m.row.Claims++
	m.row.Needs = ledger.NeedsNobody
}

// held: an earlier try of the same claim had won.
func (m *model) held(t ledger.Token) bool {
	return m.row.Claim == t && m.row.Status == ledger.Processing && !m.disputed()
}

func (m *model) keeps() bool { return m.row.Policy == ledger.Queue || m.row.Policy == ledger.Retry }

func (m *model) unclaimed() bool {
	return m.row.Status == ledger.Processing && m.row.Claim.IsZero() && m.row.ClosedAt.IsZero()
}

func (m *model) free() bool {
	return !m.keeps() && m.unclaimed() && (m.row.Needs == ledger.NeedsNobody || m.row.Needs == ledger.NeedsUnsent)
}

func (m *model) waiting() bool {
	return m.keeps() && m.unclaimed() && m.row.Needs == ledger.NeedsNobody && !m.capped()
}

func (m *model) capped() bool {
	failures := m.row.AttemptCap != 0 && m.row.Attempts >= m.row.AttemptCap
	claims := m.row.ClaimCap != 0 && m.row.Claims >= m.row.ClaimCap
	return failures || claims
}

func (m *model) store(n ledger.NewEntry) (fresh bool) {
	if m.seen {
		return false
	}
	m.seen = true
	m.row = ledger.Submission{
		ID: n.ID, Reference: ledger.ReferenceOf(n.ID), Form: n.Form, Policy: n.Policy, PayloadHash: n.PayloadHash,
		Status: ledger.Processing, CreatedAt: toMillis(n.At), UpdatedAt: toMillis(n.At),
		AttemptCap: n.AttemptCap, ClaimCap: n.ClaimCap,
	}
	m.words = &ledger.Entry{Words: n.Words, Next: toMillis(n.Due)}
	return true
}

func (m *model) take(c ledger.NewClaim) (owned bool) {
	if !m.seen || !m.keeps() || m.row.PayloadHash != c.PayloadHash {
		return false
	}
	if !m.waiting() {
		return m.held(c.Token)
	}
	m.touch(c.At)
	m.grant(c)
	return true
}

func (m *model) settle(a ledger.Acknowledgment) bool {
	own := m.row.Claim == a.Claim
	switch {
	case !m.seen || m.row.PayloadHash != a.PayloadHash:
		return false
	case m.row.Status == ledger.Accepted && (own || m.row.Claim.IsZero()):
		if m.row.AcceptedBy != ledger.AcceptedByRelay {
			m.once(ledger.EventConfirmed, a.Claim, a.Receipt)
		}
		return true
	case m.disputed() || !own && !m.row.Claim.IsZero():
		m.dispute(a.Claim, a.Receipt, a.At)
		return false
	case !own || m.row.Status == ledger.Uncertain:
		m.event(ledger.EventLateAcknowledged)
	}
	if m.row.LeaseUntil.IsZero() {
		m.row.LeaseUntil = toMillis(a.At)
	}
	m.row.Status, m.row.AcceptedBy, m.row.Receipt = ledger.Accepted, ledger.AcceptedByRelay, a.Receipt
	m.row.Claim, m.row.Needs, m.words = a.Claim, ledger.NeedsNobody, nil
	m.touch(a.At)
	return true
}

// dispute puts the row before a person; on a disputed row, a repeat of the same
// evidence leaves no event.
func (m *model) dispute(claim ledger.Token, evidence string, at time.Time) {
	if m.disputed() {
		m.once(ledger.EventDisputed, claim, evidence)
		return
	}
	m.row.Needs = ledger.NeedsDisputed
	m.touch(at)
	m.event(ledger.EventDisputed)
	m.told[string(ledger.EventDisputed)+claim.String()+evidence] = true
}

func (m *model) once(kind ledger.EventKind, claim ledger.Token, evidence string) {
	if key := string(kind) + claim.String() + evidence; !m.told[key] {
		m.told[key] = true
		m.event(kind)
	}
}

// decide takes the row as it is, or as it was.
func (m *model) decide(d ledger.Decision) error {
	want := wantOutcome(m.row, d.Kind, m.words != nil)
	stale := !d.Seen.UpdatedAt.Equal(m.row.UpdatedAt)
	switch {
	case !m.seen:
		return ledger.ErrUnseen
	case want.Err == ledger.ErrClaimed:
		return ledger.ErrClaimed
	case stale:
		return ledger.ErrStale
	case want.Err != nil:
		return want.Err
	}
	m.decided(d)
	return nil
}

func (m *model) decided(d ledger.Decision) {
	m.row.Needs = ledger.NeedsNobody
	m.touch(d.At)
	m.event(decisionEvents[d.Kind])
	switch d.Kind {
	case ledger.NotReceived:
		m.row.ClosedAt, m.row.LastError = time.Time{}, "operator.not_received"
		m.giveBack(time.Time{})
		m.allow(d.At)
	case ledger.SendAgain:
		m.allow(d.At)
	case ledger.Close:
		m.words = nil
		if m.row.ClosedAt.IsZero() {
			m.row.ClosedAt = toMillis(d.At)
		}
	case ledger.Received:
		m.words = nil
		if m.row.Status != ledger.Accepted {
			m.row.Status, m.row.AcceptedBy = ledger.Accepted, ledger.Operator(d.By)
		}
	}
}
