package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

// Ruling is what an operator decides about a case.
type Ruling struct {
	Kind ledger.DecisionKind
	By   string // the operator's name
	Note string // needed for all but Received
	Seen string // the Version that the operator looked at; empty: whatever it is now
	// WipeWords: the operator knows that closing the case wipes words that were not
	// delivered.
	WipeWords bool
	// Despite: the operator knows of evidence that the message arrived, and has it
	// sent again, or lets the visitor do so, all the same. The mailbox is not
	// searched then.
	Despite bool
}

// Resolution is a decision that was taken, or what was found out instead.
type Resolution struct {
	Case Case   // as it is afterwards
	Said string // what the operator has to know of it; usually empty
}

var (
	// ErrNoteMissing: the decision needs a note.
	ErrNoteMissing = errors.New("this decision needs a note: write with --note how you know")
	// ErrRelayAtWork: the relay is at work on the claim, so nobody can decide yet.
	ErrRelayAtWork = errors.New("the relay is still at work on this message; please decide in a few minutes")
	// ErrWipesWords: closing the case would wipe words that are kept, and the
	// operator has not said that this is meant.
	ErrWipesWords = errors.New("closing this case wipes the words of the message")
)

// DecidedError: somebody has decided about the case meanwhile, or the same before.
type DecidedError struct{ Last ledger.Event }

func (e *DecidedError) Error() string {
	said, _ := decisionWords(e.Last.Kind)
	return fmt.Sprintf("%s %s, at %s", operatorOf(e.Last), said, e.Last.At.UTC().Format(time.DateTime+"Z"))
}

// Unwrap is ledger.ErrStale: the case is not as it was seen.
func (e *DecidedError) Unwrap() error { return ledger.ErrStale }

// ArrivedError: there is evidence that the message arrived, and the operator has
// not said that they decide despite it.
type ArrivedError struct{ Evidence []Evidence }

func (e *ArrivedError) Error() string {
	says := make([]string, len(e.Evidence))
	for i, one := range e.Evidence {
		says[i] = one.Says
	}
	return "there is evidence that this message arrived: " + strings.Join(says, " ")
}

// Resolve records a decision about one case. It fails with ErrNotFound,
// ErrAmbiguous, ErrNoteMissing, ErrWipesWords, ErrRelayAtWork, *ArrivedError, or what
// ledger.Ledger.Decide fails with: ErrStale also if the case is not as it was seen,
// as a *DecidedError if somebody else has decided.
//
// Before "not received" the relay is asked, which seals the claim against a late
// arrival. If the relay vouches for the message, that settles it instead. A relay
// that cannot be asked hinders nobody: should it have the message all the same,
// the next send gets its acknowledgment, and sends no second mail. Likewise the
// mailbox is searched, and what is found there, or was before, stands against the
// decision.
func (d *Desk) Resolve(ctx context.Context, text string, r Ruling) (Resolution, error) {
	if strings.TrimSpace(r.Note) == "" && r.Kind != ledger.Received {
		return Resolution{}, ErrNoteMissing
	}
	seen, err := d.one(ctx, text)
	if err != nil {
		return Resolution{}, err
	}
	done, err := d.resolve(ctx, seen, r)
	if errors.Is(err, ledger.ErrStale) {
		err = d.staleness(ctx, seen, r, err)
	}
	return done, err
}

func (d *Desk) resolve(ctx context.Context, seen Case, r Ruling) (Resolution, error) {
	if err := allowed(seen, r); err != nil {
		return Resolution{Case: seen}, err
	}
	doubts, err := d.arrived(ctx, seen, r)
	if err != nil {
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
	return Resolution{Case: after[0], Said: sentences(corrects(seen), doubts, said, follows(seen, after[0]))}, nil
}

// allowed is why a decision cannot be taken about a case, as far as the case tells.
func allowed(seen Case, r Ruling) error {
	last, decided := standing(seen)
	switch {
	case r.Seen != "" && r.Seen != Version(seen.Row):
		return ledger.ErrStale
	case decided && last.Kind == eventOf(r.Kind):
		return &DecidedError{last}
	case r.Kind == ledger.SendAgain && seen.Row.Status == ledger.Accepted:
		return ledger.ErrFinal
	case r.Kind == ledger.SendAgain && !seen.Kept:
		return ledger.ErrNoWords
	case r.Kind == ledger.Close && seen.Kept && !r.WipeWords:
		return ErrWipesWords
	}
	return nil
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

func sentences(all ...string) string {
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}
