package ledgertest

import (
	"time"

	"formledger/ledger"
)

// What the end of a call makes of a row, as the table of policies tells it.

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
	m.event(ledger.EventDoubted)
	m.unknown(e)
	return true
}

func (m *model) lapse(before, at time.Time) int {
	if !m.seen || m.row.Status != ledger.Processing || m.row.Claim.IsZero() || !m.row.LeaseUntil.Before(toMillis(before)) {
		return 0
	}
	m.event(ledger.EventLapsed)
	m.unknown(ledger.Ended{Cause: "lease_lapsed", At: at})
	return 1
}

// unknown: hold and queue hold the row for a person, retry tries again up to its
// caps.
func (m *model) unknown(e ledger.Ended) {
	m.row.Doubted, m.row.LastError = true, e.Cause
	m.touch(e.At)
	switch {
	case m.disputed():
		m.row.Status = ledger.Uncertain
	case m.row.Policy == ledger.Retry && !m.capped():
		m.giveBack(e.Next)
	default:
		m.row.Status, m.row.Needs = ledger.Uncertain, ledger.NeedsUncertain
		if m.keeps() {
			m.event(ledger.EventStopped)
		}
	}
}

// giveBack frees the row; where it waits for the courier, until the next attempt.
func (m *model) giveBack(next time.Time) {
	m.row.Status, m.row.Claim, m.row.LeaseUntil = ledger.Processing, ledger.Token{}, time.Time{}
	m.row.Needs = ledger.NeedsNobody
	if m.waiting() && !next.IsZero() {
		m.words.Next = toMillis(next)
	}
}

func (m *model) release(e ledger.Ended) bool {
	if !m.seen || m.row.Claim != e.Claim {
		return false
	}
	if m.disputed() || m.row.Status == ledger.Accepted {
		m.dispute(e.Claim, e.Cause, e.At)
		return false
	}
	switch {
	case e.Attempted:
		m.row.Attempts++
	case m.row.ClaimCap != 0:
		m.row.ClaimCap++
	}
	m.row.LastError = e.Cause
	m.touch(e.At)
	m.event(ledger.EventReleased)
	forGood := e.Attempted && e.Cause == ledger.ForGood("refused/rcpt")
	if m.keeps() && (forGood || m.capped()) {
		m.giveBack(time.Time{})
		m.giveUp()
	} else {
		m.giveBack(e.Next)
	}
	return true
}

// giveUp puts the row before a person, who settles whether it arrived if some
// attempt under retry is unknown. A closed case stays closed.
func (m *model) giveUp() {
	m.row.Needs = ledger.NeedsStopped
	if m.row.Policy == ledger.Retry && m.row.Doubted {
		m.row.Status, m.row.Needs = ledger.Uncertain, ledger.NeedsUncertain
	}
	if m.row.ClosedAt.IsZero() {
		m.event(ledger.EventStopped)
	} else {
		m.row.Needs = ledger.NeedsNobody
	}
}

// allow makes room for one more attempt at once.
func (m *model) allow(at time.Time) {
	if m.row.AttemptCap != 0 && m.row.AttemptCap <= m.row.Attempts {
		m.row.AttemptCap = m.row.Attempts + 1
	}
	if m.row.ClaimCap != 0 && m.row.ClaimCap <= m.row.Claims {
		m.row.ClaimCap = m.row.Claims + 1
	}
	if m.words != nil {
		m.words.Next = toMillis(at)
	}
}

func (m *model) markUnsent(before, at time.Time) int {
	if !m.seen || !m.free() || m.row.Needs != ledger.NeedsNobody || !m.row.UpdatedAt.Before(toMillis(before)) {
		return 0
	}
	m.row.Needs = ledger.NeedsUnsent
	m.touch(at)
	m.event(ledger.EventUnsent)
	return 1
}

func (m *model) alert(at time.Time) {
	m.event(ledger.EventAlerted)
	m.alerts = append(m.alerts, toMillis(at))
}

// unalerted: nobody was told since the row came to need somebody.
func (m *model) unalerted() bool {
	told := false
	for _, alert := range m.alerts {
		told = told || !alert.Before(m.row.UpdatedAt)
	}
	return m.row.Needs != ledger.NeedsNobody && !told
}

// due is said of a policy's rows at a time, with a horizon.
func (m *model) due(q ledger.Due) bool {
	if !m.seen || !m.waiting() || m.row.Policy != q.Policy {
		return false
	}
	return !m.words.Next.After(toMillis(q.At)) || m.words.Next.After(toMillis(q.At.Add(q.Horizon)))
}
