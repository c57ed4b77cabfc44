package server

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"formledger/relay"
	"formledger/relay/signed"
)

// row is what the relay knows of one claim. Times are in milliseconds UTC.
type row struct {
	claim, caller string
	id            uuid.UUID
	hash          string
	status        signed.Status
	holder        string
	recipients    int
	earlier       string
	receipt       string
	partly        bool
	permanent     bool
	code, stage   string
	conversation  string
	created       int64
	leaseUntil    int64
	updated       int64
}

// fields are where the columns are read to, and written from.
func (r *row) fields() []any {
	return []any{&r.claim, &r.caller, &r.id, &r.hash, &r.status, &r.holder, &r.recipients, &r.earlier, &r.receipt,
		&r.partly, &r.permanent, &r.code, &r.stage, &r.conversation, &r.created, &r.leaseUntil, &r.updated}
}

// lapsed reports whether the holder's time is over and nobody knows how it ended.
func (r row) lapsed(now time.Time) bool {
	return r.status == signed.StatusProcessing && r.leaseUntil < now.UnixMilli()
}

// same reports whether a row is that of the claim as it is asked for.
func (r row) same(asked row) bool {
	return r.caller == asked.caller && r.id == asked.id && r.hash == asked.hash
}

// Most bytes of what a sender says that are kept. In JSON one byte can become
// six, and an answer has to stay below signed.MaxAnswer.
const (
	maxConversation = 8 << 10
	maxReceipt      = 1 << 10
	maxCause        = 64
)

// ended is the row as a verdict leaves it. As in the ledger, a conversation is
// kept only where somebody has to look into it.
func (r row) ended(v relay.Verdict) row {
	r.code, r.stage = cut(v.Cause.Code, maxCause), cut(v.Cause.Stage, maxCause)
	r.conversation = cut(v.Conversation, maxConversation)
	switch v.Finding {
	case relay.Accepted:
		r.status, r.receipt, r.partly = signed.StatusAccepted, cut(v.Receipt, maxReceipt), v.Partly
		r.code, r.stage = "", ""
		if !v.Partly {
			r.conversation = ""
		}
	case relay.NotSent:
		r.status, r.permanent = signed.StatusRefused, v.Permanent
	default:
		r.status = signed.StatusUncertain
	}
	return r
}

// cut shortens a text to so many bytes, and drops what is not UTF-8.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// refuse turns a row into one that proves that nothing was sent.
func (r *row) refuse(why refusal) {
	r.release(signed.StatusRefused)
	r.code, r.permanent = why.code, why.permanent
}

// release takes the right to send away.
func (r *row) release(status signed.Status) {
	r.status, r.holder, r.recipients, r.leaseUntil = status, "", 0, 0
}
