package handlers

import (
	"fmt"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

func TestAnEnquiryIsSentAndItsRepeatIsNot(t *testing.T) {
	k := newKit(t)
	id := newID()
	first := k.post(words(id))
	first.want(t, 201, Accepted)
	if got, want := first.header.Get("Location"), "/receipts/"+id.String(); got != want {
		t.Errorf("Location is %q, want %q", got, want)
	}
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("a first answer is marked as a replay")
	}
	again := k.post(words(id))
	again.want(t, 200, Accepted)
	if again.header.Get("Idempotent-Replayed") != "true" || again.body.Receipt != first.body.Receipt {
		t.Errorf("a repeat is answered with %v %s", again.header, again.text)
	}
	k.wantMails(1)
}

func TestPromise3_OtherContentUnderOneIDIsAConflict(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.post(words(id)).want(t, 201, Accepted)
	other := words(id)
	other["message"] = "Something else"
	k.post(other).want(t, 409, Conflict)
	k.post(other).want(t, 409, Conflict)
	k.wantMails(1)
	events, err := k.ledger.Events(t.Context(), id)
	must(t, err)
	if len(events) != 1 || events[0].Kind != ledger.EventConflict || events[0].Times != 2 {
		t.Errorf("two conflicts are on record as %+v", events)
	}
}

// A conflict must not tell a stranger what became of the enquiry.
func TestAConflictDoesNotDependOnTheRow(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	k.post(words(id)).want(t, 503, NotSent)
	other := words(id)
	other["name"] = "Eve"
	released := k.post(other)
	k.far.answering(relay.UnknownAfter("lost", "answer"))
	k.post(words(id)).want(t, 409, Uncertain)
	uncertain := k.post(other)
	if released.text != uncertain.text || released.status != uncertain.status {
		t.Errorf("conflicts differ:\n%s\n%s", released.text, uncertain.text)
	}
}

func TestAMissingFieldIsNamedAndNothingIsRecorded(t *testing.T) {
	k := newKit(t)
	id := newID()
	bad := words(id)
	delete(bad, "email")
	r := k.post(bad)
	r.want(t, 422, Invalid)
	if len(r.body.Errors) != 1 || r.body.Errors[0].Field != "email" || r.body.Errors[0].Message == "" {
		t.Errorf("the errors are %+v", r.body.Errors)
	}
	k.receipt(id).want(t, 404, Unseen)
	k.post(words(id)).want(t, 201, Accepted) // the ID stayed free
}

func TestOneEnquiryInEveryEncodingIsOneMail(t *testing.T) {
	k := newKit(t)
	id := newID()
	fields := formWords(id)
	contentType, multi := multipartOf(t, fields)
	fields.Set("message", "Hello\nthere")
	lf := fields.Encode()
	fields.Set("message", "Hello\r\nthere")
	fields["services"] = []string{"Repair", "Advice", "Repair"}
	k.post(words(id)).want(t, 201, Accepted)
	for _, try := range []struct{ kind, content string }{
		{formType, lf}, {formType, fields.Encode()}, {contentType, multi},
		{jsonType, strings.ReplaceAll(toJSON(words(id)), `\n`, `\r\n`)},
	} {
		k.do("POST", "/f/contact", try.kind, try.content).want(t, 200, Accepted)
	}
	k.wantMails(1)
}

func multipartOf(t *testing.T, v url.Values) (contentType, content string) {
	t.Helper()
	var b strings.Builder
	w := multipart.NewWriter(&b)
	for name, values := range v {
		for _, value := range values {
			must(t, w.WriteField(name, value))
		}
	}
	must(t, w.Close())
	return w.FormDataContentType(), b.String()
}

func TestTheIDMayStandInTheHeader(t *testing.T) {
	k := newKit(t)
	for _, quoted := range []bool{false, true} {
		id := newID()
		fields := words(id)
		delete(fields, "submission_id")
		key := id.String()
		if quoted {
			key = `"` + key + `"`
		}
		k.post(fields, "Idempotency-Key", key).want(t, 201, Accepted)
		k.post(words(id)).want(t, 200, Accepted)
	}
}

func TestOnlyOneProperIDIsTaken(t *testing.T) {
	k := newKit(t)
	for _, bad := range []string{"1", "urn:uuid:" + newID().String(), "{" + newID().String() + "}",
		uuid.Nil.String(), uuid.Max.String(), strings.ReplaceAll(newID().String(), "-", "")} {
		fields := words(newID())
		fields["submission_id"] = bad
		if r := k.post(fields); r.status != 400 || r.body.Outcome != "" {
			t.Errorf("the ID %q is answered with %d %s", bad, r.status, r.text)
		}
	}
	if r := k.post(words(newID()), "Idempotency-Key", newID().String()); r.status != 400 {
		t.Errorf("two different IDs are answered with %d", r.status)
	}
	upper := words(newID())
	upper["submission_id"] = strings.ToUpper(newID().String())
	k.post(upper).want(t, 201, Accepted)
	k.wantMails(1)
}

func TestEveryVerdictHasItsAnswer(t *testing.T) {
	permanent := relay.ProvenNotSent("refused", "data")
	permanent.Permanent = true
	for name, c := range map[string]struct {
		verdict relay.Verdict
		status  int
		outcome Outcome
		retry   bool
	}{
		"not sent":          {relay.ProvenNotSent("down", "dial"), 503, NotSent, true},
		"not sent for good": {permanent, 502, NotSent, false},
		"unknown":           {relay.UnknownAfter("lost", "dot"), 409, Uncertain, false},
		"the zero value":    {relay.Verdict{}, 409, Uncertain, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := newID()
			k.far.answering(c.verdict)
			r := k.post(words(id))
			r.want(t, c.status, c.outcome)
			if r.body.Retryable != c.retry || (r.header.Get("Retry-After") != "") != c.retry {
				t.Errorf("retryable is %v, Retry-After %q", r.body.Retryable, r.header.Get("Retry-After"))
			}
			if got := k.receipt(id).body; got.Outcome != c.outcome || got.Retryable != r.body.Retryable {
				t.Errorf("the answer and its receipt differ: %s, %+v", r.text, got)
			}
			if r.body.Contact != "Call 030 901820" || r.body.Reference != ledger.ReferenceOf(id) {
				t.Errorf("contact and reference are missing: %s", r.text)
			}
		})
	}
}

func TestPromise6_WhatWasNotSentMayBeSentAgainOnce(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	k.post(words(id)).want(t, 503, NotSent)
	k.receipt(id).want(t, 200, NotSent)
	k.far.well()
	k.post(words(id)).want(t, 201, Accepted)
	k.post(words(id)).want(t, 200, Accepted)
	k.wantMails(1)
	if got := k.row(id).Claims; got != 2 {
		t.Errorf("%d claims were granted, want 2", got)
	}
}

func TestPromise5_ARepeatOfAnUncertainEnquirySendsNothing(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	k.post(words(id)).want(t, 409, Uncertain)
	k.far.well()
	for range 3 {
		r := k.post(words(id))
		r.want(t, 409, Uncertain)
		if r.header.Get("Retry-After") != "" {
			t.Error("an uncertain answer invites to try again")
		}
	}
	if k.far.count() != 1 {
		t.Errorf("%d calls were made, want 1", k.far.count())
	}
}

func TestTheMessageIsTheSameOnEveryAttempt(t *testing.T) {
	k := newKit(t)
	var seen []relay.Mail
	k.far.set(func(f *farEnd) {
		f.instead = func(m relay.Mail) *relay.Verdict {
			seen = append(seen, m)
			v := relay.ProvenNotSent("down", "dial")
			return &v
		}
	})
	id := newID()
	k.post(words(id)).want(t, 503, NotSent)
	k.clock.move(time.Hour)
	k.post(words(id)).want(t, 503, NotSent)
	k.post(words(newID())).want(t, 503, NotSent)
	if string(seen[0].Bytes) != string(seen[1].Bytes) {
		t.Errorf("two attempts differ:\n%s\n%s", seen[0].Bytes, seen[1].Bytes)
	}
	if seen[0].MessageID == seen[2].MessageID {
		t.Error("two enquiries share a Message-ID")
	}
	if seen[0].Claim == seen[1].Claim {
		t.Error("two attempts share a claim")
	}
}

func TestTheMailHasTheVisitorOnlyInReplyTo(t *testing.T) {
	k := newKit(t)
	k.post(words(newID())).want(t, 201, Accepted)
	m := k.mails()[0].Header
	got := fmt.Sprint(m.Get("From"), "|", m.Get("To"), "|", m.Get("Reply-To"))
	if want := `"Website" <website@example.com>|<office@example.com>, <boss@example.com>|<ada@example.org>`; got != want {
		t.Errorf("the mail's addresses are\n%s, want\n%s", got, want)
	}
}

func TestPromise8_TheLogHoldsNothingOfTheEnquiry(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.post(words(id), "X-Forwarded-For", "198.51.100.7", "User-Agent", "Canary/1").want(t, 201, Accepted)
	k.receipt(id).want(t, 200, Accepted)
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	other := words(newID())
	other["message"] = "canary"
	k.post(other)
	for _, secret := range []string{"Ada", "ada@", "Hello", "canary", "Canary", "198.51", "127.0.0.1", id.String()} {
		if strings.Contains(k.logs.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, k.logs)
		}
	}
	if !strings.Contains(k.logs.String(), string(ledger.ReferenceOf(id))) {
		t.Error("the log does not name the reference")
	}
}
