package ledger

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Status is what the ledger knows of one enquiry. There are three and no more.
type Status string

const (
	// Processing: a claimed row's send is under way; an unclaimed row is free,
	// and provably nothing was sent.
	Processing Status = "processing"
	// Accepted: the relay, or an operator, vouches for this very message. Final.
	Accepted Status = "accepted"
	// Uncertain: it may or may not have been sent.
	Uncertain Status = "uncertain"
)

// Policy is what is done about doubt. It is copied into a row at its first
// claim, so that editing a form never changes an open row.
type Policy string

// The policies. Policy.After tells what each makes of the end of a call.
const (
	// Hold keeps no words: the request owns the send, and an unknown outcome is
	// held for a person.
	Hold Policy = "hold"
	// Queue keeps the words sealed until the message is accepted or the case
	// closed. What provably was not sent is tried again; what is unknown is held.
	Queue Policy = "queue"
	// Retry keeps the words too, and sends again even after an unknown outcome, up
	// to its caps: a possible duplicate rather than a missing mail.
	Retry Policy = "retry"
)

// KeepsWords reports whether the ledger holds the message's words, sealed, and
// the courier sends it.
func (p Policy) KeepsWords() bool { return p == Queue || p == Retry }

// Need says why a row is in the operator's queue.
type Need string

const (
	// NeedsNobody: the row is not in the queue.
	NeedsNobody Need = ""
	// NeedsUncertain: somebody has to find out whether the message arrived.
	NeedsUncertain Need = "uncertain"
	// NeedsStopped: sending has stopped for good; nobody goes on by itself.
	NeedsStopped Need = "stopped"
	// NeedsDisputed: two sources contradict each other. Only a person ends it.
	NeedsDisputed Need = "disputed"
	// NeedsUnsent: nothing was sent, and the visitor did not come back.
	NeedsUnsent Need = "unsent"
)

// AcceptedByRelay is the AcceptedBy of rows that the relay's acknowledgment
// settled.
const AcceptedByRelay = "relay"

// Operator is the actor and AcceptedBy of a person's decision.
func Operator(name string) string { return "operator:" + name }

// Submission is one row: all that the ledger keeps of an enquiry but, under queue
// and retry, its sealed words. It holds no word of it, no address and no IP. Zero times and a zero
// claim stand for NULL. Times have a resolution of a millisecond and are UTC.
type Submission struct {
	ID          uuid.UUID
	Reference   Reference
	Form        string
	Policy      Policy
	PayloadHash string
	Status      Status
	CreatedAt   time.Time
	Claim       Token
	LeaseUntil  time.Time
	RelayEpoch  string
	Claims      int64 // granted so far
	ClaimCap    int64 // 0: none
	Attempts    int64 // recorded failures
	AttemptCap  int64 // 0: none
	Doubted     bool  // some attempt's outcome is unknown, for ever
	LastError   string
	AcceptedBy  string
	Receipt     string
	UpdatedAt   time.Time
	ClosedAt    time.Time
	Needs       Need
}

// Free reports whether, under hold, a repeat of the same content may claim the
// row and send: nothing was sent, nobody owns it, and no person has to look at it
// first.
func (s Submission) Free() bool {
	return s.Policy == Hold && s.unclaimed() && (s.Needs == NeedsNobody || s.Needs == NeedsUnsent)
}

// Waiting reports whether the courier may claim the row: the words are kept,
// nobody owns the send, nobody has to look at it first, and its caps are not
// reached.
func (s Submission) Waiting() bool {
	return s.Policy.KeepsWords() && s.unclaimed() && s.Needs == NeedsNobody && !s.AtCap()
}

func (s Submission) unclaimed() bool {
	return s.Status == Processing && s.Claim.IsZero() && s.ClosedAt.IsZero()
}

// AtCap reports whether a cap is reached: recorded failures, or claims granted.
func (s Submission) AtCap() bool {
	return s.AttemptCap > 0 && s.Attempts >= s.AttemptCap || s.ClaimCap > 0 && s.Claims >= s.ClaimCap
}

// refusedForGood begins the last error of a row whose message was refused in a
// way that would be the same again.
const refusedForGood = "for_good:"

// ForGood marks the cause of a refusal that would be the same again.
func ForGood(cause string) string { return refusedForGood + cause }

// IsForGood reports whether a cause is one that ForGood marked.
func IsForGood(cause string) bool { return strings.HasPrefix(cause, refusedForGood) }

// RefusedForGood reports whether the same message would be refused again. The
// row may be free all the same: the operator may have changed the reason.
func (s Submission) RefusedForGood() bool { return IsForGood(s.LastError) }

// Open reports whether the row's story has not ended.
func (s Submission) Open() bool {
	return s.Status != Accepted && s.ClosedAt.IsZero()
}

// EventKind names what happened to a row off the happy path.
type EventKind string

// The kinds of events.
const (
	EventConflict         EventKind = "conflict"          // other content came under the same ID
	EventDoubted          EventKind = "doubted"           // a call ended without proof
	EventReleased         EventKind = "released"          // nothing was sent, by proof
	EventLapsed           EventKind = "lapsed"            // the lease passed without a record
	EventUnsent           EventKind = "unsent"            // the visitor did not come back
	EventLateAcknowledged EventKind = "late_acknowledged" // an acknowledgment settled an uncertain or released row
	EventPartlyRefused    EventKind = "partly_refused"    // accepted, but not for every recipient
	EventConfirmed        EventKind = "confirmed"         // an acknowledgment came after an operator's word
	EventDisputed         EventKind = "disputed"          // evidence contradicts the record
	EventReceived         EventKind = "received"          // an operator decided: it arrived
	EventNotReceived      EventKind = "not_received"      // an operator decided: it did not arrive
	EventClosed           EventKind = "closed"            // an operator closed the case
	EventStopped          EventKind = "stopped"           // the courier gave up: a cap, or a refusal for good
	EventSendAgain        EventKind = "send_again"        // an operator allowed one more attempt
	EventAlerted          EventKind = "alerted"           // somebody was told that the row needs them
	EventAlertFailed      EventKind = "alert_failed"      // nobody could be told; the row stands in the queue all the same
	EventReminded         EventKind = "reminded"          // somebody was told, of the whole queue, that it has waited long
	EventRelayFailing     EventKind = "relay_failing"     // somebody was told that the relay is not reached
	EventRelayRecovered   EventKind = "relay_recovered"   // somebody was told that it is reached again
	EventWordsShown       EventKind = "words_shown"       // an operator unsealed the words
	EventNoted            EventKind = "noted"             // somebody wrote something down about the row
	EventRestored         EventKind = "restored"          // the database was replaced by an older copy, so the row may be out of date
	EventRestoreEnded     EventKind = "restore_ended"     // an operator said that unseen IDs are new ones again
	EventForgotten        EventKind = "forgotten"         // all but the identity of old rows was wiped
)

// ActorSystem is the actor of events that no person caused.
const ActorSystem = "system"

// Event is one entry of a row's append-only record.
type Event struct {
	ID         uuid.UUID // UUIDv7
	Submission uuid.UUID // uuid.Nil: of the ledger itself
	At         time.Time
	Kind       EventKind
	Actor      string // ActorSystem or Operator(name)
	Cause      string // cause code and stage, never content
	Claim      Token
	Note       string // the operator's words, or the relay's receipt
	Times      int64  // how often it happened; more than 1 only for conflicts, and for rows that were forgotten
	LastAt     time.Time
}
