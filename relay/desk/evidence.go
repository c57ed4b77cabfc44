package desk

import (
	"context"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

// Proof is what a piece of evidence proves.
type Proof string

// The proofs. What proves nothing may still tell an operator where to look.
const (
	ProvesAccepted Proof = "accepted" // the mail system took this very message
	ProvesNotSent  Proof = "not_sent" // it was not sent, and will not be by what was begun
	ProvesPresence Proof = "presence" // the mail lies in the mailbox
	ProvesNothing  Proof = "nothing"
)

// Source is where a piece of evidence comes from.
type Source string

// The sources.
const (
	FromRecord   Source = "record"   // what happened here
	FromVisitor  Source = "visitor"  // what came under the same ID since
	FromRelay    Source = "relay"    // what took the message, or was asked about it
	FromMailbox  Source = "mailbox"  // where it should have arrived
	FromOperator Source = "operator" // a person's word
)

// Evidence is one thing that is known about a message. Suggests is the decision
// that would fit, or empty: it is never taken by itself.
type Evidence struct {
	Source   Source
	At       time.Time
	Says     string
	Proves   Proof
	Suggests ledger.DecisionKind
}

// Evidence gathers what is known about a case: its record, what the relay says if
// it is asked, and what lies in the mailbox. It seals nothing and decides nothing;
// a mail that it finds goes on record, so that it counts from then on.
func (d *Desk) Evidence(ctx context.Context, k Case) ([]Evidence, error) {
	all := recorded(k)
	if asked, ok := d.asked(ctx, k.Row); ok {
		all = append(all, asked)
	}
	hits, err := d.searched(ctx, k)
	if err != nil {
		return nil, err
	}
	all = append(all, hits...)
	for i, e := range all {
		all[i].Suggests = suggestion(k.Row, e)
	}
	return all, nil
}

// asked is what the relay says now. It only looks: a claim that it has never seen
// stays unsealed.
func (d *Desk) asked(ctx context.Context, row ledger.Submission) (Evidence, bool) {
	if d.Relay == nil || beyondAsking(row) != "" {
		return Evidence{}, false
	}
	v := d.Relay.Inquire(ctx, row, true)
	e := Evidence{Source: FromRelay, At: d.Now(), Proves: ProvesNothing}
	switch {
	case v.Finding == relay.Accepted:
		e.Proves, e.Says = ProvesAccepted, "Asked now, the relay vouches for it: the mail system took the message. Reconciling records that."
	case v.Finding == relay.NotSent && v.Permanent:
		e.Proves, e.Says = ProvesNotSent, "Asked now, the relay says that it refused this message for good: nothing was sent."
	case v.Finding == relay.NotSent:
		e.Proves, e.Says = ProvesNotSent, "Asked now, the relay says that it has sealed this message: nothing was sent, and no late copy can go out."
	case v.Cause.Code == relay.CodeRelayUnseen:
		e.Says = "Asked now, the relay has never seen the call, which may still be on its way. Reconciling, or the decision that it was not received, seals it first, and that proves that nothing was sent."
	default:
		e.Says = "Asked now: " + unproven(v.Cause)
	}
	return e, true
}

// suggestion is the decision that fits a piece of evidence, if there is something
// to decide about the row at all.
func suggestion(row ledger.Submission, e Evidence) ledger.DecisionKind {
	underWay := row.Status == ledger.Processing && !row.Claim.IsZero()
	if underWay || row.Needs == ledger.NeedsNobody {
		return ""
	}
	switch {
	case e.Proves == ProvesAccepted || e.Proves == ProvesPresence:
		return ledger.Received
	case e.Proves == ProvesNotSent && row.Needs == ledger.NeedsStopped:
		return ledger.SendAgain
	case e.Proves == ProvesNotSent && row.Status == ledger.Uncertain:
		return ledger.NotReceived
	}
	return ""
}
