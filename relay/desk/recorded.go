package desk

import (
	"fmt"
	"strings"

	"formledger/ledger"
)

// recorded is the evidence that stands in the ledger, oldest first.
func recorded(k Case) []Evidence {
	all := []Evidence{begun(k.Row)}
	proven, vouched := provenNotSent(k), false
	for _, e := range k.Events {
		if one, tells := ofEvent(e, proven); tells {
			all = append(all, one)
			vouched = vouched || one.Proves == ProvesAccepted
		}
	}
	if k.Row.AcceptedBy == ledger.AcceptedByRelay && !vouched {
		all = append(all, Evidence{Source: FromRelay, At: k.Row.UpdatedAt, Proves: ProvesAccepted,
			Says: "The mail system took the message and vouches for it" + saying(k.Row.Receipt)})
	}
	return all
}

// begun tells how far the journey came, as this ledger knows it.
func begun(row ledger.Submission) Evidence {
	e := Evidence{Source: FromRecord, At: row.CreatedAt, Proves: ProvesNothing}
	switch {
	case neverBegun(row):
		e.Proves, e.Says = ProvesNotSent, "The enquiry was recorded here, and no send of it was begun: nothing was sent."
	case row.Claims == 0:
		e.Says = "The enquiry was recorded here, and no send of it is known."
	default:
		e.Says = "The enquiry was recorded here, and its send was begun " + times(row.Claims) + "."
	}
	return e
}

// neverBegun reports whether no send was begun. A ledger that was replaced by an
// older copy cannot say that of its rows.
func neverBegun(row ledger.Submission) bool {
	return row.Claims == 0 && row.Status == ledger.Processing && row.Needs != ledger.NeedsDisputed
}

// provenNotSent reports whether each send that was begun is proven to have sent
// nothing: a proof of the last one says nothing about one before it.
func provenNotSent(k Case) bool {
	open := map[ledger.Token]bool{}
	for _, e := range k.Events {
		switch e.Kind {
		case ledger.EventDoubted, ledger.EventLapsed:
			open[e.Claim] = true
		case ledger.EventReleased:
			delete(open, e.Claim)
		case ledger.EventLateAcknowledged, ledger.EventConfirmed, ledger.EventDisputed, ledger.EventPartlyRefused, ledger.EventRestored:
			return false
		}
	}
	return len(open) == 0 && k.Row.Claim.IsZero() && k.Row.Status == ledger.Processing
}

// ofEvent reads one entry of the record; those about alerts and the like tell
// nothing of the message.
func ofEvent(e ledger.Event, proven bool) (Evidence, bool) {
	one := Evidence{Source: FromRecord, At: e.At, Proves: ProvesNothing}
	switch e.Kind {
	case ledger.EventDoubted:
		one.Says = "The call ended without proof" + where(e.Cause) + saying(e.Note)
	case ledger.EventLapsed:
		one.Says = "Nobody recorded how the call ended, and its time is over: its sender may have died on the way."
	case ledger.EventReleased:
		one.Says = "That attempt sent nothing" + where(e.Cause) + saying(e.Note)
		if proven {
			one.Proves = ProvesNotSent
		}
	case ledger.EventConflict:
		one.Source, one.At = FromVisitor, e.LastAt
		one.Says = fmt.Sprintf("Other content came under the same ID, %s. It was not sent. (Repeats of the same content are not counted.)", times(e.Times))
	case ledger.EventRestored:
		one.Says = "The ledger was replaced by an older copy of it, which does not know what became of this message since."
	case ledger.EventUnsent:
		one.Source, one.Says = FromVisitor, "The visitor was told that nothing was sent, and has not come back."
	default:
		return ofFinding(e, one)
	}
	return one, true
}

// ofFinding reads what proves something, and what people said.
func ofFinding(e ledger.Event, one Evidence) (Evidence, bool) {
	switch {
	case vouches(e):
		one.Source, one.Proves = FromRelay, ProvesAccepted
		one.Says = vouched(e) + saying(e.Note)
	case e.Kind == ledger.EventDisputed:
		one.Says = "This contradicts the record" + where(e.Cause) + saying(e.Note)
	case found(e):
		one.Source, one.Proves, one.Says = FromMailbox, ProvesPresence, "An earlier search found the mail: "+e.Note+"."
	default:
		said, ok := decisionWords(e.Kind)
		one.Source, one.Says = FromOperator, operatorOf(e)+" "+said+saying(e.Note)
		return one, ok
	}
	return one, true
}

// vouches reports whether an event is an acknowledgment: a dispute by one has no
// cause, as the end of a call has.
func vouches(e ledger.Event) bool {
	switch e.Kind {
	case ledger.EventLateAcknowledged, ledger.EventConfirmed, ledger.EventPartlyRefused:
		return true
	}
	return e.Kind == ledger.EventDisputed && e.Cause == ""
}

func vouched(e ledger.Event) string {
	switch e.Kind {
	case ledger.EventConfirmed:
		return "After an operator had said so, the mail system vouched for the message too"
	case ledger.EventPartlyRefused:
		return "The mail system took the message, but not for every recipient"
	case ledger.EventDisputed:
		return "The mail system vouches for the message, which contradicts the record"
	}
	return "The mail system vouched for the message, late"
}

// decisionWords is what a person did to a row, after their name.
func decisionWords(k ledger.EventKind) (string, bool) {
	said, ok := map[ledger.EventKind]string{
		ledger.EventReceived:    "decided that it was received",
		ledger.EventNotReceived: "decided that it was not received",
		ledger.EventClosed:      "closed the case",
		ledger.EventSendAgain:   "allowed one more attempt",
		ledger.EventNoted:       "noted",
	}[k]
	return said, ok
}

// operatorOf is the name of whoever caused an event.
func operatorOf(e ledger.Event) string { return strings.TrimPrefix(e.Actor, ledger.Operator("")) }

func where(cause string) string {
	code, stage, known := strings.Cut(cause, "@")
	switch {
	case known:
		return fmt.Sprintf(", at the step %s (%s)", stage, code)
	case cause != "":
		return " (" + cause + ")"
	}
	return ""
}

// saying adds what a relay or a person said, and ends the sentence.
func saying(note string) string {
	if note == "" {
		return "."
	}
	return ": " + note
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
