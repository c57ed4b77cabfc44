// Package desk holds the operator's operations, one set for the command line
// and whatever else an operator works with: what needs somebody, what is known
// of a reference, and a decision about it, on record.
package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// Desk works on a ledger, also while a server works on the same one.
type Desk struct {
	Ledger ledger.Ledger
	Relay  relay.Remembering // nil: there is none that could be asked
	Now    func() time.Time
}

// Case is all that is known of one submission.
type Case struct {
	Row    ledger.Submission
	Events []ledger.Event // oldest first
}

var (
	// ErrNotFound: no submission has this reference or ID.
	ErrNotFound = errors.New("the ledger has no submission with this reference")
	// ErrAmbiguous: several submissions share the reference; the ID decides.
	ErrAmbiguous = errors.New("several submissions share this reference; please give the full ID of one of them")
	// ErrNoteMissing: the decision needs a note.
	ErrNoteMissing = errors.New("this decision needs a note: write with --note how you know")
)

// Queue lists what needs somebody, oldest first; with all, every submission.
func (d *Desk) Queue(ctx context.Context, all bool, limit int) ([]ledger.Submission, error) {
	return d.Ledger.List(ctx, ledger.Filter{NeedsSomebody: !all, Limit: limit})
}

// Find opens every case that a text names: a reference as people write it, or
// a submission's full ID. It fails with ErrNotFound, or ledger.ErrReference.
func (d *Desk) Find(ctx context.Context, text string) ([]Case, error) {
	rows, err := d.rows(ctx, text)
	if err != nil {
		return nil, err
	}
	cases := make([]Case, 0, len(rows))
	for _, row := range rows {
		events, err := d.Ledger.Events(ctx, row.ID)
		if err != nil {
			return nil, fmt.Errorf("reading the record of %s: %w", row.Reference, err)
		}
		cases = append(cases, Case{row, events})
	}
	return cases, nil
}

func (d *Desk) rows(ctx context.Context, text string) ([]ledger.Submission, error) {
	if id, err := uuid.Parse(text); err == nil {
		row, err := d.Ledger.Submission(ctx, id)
		if errors.Is(err, ledger.ErrUnseen) {
			return nil, ErrNotFound
		}
		return []ledger.Submission{row}, err
	}
	ref, err := ledger.ParseReference(text)
	if err != nil {
		return nil, err
	}
	rows, err := d.Ledger.ByReference(ctx, ref)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	return rows, err
}

// Ruling is what an operator decides about a case.
type Ruling struct {
	Kind ledger.DecisionKind
	By   string // the operator's name
	Note string // needed for all but Received
	Seen string // the Version that the operator looked at; empty: whatever it is now
}

// Version names the state of a row that an operator looked at.
func Version(row ledger.Submission) string { return strconv.FormatInt(row.UpdatedAt.UnixMilli(), 36) }

// Resolution is a decision that was taken, or what was found out instead.
type Resolution struct {
	Case Case   // as it is afterwards
	Said string // what the operator has to know of it; usually empty
}

// ErrRelayAtWork: the relay is at work on the claim, so nobody can decide yet.
var ErrRelayAtWork = errors.New("the relay is still at work on this message; please decide in a few minutes")

// Resolve records a decision about one case. It fails with ErrNotFound,
// ErrAmbiguous, ErrNoteMissing, ErrRelayAtWork, or what ledger.Ledger.Decide
// fails with: ErrStale also if the case is not as it was seen.
//
// Before "not received" the relay is asked, which seals the claim against a late
// arrival. If the relay vouches for the message, that settles it instead. A relay
// that cannot be asked hinders nobody: should it have the message all the same,
// the visitor's next send gets its acknowledgment, and sends no second mail.
func (d *Desk) Resolve(ctx context.Context, text string, r Ruling) (Resolution, error) {
	if r.Note == "" && r.Kind != ledger.Received {
		return Resolution{}, ErrNoteMissing
	}
	cases, err := d.Find(ctx, text)
	if err != nil {
		return Resolution{}, err
	}
	if len(cases) > 1 {
		return Resolution{}, ErrAmbiguous
	}
	seen := cases[0]
	if r.Seen != "" && r.Seen != Version(seen.Row) {
		return Resolution{Case: seen}, ledger.ErrStale
	}
	said, settled, err := d.inquireFirst(ctx, seen.Row, r)
	if err == nil && !settled {
		err = d.Ledger.Decide(ctx, ledger.Decision{Seen: seen.Row, Kind: r.Kind, By: r.By, Note: r.Note, At: d.Now()})
	}
	if err != nil {
		return Resolution{Case: seen}, err
	}
	after, err := d.Find(ctx, seen.Row.ID.String())
	if err != nil {
		return Resolution{Case: seen}, err
	}
	return Resolution{Case: after[0], Said: said}, nil
}

// inquireFirst asks the relay before "not received", and records an acceptance.
func (d *Desk) inquireFirst(ctx context.Context, row ledger.Submission, r Ruling) (said string, settled bool, err error) {
	if r.Kind != ledger.NotReceived || d.Relay == nil || beyondAsking(row) != "" {
		return "", false, nil
	}
	v := d.Relay.Inquire(ctx, row, false)
	switch {
	case v.Finding == relay.Accepted:
		settled, err = d.record(ctx, row, v)
		if err == nil && !settled {
			err = ledger.ErrStale
		}
		return "The relay vouches for this message, so it is recorded as accepted, and your decision is not.", settled, err
	case v.Finding == relay.NotSent:
		return "The relay has sealed it, so that no late copy can go out.", false, nil
	case busy(v):
		return "", false, ErrRelayAtWork
	}
	return unproven(v.Cause) + " Your decision is recorded. If the relay has the message all the same, the visitor's next try brings its acknowledgment and no second mail, and you will find it disputed.", false, nil
}

// Sentence says of a row, for its operator, what is known and what is not.
func Sentence(row ledger.Submission) string {
	switch {
	case row.Needs == ledger.NeedsDisputed:
		return "Two sources contradict each other about this message; its record tells which. A person has to decide."
	case row.Status == ledger.Accepted && row.AcceptedBy == ledger.AcceptedByRelay:
		return "The mail system took this message. Whether somebody read it, nobody here knows."
	case row.Status == ledger.Accepted:
		return "An operator recorded that this message arrived."
	case row.Status == ledger.Uncertain && !row.ClosedAt.IsZero():
		return "The message may or may not have been sent, and the case was closed as it is."
	case row.Status == ledger.Uncertain:
		return "The message may or may not have been sent: the call ended without proof. Look for its reference in the mailbox, then decide."
	case !row.Claim.IsZero():
		return "The message is being sent right now, or its sender died; once its lease is over that becomes uncertain."
	case !row.ClosedAt.IsZero():
		return "The message was not sent, and the case is closed."
	case row.Needs == ledger.NeedsUnsent:
		return "Nothing was sent, and the visitor has not come back to send it again. The words are not kept here."
	default:
		return "Nothing was sent. The visitor was told so, and may send it again."
	}
}
