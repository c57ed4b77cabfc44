package ledger

import "time"

// AcceptedAndForgotten is the AcceptedBy of accepted rows that were forgotten.
const AcceptedAndForgotten = "forgotten"

// Forgetting wipes what the ledger holds of old cases beyond their identity.
type Forgetting struct {
	Before time.Time // rows whose last change is older
	At     time.Time
	By     string // the operator's name
	// Each is told how many rows are forgotten so far, after every slice; nil: nobody
	// is.
	Each func(forgotten int)
}

// Forgotten reports whether everything of the row but its identity was wiped, and
// nothing has happened to it since.
func (s Submission) Forgotten() bool {
	return s.UpdatedAt.IsZero() && (s.AcceptedBy == AcceptedAndForgotten || !s.ClosedAt.IsZero())
}
