package relay

import (
	"context"
	"fmt"

	"formledger/ledger"
)

// Finding is what a sender knows after a call. The zero value is Unknown, so
// that a forgotten assignment can never become a promise.
type Finding uint8

const (
	// Unknown: the message may or may not have been taken.
	Unknown Finding = iota
	// Accepted: the far end vouches for this very message.
	Accepted
	// NotSent: it is proven that the far end does not have the message.
	NotSent
)

// String names the finding in the words of logs and events.
func (f Finding) String() string {
	switch f {
	case Accepted:
		return "accepted"
	case NotSent:
		return "not_sent"
	default:
		return "unknown"
	}
}

// Cause says where a call ended and why, in codes that hold nothing of the
// enquiry: they are stored, logged and shown to operators.
type Cause struct {
	Code  string // what happened: "disk_full", "lease_lapsed", …
	Stage string // how far the call had come: "write", "rename", …
}

// String joins the two as they are stored in the ledger: "disk_full@write".
func (c Cause) String() string {
	if c.Stage == "" {
		return c.Code
	}
	return fmt.Sprintf("%s@%s", c.Code, c.Stage)
}

// CodeLapsed is the code of a holder that stopped because its lease was over.
const CodeLapsed = "lease_lapsed"

// BeforeMessage reports whether a call to a mail server ended before it could
// speak of a message: no connection, no TLS, no login. Every other message would
// have fared the same.
func (c Cause) BeforeMessage() bool {
	switch c.Stage {
	case "connect", "banner", "ehlo", "starttls", "tls", "auth":
		return c.Code != CodeLapsed
	}
	return false
}

// Verdict is the whole result of one relay call. A sender never returns a bare
// error, because an error does not say whether the message is out.
type Verdict struct {
	Finding   Finding
	Receipt   string // what the far end said on Accepted, for the operator
	Permanent bool   // NotSent for good: the same message would be refused again
	Cause     Cause  // why it is not Accepted
	Partly    bool   // Accepted, but refused for some of the recipients
	// Unreached: NotSent, because the relay could not be reached or lets nobody in.
	// That says nothing about the message: every other would have fared the same.
	Unreached bool
	// Earlier is the claim under which the far end had taken the same content
	// before: this call has sent nothing then.
	Earlier ledger.Token

	// Conversation is what was said, for the operator; redacted. Senders that
	// hold no conversation leave it empty.
	Conversation string
}

// AcceptedWith is the verdict of a far end that vouches for the message.
func AcceptedWith(receipt string) Verdict {
	return Verdict{Finding: Accepted, Receipt: receipt}
}

// ProvenNotSent is the verdict of a call that provably delivered nothing.
func ProvenNotSent(code, stage string) Verdict {
	return Verdict{Finding: NotSent, Cause: Cause{code, stage}}
}

// UnknownAfter is the verdict of a call whose ending proves nothing.
func UnknownAfter(code, stage string) Verdict {
	return Verdict{Cause: Cause{code, stage}}
}

// Sender takes a rendered message towards a mailbox: the embedded Maildir, an
// SMTP server, or a signed HTTP relay.
type Sender interface {
	// Send makes one call. It checks the lease before the first byte and again
	// before the step that cannot be taken back, and then stops as not sent.
	// ctx carries the deadline of the call.
	Send(ctx context.Context, m Mail, lease Lease) Verdict
}

// Codes of a Remembering far end's answers that prove nothing.
const (
	CodeEpochChanged    = "epoch_changed"    // its memory is not the one that the claim relies on
	CodeRelayProcessing = "relay_processing" // it is still at work
	CodeRelayUncertain  = "relay_uncertain"  // it does not know itself
	CodeRelayUnseen     = "relay_unseen"     // never seen, and not sealed
)

// Remembering is a Sender whose far end keeps a memory of the claims it was
// called under, and can be asked about them.
type Remembering interface {
	Sender
	// Epoch names the far end's present memory, or is "" while nobody knows it. It
	// is stored with a claim: what another memory says of it proves nothing.
	Epoch(ctx context.Context) string
	// Inquire asks what became of the row's claim. Unless it only peeks, the far
	// end refuses a claim that it has never seen from then on; the verdict is
	// NotSent then, and otherwise as that of the call.
	Inquire(ctx context.Context, row ledger.Submission, peek bool) Verdict
}
