package handlers

import (
	"net/http"
	"time"

	"formledger/ledger"
)

// Outcome is what the API tells a client about an enquiry; clients branch on it.
// An answer without one says nothing of what became of the enquiry, only of the
// request.
type Outcome string

// The outcomes. Their statuses are chosen so that a client that knows nothing
// of them does the safe thing.
const (
	Accepted   Outcome = "accepted"
	Queued     Outcome = "queued" // the words are sealed and durable, and delivery goes on
	Processing Outcome = "processing"
	Uncertain  Outcome = "uncertain"
	Conflict   Outcome = "conflict"
	Invalid    Outcome = "invalid"
	NotSent    Outcome = "not_sent"
	Unseen     Outcome = "unseen" // of receipts alone
)

// code names an entry of the catalogue: an outcome, or a refusal of the request.
type code string

const (
	notSentForGood code = "not_sent_for_good"
	notSentStopped code = "not_sent_stopped"
	notSentClosed  code = "not_sent_closed"
	notClaimed     code = "not_claimed"
	malformed      code = "malformed"
	badOrigin      code = "origin"
	unknownForm    code = "unknown_form"
	notFound       code = "not_found"
	wrongMethod    code = "method"
	tooLarge       code = "too_large"
	mediaType      code = "media_type"
	unavailable    code = "unavailable"
	broken         code = "internal"
)

// entry is one kind of answer, in a client's terms. Its words are in web/texts:
// answer.<code>_title and answer.<code>_detail.
type entry struct {
	outcome    Outcome // empty: a refusal of the request
	status     int
	retryable  bool // the same ID with the same content may be sent again
	safeNewID  bool // the ledger tells that a fresh ID cannot make a duplicate
	retryAfter time.Duration
}

// catalogue holds every answer that there is. docs/api.md shows each of them.
var catalogue = map[code]entry{
	code(Accepted):   {outcome: Accepted, status: http.StatusCreated},
	code(Queued):     {outcome: Queued, status: http.StatusAccepted},
	code(Processing): {outcome: Processing, status: http.StatusConflict, retryable: true, retryAfter: 3 * time.Second},
	code(Uncertain):  {outcome: Uncertain, status: http.StatusConflict},
	code(Conflict):   {outcome: Conflict, status: http.StatusConflict, safeNewID: true},
	code(Invalid):    {outcome: Invalid, status: http.StatusUnprocessableEntity},
	code(NotSent):    {outcome: NotSent, status: http.StatusServiceUnavailable, retryable: true, safeNewID: true, retryAfter: 10 * time.Second},
	notSentForGood:   {outcome: NotSent, status: http.StatusBadGateway, safeNewID: true},
	notSentStopped:   {outcome: NotSent, status: http.StatusBadGateway}, // an operator may allow another attempt
	notSentClosed:    {outcome: NotSent, status: http.StatusBadGateway, safeNewID: true},
	// another request under the same ID may have had more luck, so that a fresh
	// ID could make a duplicate
	notClaimed:   {outcome: NotSent, status: http.StatusServiceUnavailable, retryable: true, retryAfter: 10 * time.Second},
	code(Unseen): {outcome: Unseen, status: http.StatusNotFound, retryable: true},

	malformed:   {status: http.StatusBadRequest},
	badOrigin:   {status: http.StatusForbidden},
	unknownForm: {status: http.StatusNotFound},
	notFound:    {status: http.StatusNotFound},
	wrongMethod: {status: http.StatusMethodNotAllowed},
	tooLarge:    {status: http.StatusRequestEntityTooLarge},
	mediaType:   {status: http.StatusUnsupportedMediaType},
	unavailable: {status: http.StatusServiceUnavailable, retryable: true, retryAfter: 10 * time.Second},
	broken:      {status: http.StatusInternalServerError, retryable: true},
}

// recorded is the catalogue's entry for a row as the ledger has it.
func recorded(row ledger.Submission) code {
	switch {
	case row.Status == ledger.Accepted:
		return code(Accepted)
	case row.Status == ledger.Uncertain || row.Needs == ledger.NeedsDisputed:
		return code(Uncertain)
	case !row.Claim.IsZero() && !row.Policy.KeepsWords():
		return code(Processing)
	case !row.ClosedAt.IsZero():
		return notSentClosed
	case row.Needs == ledger.NeedsStopped:
		return notSentStopped
	case row.Policy == ledger.Hold && row.RefusedForGood():
		return notSentForGood
	case row.Policy.KeepsWords():
		return code(Queued)
	default:
		return code(NotSent)
	}
}
