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

// entry is one kind of answer, in a client's terms and in a visitor's words.
type entry struct {
	outcome    Outcome // empty: a refusal of the request
	status     int
	title      string
	sentence   string
	retryable  bool // the same ID with the same content may be sent again
	safeNewID  bool // the ledger tells that a fresh ID cannot make a duplicate
	retryAfter time.Duration
}

// catalogue holds every answer that there is. docs/api.md shows each of them.
var catalogue = map[code]entry{
	code(Accepted): {outcome: Accepted, status: http.StatusCreated,
		title: "Your message has been received", sentence: "Thank you. There is no need to send it again."},
	code(Processing): {outcome: Processing, status: http.StatusConflict, retryable: true, retryAfter: 3 * time.Second,
		title: "Your message is on its way", sentence: "It is being sent right now. Please look again in a moment; there is no need to send it a second time."},
	code(Uncertain): {outcome: Uncertain, status: http.StatusConflict,
		title: "Please check with us first", sentence: "Your message may or may not have reached us. Please check with us before you send it again, and tell us the reference."},
	code(Conflict): {outcome: Conflict, status: http.StatusConflict, safeNewID: true,
		title: "This is a different message", sentence: "A different message was sent under this number before. Nothing was sent now. If this is a new message, please send it as one."},
	code(Invalid): {outcome: Invalid, status: http.StatusUnprocessableEntity,
		title: "Please correct the form", sentence: "Nothing was sent now: some of the fields need another look."},
	code(NotSent): {outcome: NotSent, status: http.StatusServiceUnavailable, retryable: true, safeNewID: true, retryAfter: 10 * time.Second,
		title: "Your message was not sent", sentence: "Nothing has reached us, so it is safe to send it again."},
	notSentForGood: {outcome: NotSent, status: http.StatusBadGateway, safeNewID: true,
		title: "Your message was not sent", sentence: "Our mail system does not take it, and trying again would not help. Please contact us in another way."},
	notSentClosed: {outcome: NotSent, status: http.StatusBadGateway, safeNewID: true,
		title: "Your message was not sent", sentence: "We have closed the case. If it still matters to you, please write it anew."},
	// another request under the same ID may have had more luck, so that a fresh
	// ID could make a duplicate
	notClaimed: {outcome: NotSent, status: http.StatusServiceUnavailable, retryable: true, retryAfter: 10 * time.Second,
		title: "Please try again in a moment", sentence: "This attempt sent nothing, because our records could not be written. Please try again in a moment."},
	code(Unseen): {outcome: Unseen, status: http.StatusNotFound, retryable: true,
		title: "This message is not known here", sentence: "No message with this number has been recorded here. If you have just sent one, it has not arrived here yet."},

	malformed: {status: http.StatusBadRequest,
		title: "The request cannot be read", sentence: "The form's data could not be read."},
	badOrigin: {status: http.StatusForbidden,
		title: "This page may not send here", sentence: "This form does not take messages from the page that sent it. The owner of the form can add the page's address to its origins."},
	unknownForm: {status: http.StatusNotFound,
		title: "No such form", sentence: "There is no form at this address. Please check the address with the owner of the page."},
	notFound: {status: http.StatusNotFound,
		title: "Nothing here", sentence: "There is no page at this address."},
	wrongMethod: {status: http.StatusMethodNotAllowed,
		title: "Not possible here", sentence: "This address does not take this kind of request."},
	tooLarge: {status: http.StatusRequestEntityTooLarge,
		title: "Too large", sentence: "The message is larger than this form takes. Please go back and shorten it."},
	mediaType: {status: http.StatusUnsupportedMediaType,
		title: "Wrong kind of data", sentence: "The form was sent in a format that is not taken."},
	unavailable: {status: http.StatusServiceUnavailable, retryable: true, retryAfter: 10 * time.Second,
		title: "Please try again in a moment", sentence: "This attempt sent nothing, because our records cannot be reached right now. Please try again in a moment."},
	broken: {status: http.StatusInternalServerError, retryable: true,
		title: "Something went wrong on our side", sentence: "Something went wrong on our side. Please try again; if your message had already reached us, it will not be sent twice."},
}

// recorded is the catalogue's entry for a row as the ledger has it.
func recorded(row ledger.Submission) code {
	switch {
	case row.Status == ledger.Accepted:
		return code(Accepted)
	case row.Status == ledger.Uncertain || row.Needs == ledger.NeedsDisputed:
		return code(Uncertain)
	case !row.Claim.IsZero():
		return code(Processing)
	case !row.ClosedAt.IsZero():
		return notSentClosed
	case row.Needs == ledger.NeedsStopped, row.RefusedForGood():
		return notSentForGood
	default:
		return code(NotSent)
	}
}
