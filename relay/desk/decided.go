package desk

import (
	"context"
	"strconv"
	"time"

	"formledger/ledger"
)

func eventOf(k ledger.DecisionKind) ledger.EventKind {
	return map[ledger.DecisionKind]ledger.EventKind{
		ledger.Received: ledger.EventReceived, ledger.NotReceived: ledger.EventNotReceived,
		ledger.Close: ledger.EventClosed, ledger.SendAgain: ledger.EventSendAgain,
	}[k]
}

// lastDecision is the newest decision of a person about a case. It is the last
// word if nothing has happened to the message since.
func lastDecision(k Case) (last ledger.Event, lastWord, decided bool) {
	lastWord = true
	for i := len(k.Events) - 1; i >= 0; i-- {
		switch e := k.Events[i]; e.Kind {
		case ledger.EventReceived, ledger.EventNotReceived, ledger.EventClosed, ledger.EventSendAgain:
			return e, lastWord, true
		case ledger.EventDoubted, ledger.EventReleased, ledger.EventLapsed, ledger.EventUnsent, ledger.EventStopped, ledger.EventRestored,
			ledger.EventLateAcknowledged, ledger.EventPartlyRefused, ledger.EventConfirmed, ledger.EventDisputed:
			lastWord = false
		}
	}
	return ledger.Event{}, false, false
}

// standing is the decision by which a case stands as it does: nothing has come
// of it yet, and the case needs nobody.
func standing(k Case) (ledger.Event, bool) {
	last, lastWord, decided := lastDecision(k)
	if !decided || !lastWord || k.Row.Needs != ledger.NeedsNobody {
		return last, false
	}
	switch last.Kind {
	case ledger.EventReceived:
		return last, k.Row.Status == ledger.Accepted
	case ledger.EventClosed:
		return last, !k.Row.ClosedAt.IsZero()
	}
	return last, k.Row.Status == ledger.Processing && k.Row.Claim.IsZero()
}

// corrects says that a decision takes the place of another.
func corrects(seen Case) string {
	last, stands := standing(seen)
	if !stands {
		return ""
	}
	return "Before that, " + (&DecidedError{last}).Error() + "."
}

// staleness tells who decided since the operator looked, if somebody did.
func (d *Desk) staleness(ctx context.Context, seen Case, r Ruling, stale error) error {
	now, err := d.Find(ctx, seen.Row.ID.String())
	if err != nil {
		return stale
	}
	last, _, decided := lastDecision(now[0])
	if _, stands := standing(now[0]); decided && (stands || last.At.After(looked(seen, r))) {
		return &DecidedError{last}
	}
	return stale
}

// looked is when the row became as the operator saw it.
func looked(seen Case, r Ruling) time.Time {
	if at, err := strconv.ParseInt(r.Seen, 36, 64); err == nil {
		return time.UnixMilli(at)
	}
	return seen.Row.UpdatedAt
}

// arrived looks for evidence against having a message sent again. A mailbox that
// cannot be searched, or holds nothing, hinders nobody; what that is worth is said.
func (d *Desk) arrived(ctx context.Context, seen Case, r Ruling) (said string, err error) {
	sends := r.Kind == ledger.NotReceived || r.Kind == ledger.SendAgain
	if r.Despite || !sends || seen.Row.Status == ledger.Accepted {
		return "", nil
	}
	against := speaking(recorded(seen))
	if len(against) == 0 {
		hits, err := d.searched(ctx, seen)
		if err != nil {
			return "", err
		}
		if against = speaking(hits); len(against) == 0 && len(hits) > 0 {
			return hits[0].Says, nil
		}
	}
	if len(against) > 0 {
		return "", &ArrivedError{against}
	}
	return "", nil
}

// speaking leaves the evidence that a message arrived.
func speaking(all []Evidence) []Evidence {
	var against []Evidence
	for _, e := range all {
		if e.Proves == ProvesAccepted || e.Proves == ProvesPresence {
			against = append(against, e)
		}
	}
	return against
}
