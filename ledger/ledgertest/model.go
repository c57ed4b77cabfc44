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
	events []ledger.EventKind
	told   map[string]bool // evidence since the row became disputed or accepted
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
	case m.row.PayloadHash != c.PayloadHash:
		return false
	case !m.row.Free():
		return m.row.Claim == c.Token && m.row.Status == ledger.Processing && !m.disputed()
	default:
		m.touch(c.At)
	}
	m.row.Claim, m.row.LeaseUntil, m.row.RelayEpoch = c.Token, toMillis(c.LeaseUntil), c.RelayEpoch
	m.row.Claims++
	m.row.Needs = ledger.NeedsNobody
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
	m.row.Claim, m.row.Needs = a.Claim, ledger.NeedsNobody
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

func (m *model) doubt(e ledger.Ended) bool {
	if !m.seen || m.row.Claim != e.Claim {
		return false
	}
	if m.disputed() {
		m.dispute(e.Claim, e.Cause, e.At)
		return false
	}
	if m.row.Status != ledger.Processing {
		return false
	}
	m.row.Attempts++
	m.uncertain(e.Cause, ledger.EventDoubted, e.At)
	return true
}

func (m *model) uncertain(cause string, kind ledger.EventKind, at time.Time) {
	m.row.Status, m.row.Doubted, m.row.LastError = ledger.Uncertain, true, cause
	if !m.disputed() {
		m.row.Needs = ledger.NeedsUncertain
	}
	m.touch(at)
	m.event(kind)
}

func (m *model) release(e ledger.Ended) bool {
	if !m.seen || m.row.Claim != e.Claim {
		return false
	}
	if m.disputed() || m.row.Status == ledger.Accepted {
		m.dispute(e.Claim, e.Cause, e.At)
		return false
	}
	if e.Attempted {
		m.row.Attempts++
	}
	m.free(e.Cause, e.At)
	m.event(ledger.EventReleased)
	return true
}

func (m *model) free(cause string, at time.Time) {
	m.row.Status, m.row.Claim, m.row.LeaseUntil = ledger.Processing, ledger.Token{}, time.Time{}
	m.row.LastError, m.row.Needs = cause, ledger.NeedsNobody
	m.touch(at)
}

// decide takes the row as it is, or as it was.
func (m *model) decide(d ledger.Decision) error {
	want := wantOutcome(m.row, d.Kind)
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
	case d.Kind == ledger.NotReceived:
		m.free("operator.not_received", d.At)
		m.row.ClosedAt = time.Time{}
		m.event(ledger.EventNotReceived)
		return nil
	}
	m.row.Needs = ledger.NeedsNobody
	m.touch(d.At)
	if d.Kind == ledger.Close {
		m.event(ledger.EventClosed)
		if m.row.ClosedAt.IsZero() {
			m.row.ClosedAt = toMillis(d.At)
		}
		return nil
	}
	m.event(ledger.EventReceived)
	if m.row.Status != ledger.Accepted {
		m.row.Status, m.row.AcceptedBy = ledger.Accepted, ledger.Operator(d.By)
	}
	return nil
}

func (m *model) lapse(before, at time.Time) int {
	if !m.seen || m.row.Status != ledger.Processing || m.row.Claim.IsZero() || !m.row.LeaseUntil.Before(toMillis(before)) {
		return 0
	}
	m.uncertain("lease_lapsed", ledger.EventLapsed, at)
	return 1
}

func (m *model) markUnsent(before, at time.Time) int {
	if !m.seen || !m.row.Free() || m.row.Needs != ledger.NeedsNobody || !m.row.UpdatedAt.Before(toMillis(before)) {
		return 0
	}
	m.row.Needs = ledger.NeedsUnsent
	m.touch(at)
	m.event(ledger.EventUnsent)
	return 1
}
