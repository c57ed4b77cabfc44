// Package desk holds the operator's operations, one set for the command line
// and whatever else an operator works with: what needs somebody, what is known
// of a reference, and a decision about it, on record.
package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// Desk works on a ledger, also while a server works on the same one.
type Desk struct {
	Ledger ledger.Ledger
	Relay  relay.Remembering // nil: there is none that could be asked
	Seals  *ledger.Seals     // nil: the words that are kept cannot be opened here
	Now    func() time.Time
}

// Case is all that is known of one submission.
type Case struct {
	Row    ledger.Submission
	Events []ledger.Event // oldest first
	Kept   bool           // the message's words are kept, sealed
	Next   time.Time      // of kept words: when the courier tries next, if the row waits for it
	// Relay is how the relay does, if the courier sends this message.
	Relay ledger.RelayState
}

var (
	// ErrNotFound: no submission has this reference or ID.
	ErrNotFound = errors.New("the ledger has no submission with this reference")
	// ErrAmbiguous: several submissions share the reference; the ID decides.
	ErrAmbiguous = errors.New("several submissions share this reference; please give the full ID of one of them")
	// ErrNoteMissing: the decision needs a note.
	ErrNoteMissing = errors.New("this decision needs a note: write with --note how you know")
)

// List lists submissions, oldest first: with NeedsSomebody, the operator's queue.
func (d *Desk) List(ctx context.Context, f ledger.Filter) ([]ledger.Submission, error) {
	return d.Ledger.List(ctx, f)
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
		k, err := d.caseOf(ctx, row)
		if err != nil {
			return nil, fmt.Errorf("reading the record of %s: %w", row.Reference, err)
		}
		cases = append(cases, k)
	}
	return cases, nil
}

func (d *Desk) caseOf(ctx context.Context, row ledger.Submission) (Case, error) {
	k := Case{Row: row}
	var err error
	if k.Events, err = d.Ledger.Events(ctx, row.ID); err != nil || !row.Policy.KeepsWords() {
		return k, err
	}
	entry, err := d.Ledger.Outbox(ctx, row.ID)
	if errors.Is(err, ledger.ErrNoWords) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	k.Kept, k.Next = true, entry.Next
	k.Relay, err = d.Ledger.RelayState(ctx)
	return k, err
}

// one finds the case that a text names alone.
func (d *Desk) one(ctx context.Context, text string) (Case, error) {
	cases, err := d.Find(ctx, text)
	if err != nil {
		return Case{}, err
	}
	if len(cases) > 1 {
		return Case{}, ErrAmbiguous
	}
	return cases[0], nil
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
	// WipeWords: the operator knows that closing the case wipes words that were not
	// delivered.
	WipeWords bool
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

// ErrWipesWords: closing the case would wipe words that are kept, and the
// operator has not said that this is meant.
var ErrWipesWords = errors.New("closing this case wipes the words of the message")

// Resolve records a decision about one case. It fails with ErrNotFound,
// ErrAmbiguous, ErrNoteMissing, ErrWipesWords, ErrRelayAtWork, or what ledger.Ledger.Decide
// fails with: ErrStale also if the case is not as it was seen.
//
// Before "not received" the relay is asked, which seals the claim against a late
// arrival. If the relay vouches for the message, that settles it instead. A relay
// that cannot be asked hinders nobody: should it have the message all the same,
// the next send gets its acknowledgment, and sends no second mail.
func (d *Desk) Resolve(ctx context.Context, text string, r Ruling) (Resolution, error) {
	if r.Note == "" && r.Kind != ledger.Received {
		return Resolution{}, ErrNoteMissing
	}
	seen, err := d.one(ctx, text)
	if err != nil {
		return Resolution{}, err
	}
	if err := allowed(seen, r); err != nil {
		return Resolution{Case: seen}, err
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
	return Resolution{Case: after[0], Said: strings.TrimSpace(said + " " + follows(seen, after[0]))}, nil
}

// follows says what a decision means for a message whose words are or were kept.
func follows(before, now Case) string {
	switch {
	case now.Row.Waiting() && !before.Row.Waiting():
		return "The courier of the running server sends it now, or as soon as the relay can be reached."
	case before.Kept && !now.Kept && now.Row.Status != ledger.Accepted:
		return "Its words are wiped, so that nobody can send it from here any more."
	}
	return ""
}

// allowed is why a decision cannot be taken about a case, as far as the case tells.
func allowed(seen Case, r Ruling) error {
	switch {
	case r.Seen != "" && r.Seen != Version(seen.Row):
		return ledger.ErrStale
	case r.Kind == ledger.SendAgain && seen.Row.Status == ledger.Accepted:
		return ledger.ErrFinal
	case r.Kind == ledger.SendAgain && !seen.Kept:
		return ledger.ErrNoWords
	case r.Kind == ledger.Close && seen.Kept && !r.WipeWords:
		return ErrWipesWords
	}
	return nil
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
	next := "the visitor's"
	if row.Policy.KeepsWords() {
		next = "the courier's"
	}
	return unproven(v.Cause) + " Your decision is recorded. If the relay has the message all the same, " + next + " next try brings its acknowledgment and no second mail, and you will find it disputed.", false, nil
}
