package desk

import (
	"context"
	"errors"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

// Change is what reconciling did, or would do, to a submission.
type Change string

// The changes.
const (
	Settled   Change = "accepted"  // the relay vouches for it
	Released  Change = "not_sent"  // the relay has sealed it: nothing was sent, nor will be
	Unchanged Change = "unchanged" // nothing is proven
)

// Reconciled is what became of one submission.
type Reconciled struct {
	Row    ledger.Submission // as it was
	Change Change
	Cause  relay.Cause // why nothing is proven; empty if something is
	Why    string      // a sentence for the operator
}

// Unanswered reports whether the relay gave no answer that counts.
func (r Reconciled) Unanswered() bool {
	switch r.Cause.Code {
	case "", relay.CodeEpochChanged, relay.CodeRelayProcessing, relay.CodeRelayUncertain, relay.CodeRelayUnseen:
		return false
	}
	return r.Change == Unchanged
}

// ErrNoRelay: the configuration names no relay that could be asked.
var ErrNoRelay = errors.New("there is no relay to ask: only a form server with a table [relay] can reconcile; for other mail paths look into the mailbox")

// Uncertain lists what can be reconciled: all uncertain submissions, or those
// that the texts name. What a text names is taken in any state.
func (d *Desk) Uncertain(ctx context.Context, texts []string) ([]ledger.Submission, error) {
	if len(texts) == 0 {
		return d.Ledger.List(ctx, ledger.Filter{NeedsSomebody: true, Status: ledger.Uncertain})
	}
	var rows []ledger.Submission
	for _, text := range texts {
		found, err := d.rows(ctx, text)
		if err != nil {
			return nil, &UnknownReferenceError{Text: text, Err: err}
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// UnknownReferenceError says which of several references is wrong, and how.
type UnknownReferenceError struct {
	Text string
	Err  error
}

func (e *UnknownReferenceError) Error() string { return e.Text + ": " + e.Err.Error() }

// Unwrap is why it is wrong.
func (e *UnknownReferenceError) Unwrap() error { return e.Err }

// Expired leaves those whose call can no longer be under way here.
func Expired(rows []ledger.Submission, now time.Time) []ledger.Submission {
	var expired []ledger.Submission
	for _, row := range rows {
		if row.LeaseUntil.Before(now) && row.RelayEpoch != "" {
			expired = append(expired, row)
		}
	}
	return expired
}

// Reconcile asks the relay about one submission, and records what it proves. The
// relay seals a claim that it has never seen; with dry it is asked without that,
// and nothing is changed anywhere. An error is the ledger's, or ErrNoRelay.
func (d *Desk) Reconcile(ctx context.Context, row ledger.Submission, dry bool) (Reconciled, error) {
	if d.Relay == nil {
		return Reconciled{}, ErrNoRelay
	}
	if why := beyondAsking(row); why != "" {
		return Reconciled{Row: row, Change: Unchanged, Why: why}, nil
	}
	v := d.Relay.Inquire(ctx, row, dry)
	done := meaning(row, v)
	if dry || done.Change == Unchanged {
		return done, nil
	}
	changed, err := d.record(ctx, row, v)
	if err == nil && !changed {
		done.Change, done.Why = Unchanged, "It changed while the relay was asked; formledger show tells how it stands now."
	}
	return done, err
}

// record settles or releases by the relay's proof. The failure was counted when
// the row became uncertain.
func (d *Desk) record(ctx context.Context, row ledger.Submission, v relay.Verdict) (bool, error) {
	if v.Finding == relay.Accepted {
		return d.Ledger.Settle(ctx, relay.AcknowledgmentOf(row, v, d.Now()))
	}
	cause := relay.Cause{Code: v.Cause.Code, Stage: "inquiry"}.String()
	if v.Permanent {
		cause = ledger.ForGood(cause)
	}
	return d.Ledger.Release(ctx, ledger.Ended{ID: row.ID, Claim: row.Claim, Cause: cause, Note: v.Conversation, At: d.Now()})
}

// beyondAsking is why the relay's word could change nothing, or "".
func beyondAsking(row ledger.Submission) string {
	switch {
	case row.Needs == ledger.NeedsDisputed:
		return "Two sources contradict each other: a person has to decide."
	case row.Status == ledger.Accepted:
		return "It is accepted already."
	case row.Status != ledger.Uncertain && !row.Claim.IsZero():
		return "It is being sent right now; once its lease is over it can be asked about."
	case row.Status != ledger.Uncertain:
		return "It is not uncertain: nothing was sent."
	case row.Claim.IsZero() || row.RelayEpoch == "":
		return "It was not sent through a relay that can be asked: look into the mailbox."
	}
	return ""
}

// meaning says what the relay's word is worth.
func meaning(row ledger.Submission, v relay.Verdict) Reconciled {
	r := Reconciled{Row: row, Change: Unchanged, Cause: v.Cause}
	switch v.Finding {
	case relay.Accepted:
		r.Change, r.Cause, r.Why = Settled, relay.Cause{}, "The relay vouches for it: the mail system took the message."
	case relay.NotSent:
		r.Change, r.Cause, r.Why = Released, relay.Cause{}, "The relay has sealed it: nothing was sent, and nothing will be under this claim."
		if v.Permanent {
			r.Why = "The relay refused it for good: nothing was sent."
		}
	default:
		r.Why = unproven(v.Cause)
	}
	return r
}

// busy reports whether the relay is at work on the claim: then nobody should
// decide yet.
func busy(v relay.Verdict) bool { return v.Cause.Code == relay.CodeRelayProcessing }

func unproven(c relay.Cause) string {
	switch c.Code {
	case relay.CodeEpochChanged:
		return "The relay's memory is not the one that this claim relies on: it was lost or replaced, so the relay cannot prove anything. Look into the mailbox."
	case relay.CodeRelayProcessing:
		return "The relay is still at work on it. Ask again in a few minutes."
	case relay.CodeRelayUncertain:
		return "The relay itself does not know: its own conversation with the mail server ended without proof. Look into the mailbox."
	case relay.CodeRelayUnseen:
		return "The relay has never seen the call. Without --dry-run it would be sealed, which proves that nothing was sent."
	}
	return "The relay gave no answer that counts (" + c.String() + "), so nothing is proven. formledger doctor tells what is wrong."
}
