package desk

import (
	"fmt"
	"strings"

	"formledger/ledger"
)

// PolicySentence says of a row, for its operator, what its policy does about
// doubt, and what that costs.
func PolicySentence(row ledger.Submission) string {
	switch row.Policy {
	case ledger.Queue:
		return "What provably was not sent is sent again by itself. After an unknown outcome it is never sent again unless a person says so, so a message may be missing until somebody looks."
	case ledger.Retry:
		return "It is sent again by itself even after an unknown outcome, so duplicates are possible, and it stops at its limits: this is neither at-least-once nor exactly-once."
	}
	return "The words are not kept here, so only the visitor can send it again. An unknown outcome is held until a person has looked."
}

// Sentence says of a row, for its operator, what is known and what is not.
func Sentence(row ledger.Submission) string {
	switch {
	case row.InDoubtByRestore():
		return ofRestored(row)
	case row.Needs == ledger.NeedsDisputed:
		return "Two sources contradict each other about this message; its record tells which. A person has to decide."
	case row.Status == ledger.Accepted:
		return ofAccepted(row)
	case row.Status == ledger.Uncertain:
		return ofUncertain(row)
	case !row.Claim.IsZero():
		return ofClaimed(row)
	case !row.ClosedAt.IsZero():
		return ofClosed(row)
	case row.Policy.KeepsWords():
		return ofKept(row)
	case row.Needs == ledger.NeedsUnsent:
		return "Nothing was sent, and the visitor has not come back to send it again. The words are not kept here."
	default:
		return "Nothing was sent. The visitor was told so, and may send it again."
	}
}

// ofRestored is said of a row of which the backup that was restored knows nothing
// later, or nothing at all.
func ofRestored(row ledger.Submission) string {
	said := "A backup was restored in which this message was still to be sent, so it may have been sent since. "
	if row.LastError == ledger.CauseMayBeRepeat {
		said = "It came after a backup was restored, and may repeat a message that was sent before and that the backup does not know; so it was not sent from here. "
	}
	said += "Look for its reference in the mailbox, then decide: if it is not there, say so, and "
	if row.Policy.KeepsWords() {
		return said + "the courier sends it."
	}
	return said + "the visitor may send it again."
}

func ofAccepted(row ledger.Submission) string {
	switch {
	case row.AcceptedBy == ledger.AcceptedAndForgotten:
		return "This message was accepted. What else was known of it was wiped when it was old."
	case row.AcceptedBy != ledger.AcceptedByRelay:
		return "An operator recorded that this message arrived."
	case copyPossible(row):
		return "The mail system took this message. Another attempt may have gone through as well, so there may be two copies. Whether somebody read it, nobody here knows."
	}
	return "The mail system took this message. Whether somebody read it, nobody here knows."
}

// copyPossible reports whether the policy may have sent a message more than once.
func copyPossible(row ledger.Submission) bool {
	return row.Policy == ledger.Retry && row.Doubted && row.Claims > 1
}

func ofUncertain(row ledger.Submission) string {
	const perhaps = "The message may or may not have been sent"
	switch {
	case !row.ClosedAt.IsZero():
		return perhaps + ", and the case was closed as it is."
	case row.Policy == ledger.Queue:
		return perhaps + ": the call ended without proof, and it is not sent again by itself. Look for its reference in the mailbox, then decide: if it is not there, say so, and the courier sends it again."
	case row.Policy == ledger.Retry:
		return perhaps + ": at least one attempt ended without proof, and sending has stopped because " + whyStopped(row) + ". Look for its reference in the mailbox, then decide: if it is not there, say so, and the courier sends it again."
	}
	return perhaps + ": the call ended without proof. Look for its reference in the mailbox, then decide."
}

func ofClaimed(row ledger.Submission) string {
	if row.Policy == ledger.Retry {
		return "The message is being sent right now, or its sender died; once its lease is over it is tried again, and a second copy is possible then."
	}
	return "The message is being sent right now, or its sender died; once its lease is over that becomes uncertain."
}

func ofClosed(row ledger.Submission) string {
	if row.Policy == ledger.Retry && row.Doubted {
		return "An attempt may have gone through. Nothing more is sent, and the case is closed."
	}
	return "The message was not sent, and the case is closed."
}

// ofKept is said of a row that the courier has yet to send, or gave up.
func ofKept(row ledger.Submission) string {
	switch {
	case row.Needs == ledger.NeedsStopped:
		return soFar(row) + ", and sending has stopped because " + whyStopped(row) + ". " + afterStop(row)
	case row.Policy == ledger.Retry && row.Doubted:
		return "The message waits for the courier, which sends it again: an earlier attempt may have gone through, so a second copy is possible."
	case row.Attempts == 0 && row.Claims == 0:
		return "The message is stored, and waits for the courier, which sends it. Nothing was sent yet."
	case row.Doubted:
		return "An operator recorded that the message had not arrived. It waits for the courier, which sends it again."
	}
	return "Nothing was sent. The message waits for the courier, which sends it again by itself."
}

// soFar is what is known of a stopped row: an unknown outcome stops it only if an
// operator has decided about it since.
func soFar(row ledger.Submission) string {
	if row.Doubted {
		return "An operator recorded that the message had not arrived, nothing was sent since"
	}
	return "Nothing was sent"
}

// whyStopped goes on after "because".
func whyStopped(row ledger.Submission) string {
	switch {
	case strings.HasPrefix(row.LastError, ledger.ForGood("words_unreadable")):
		return "the words cannot be unsealed: the key is not among the outbox keys, or another version wrote them"
	case strings.HasPrefix(row.LastError, ledger.ForGood("form_removed")):
		return "its form is not in the configuration any more"
	case row.RefusedForGood():
		return "the message was refused for good (" + row.LastError + ")"
	case row.AttemptCap > 0 && row.Attempts >= row.AttemptCap:
		return fmt.Sprintf("it has failed %d times (last: %s)", row.Attempts, row.LastError)
	case row.ClaimCap > 0 && row.Claims >= row.ClaimCap:
		return fmt.Sprintf("it was begun %d times (last: %s)", row.Claims, row.LastError)
	}
	return "it failed (" + row.LastError + ")"
}

func afterStop(row ledger.Submission) string {
	if row.RefusedForGood() {
		return "Put right what it was refused for, then allow one more attempt, or close the case."
	}
	return "Find out why, then allow one more attempt, or close the case."
}
