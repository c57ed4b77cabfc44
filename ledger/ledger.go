package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Errors that a Ledger returns, to be tested with errors.Is. Any other error of
// a write means that it may have happened all the same.
var (
	// ErrUnseen: the ledger has never seen this ID.
	ErrUnseen = errors.New("this ID has never been seen")
	// ErrStale: the row is not as the caller saw it, and nothing was changed.
	ErrStale = errors.New("the row has changed meanwhile")
	// ErrClaimed: the row's send may still be under way, so nobody can decide it.
	ErrClaimed = errors.New("the send of this row may still be under way")
	// ErrFinal: an accepted row stays accepted.
	ErrFinal = errors.New("accepted is final")
	// ErrNoWords: the message's words are not kept (any more), so the courier has
	// nothing to send.
	ErrNoWords = errors.New("the words of this message are not kept here")
	// ErrNotStopped: the row has not stopped, so there is nothing to allow.
	ErrNotStopped = errors.New("the row has not stopped, so there is nothing to allow")
	// ErrNotRestored: no restore is pending, so there is nothing to end.
	ErrNotRestored = errors.New("no restore is pending")
	// ErrBroken: the engine lost its footing (an I/O error, a corrupt file). The
	// process has to end, so that the restart recovers.
	ErrBroken = errors.New("the ledger's database is broken")
)

// Ledger is the contract that every engine keeps, and that ledgertest.Run
// checks. All methods are safe for concurrent use. All writes are conditional,
// and idempotent by the claim.
//
// The context of a write bounds how long the caller waits, not the write: one
// that was handed over is carried out under a context that nobody cancels, so
// after an error it may have happened all the same.
type Ledger interface {
	// Submission reads one row, or fails with ErrUnseen.
	Submission(ctx context.Context, id uuid.UUID) (Submission, error)
	// ByReference reads all rows of a reference: it is not unique.
	ByReference(ctx context.Context, ref Reference) ([]Submission, error)
	// List reads rows, oldest first.
	List(ctx context.Context, f Filter) ([]Submission, error)
	// Events reads the record of one row, oldest first.
	Events(ctx context.Context, id uuid.UUID) ([]Event, error)
	// EventsSince reads the record across all rows, in the order in which it was
	// written. Where the filter's limit leaves some out, those are the oldest.
	EventsSince(ctx context.Context, f EventFilter) ([]Event, error)

	// Outbox reads the sealed words of a row, or fails with ErrNoWords.
	Outbox(ctx context.Context, id uuid.UUID) (Entry, error)
	// Due lists the rows that the courier may take now, oldest first.
	Due(ctx context.Context, d Due) ([]Submission, error)
	// Unalerted lists rows that need somebody, oldest first, of which no alert has
	// been attempted since they came to: there is no event of one as late as the row's
	// last change. So whoever records an alert dates it no earlier than that.
	Unalerted(ctx context.Context, limit int) ([]Submission, error)
	// Kept counts the messages whose words are kept, by form and key.
	Kept(ctx context.Context) ([]Kept, error)
	// RelayState reads what SetRelayState wrote last, or the zero value.
	RelayState(ctx context.Context) (RelayState, error)

	// Store inserts a row that nobody has claimed, with its sealed words, in one
	// commit; or it answers with the row as it stands. So a death between storing
	// and claiming is provably unsent. A repeat after an error finds the row.
	Store(ctx context.Context, n NewEntry) (Stored, error)
	// Take is the courier's claim: it takes a waiting row of the same payload
	// hash (Submission.Waiting), whatever its next attempt says, and hands out the
	// words; or it answers with the row as it stands. Form and Policy of the
	// NewClaim are not looked at. A repeat with the same token after an error finds
	// out whether the first had won. It fails with ErrUnseen, and with ErrNoWords,
	// claiming nothing, where the words of a waiting row are gone.
	Take(ctx context.Context, c NewClaim) (Taken, error)
	// Record adds to a row's record what is not the end of a call.
	Record(ctx context.Context, e Event) error
	// Dispute puts a row before the operator, with the contradiction on record. A
	// repeat of the same leaves one event.
	Dispute(ctx context.Context, e Event) error
	// SetRelayState keeps how the relay does, for whoever looks at the ledger.
	SetRelayState(ctx context.Context, s RelayState) error
	// Duty asks for a duty that one process at a time does, and reports whether the
	// caller has it now: it is free, its time is over, or the same holder asks again.
	// One that ends later than LongestDuty from now was noted by a clock that has been
	// set back since, and is free.
	Duty(ctx context.Context, d Duty) (bool, error)

	// Claim asks for the right to send, under hold: another policy is an error. It
	// inserts the row, or takes a free row of the same payload hash, or answers with
	// the row as it stands. A repeat with the same token after an error finds out
	// whether the first had won. A zero token is an error, here and in what ends a
	// call.
	Claim(ctx context.Context, c NewClaim) (Claimed, error)
	// Settle records an acknowledgment, and wipes the words in the same commit. It
	// reports whether the row is accepted under this claim. A stale one beside
	// another claim changes nothing but Needs, which becomes disputed; so does one
	// that names an earlier claim and contradicts an operator.
	Settle(ctx context.Context, a Acknowledgment) (bool, error)
	// Doubt records that a call ended without proof: the row becomes what
	// Submission.After says of EndDoubted. It reports whether the row was changed.
	// On a disputed row, how the call ended goes on record and nothing else.
	Doubt(ctx context.Context, e Ended) (bool, error)
	// Release gives a claim back by proof that nothing was sent: the row becomes
	// what Submission.After says of EndUnreached if the relay was not attempted, of
	// EndRefused if the cause is marked ForGood, and else of EndNotSent. It reports
	// whether the row was changed. On a row that is disputed, or was accepted under
	// this claim, it is a contradiction: Needs becomes or stays disputed.
	Release(ctx context.Context, e Ended) (bool, error)
	// Decide records a person's decision with its event, in one transaction, if the
	// row still is as the operator saw it: else ErrStale, ErrClaimed, ErrFinal or, for
	// SendAgain, ErrNotStopped. Under queue and retry, Received and Close wipe the
	// words, and NotReceived and SendAgain let the courier make at least one more
	// attempt at once, or fail with ErrNoWords.
	Decide(ctx context.Context, d Decision) error
	// Conflict counts that other content came under an ID.
	Conflict(ctx context.Context, id uuid.UUID, at time.Time) error

	// Lapse ends claims whose lease ended before the given time, as
	// Submission.After says of EndLapsed, and reports how many. A disputed row stays
	// disputed, but once it is uncertain a person can decide it.
	Lapse(ctx context.Context, before, at time.Time) (int, error)
	// OpenClaims lists the claims under which a send may be under way.
	OpenClaims(ctx context.Context) ([]OpenClaim, error)
	// LapseClaims does what Lapse does to those of the given claims that still
	// stand, whatever their lease says: for when the clock cannot be trusted.
	LapseClaims(ctx context.Context, claims []OpenClaim, at time.Time) (int, error)
	// MarkUnsent puts released rows that nobody came back for since the given
	// time into the operator's queue, and reports how many.
	MarkUnsent(ctx context.Context, releasedBefore, at time.Time) (int, error)

	// Forgettable counts what Forget would wipe.
	Forgettable(ctx context.Context, before time.Time) (int, error)
	// Forget wipes all of old accepted and closed rows but what tells a repeat from
	// a conflict and answers it: ID, reference, form, policy, payload hash, status
	// and closed_at; their events too. It never touches a row that is open or needs
	// somebody, works in slices so that enquiries do not wait, and reports how many
	// rows it has forgotten, also beside an error. One event of the ledger itself
	// tells of it, whose Times are the rows.
	Forget(ctx context.Context, f Forgetting) (int, error)

	// MarkRestored says that the database was replaced by an older copy, which does
	// not know what was sent since. In one transaction, every processing row that is
	// not closed becomes uncertain, unclaimed and disputed, and it reports how many.
	// From then on Claim and Store insert an ID that is unseen and MayPredate as such
	// a row too, with its words, instead of granting it. Other processes notice when
	// they open the database, so none may have it open.
	MarkRestored(ctx context.Context, r Restoration) (int, error)
	// Restored is when the database was restored, or zero if none is pending.
	Restored(ctx context.Context) (time.Time, error)
	// EndRestored ends that, or fails with ErrNotRestored. Other processes notice at
	// their next write.
	EndRestored(ctx context.Context, r Restoration) error

	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close ends all work; writes that were handed over are finished first.
	Close() error
}

// Filter chooses rows for List.
type Filter struct {
	NeedsSomebody bool   // only the operator's queue
	Waiting       bool   // only what waits for the courier
	Needs         Need   // only this one; empty: any
	Status        Status // only this one; empty: any
	Form          string // only this one; empty: any
	Limit         int    // 0: all
}

// EventFilter chooses events for EventsSince.
type EventFilter struct {
	Since time.Time // those that happened then or later, for the last time if often; zero: all
	Kind  EventKind // only this one; empty: any
	Limit int       // 0: all
}

// NewClaim asks for the right to make one relay call for one submission.
type NewClaim struct {
	ID          uuid.UUID
	Form        string
	Policy      Policy
	PayloadHash string // the row's own stored hash where the row is known
	Token       Token
	LeaseUntil  time.Time
	RelayEpoch  string
	At          time.Time // becomes created_at of a new row
}

// Claimed is the answer to a NewClaim.
type Claimed struct {
	Owned bool       // the caller, and nobody else, may make one relay call
	Row   Submission // as it stands
}

// Acknowledgment is a far end's proof that it took this very message.
type Acknowledgment struct {
	ID          uuid.UUID
	PayloadHash string
	Claim       Token
	// Policy is the row's, where the caller knows it. Under Hold there are no words
	// to wipe, and the ledger does not look for any.
	Policy  Policy
	Receipt string
	// Earlier is the claim under which the far end had taken the same content
	// before; this claim's call has sent nothing then. If an operator had declared
	// that nothing had arrived, the two contradict each other: the row is accepted
	// and disputed.
	Earlier Token
	// Note is put on record beside the happy path: what the far end said when it
	// took the message for some of its recipients only. Usually empty.
	Note string
	At   time.Time
}

// Ended is the end of a call without an acknowledgment.
type Ended struct {
	ID    uuid.UUID
	Claim Token
	Cause string // cause code and stage, never content
	Note  string // what the far end said, redacted; may be empty
	// Attempted is false if the claim is given back without the relay having been
	// reached under it; it then counts neither as a failure nor towards the cap of
	// claims.
	Attempted bool
	// Next is when the courier tries again, should the row wait for it then.
	Next time.Time
	At   time.Time
}

// DecisionKind is what a person can decide about a row.
type DecisionKind string

// The decisions of an operator.
const (
	Received    DecisionKind = "received"     // becomes accepted, by the operator's word
	NotReceived DecisionKind = "not_received" // becomes free: the visitor may send again
	Close       DecisionKind = "close"        // leaves the queue as it is
	SendAgain   DecisionKind = "send_again"   // a stopped row gets one more attempt
)

// Decision is what an operator decides about a row as they saw it.
type Decision struct {
	Seen Submission // the row that the operator looked at
	Kind DecisionKind
	By   string // the operator's name
	Note string
	At   time.Time
}

// OpenClaim names a claim under which a send may be under way.
type OpenClaim struct {
	ID         uuid.UUID
	Claim      Token
	LeaseUntil time.Time
}

// NewEntry is a message on its way into the ledger, before any attempt.
type NewEntry struct {
	ID          uuid.UUID
	Form        string
	Policy      Policy // Queue or Retry
	PayloadHash string
	AttemptCap  int64 // copied into the row; 0: none
	ClaimCap    int64
	Words       Sealed
	Due         time.Time // the first time that a sweep takes it
	At          time.Time // becomes created_at
}

// Stored is the answer to a NewEntry.
type Stored struct {
	Fresh bool       // this call made the row
	Row   Submission // as it stands
}

// Entry is what the outbox keeps of a message.
type Entry struct {
	Words Sealed
	Next  time.Time // when the courier tries next, if the row still waits for it
}

// Taken is the answer to the courier's claim.
type Taken struct {
	Owned bool       // the caller, and nobody else, may make one relay call
	Row   Submission // as it stands
	Words Sealed     // of an owned row
}

// Due asks for rows that the courier may take.
type Due struct {
	Policy Policy
	At     time.Time
	// Horizon is the longest time between two attempts. A next attempt further
	// ahead was noted by a clock that has been set back since, and is due.
	Horizon time.Duration
	Limit   int
}

// Kept counts messages whose words are kept.
type Kept struct {
	Form string
	Key  string // that sealed them
	Rows int64
}

// LongestDuty is how far ahead a duty may end.
const LongestDuty = 10 * time.Minute

// Duty is work that one of several processes on a ledger does at a time.
type Duty struct {
	Name   string
	Holder Token     // who asks for it
	Until  time.Time // when it is free again without a word; zero: it is given up
	At     time.Time
}

// RelayState is how the relay does. The zero value is a relay that is reached.
type RelayState struct {
	FailingSince time.Time // zero: it is reached
	NextTry      time.Time
	Cause        string
}
