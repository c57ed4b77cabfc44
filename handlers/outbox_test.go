package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func ada(id any) map[string]any {
	return map[string]any{"submission_id": id, "name": "Ada", "email": "ada@example.org", "message": "canary-4711"}
}

func TestAVisitorUsuallySeesAcceptedUnderQueueAndRetryToo(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k, id := newKit(t, under(p)), newID()
		if r := k.post(ada(id)); r.status != http.StatusCreated || r.body.Outcome != Accepted {
			t.Errorf("%d %s", r.status, r.text)
		}
		if r := k.post(ada(id)); r.status != http.StatusOK || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the repeat: %d %s", r.status, r.text)
		}
		other := ada(id)
		other["message"] = "something else"
		if r := k.post(other); r.body.Outcome != Conflict {
			t.Errorf("other content: %d %s", r.status, r.text)
		}
		k.wantMails(1)
		if row := k.row(id); row.Policy != p || row.Claims != 1 {
			t.Errorf("the row is %+v", row)
		}
	}, ledger.Queue, ledger.Retry)
}

// The relay is down: nothing is lost, the visitor is told so, and the message
// arrives by itself.
func TestAVisitorIsToldQueuedWhileTheRelayIsDown(t *testing.T) {
	k, id := newKit(t, under(ledger.Queue)), newID()
	k.far.answering(down)
	for range 3 {
		r := k.post(ada(id))
		if r.status != http.StatusAccepted || r.body.Outcome != Queued || r.body.SafeNewID || r.body.Retryable {
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	if r := k.receipt(id); r.body.Outcome != Queued {
		t.Errorf("the receipt: %d %s", r.status, r.text)
	}
	k.far.well()
	k.later(time.Hour)
	eventually(t, "it has arrived", func() bool { return k.receipt(id).body.Outcome == Accepted })
	k.wantMails(1)
	if row := k.row(id); row.Attempts != 0 {
		t.Errorf("the row is %+v", row)
	}
	if strings.Contains(k.logs.String(), "canary") {
		t.Error("the log holds words")
	}
}

func TestAPageThatWasQueuedIsAReceipt(t *testing.T) {
	k, id := newKit(t, under(ledger.Queue)), newID()
	k.far.answering(down)
	r := k.postForm(url.Values{"submission_id": {id.String()}, "name": {"Ada"}, "email": {"ada@example.org"}, "message": {"canary-4711"}})
	if r.status != http.StatusSeeOther || r.header.Get("Location") != "/receipts/"+id.String() {
		t.Errorf("%d %v", r.status, r.header)
	}
	page := k.do("GET", "/receipts/"+id.String(), "", "", "Accept", "text/html")
	if !strings.Contains(page.text, "Your message is on its way") || strings.Contains(page.text, "canary") {
		t.Errorf("the page: %s", page.text)
	}
}

// A repeat under queue waits for the back-off; it neither hastens nor delays it.
func TestARepeatUnderQueueUsesUpNoAttempt(t *testing.T) {
	k, id := newKit(t, under(ledger.Queue)), newID()
	k.far.answering(refusal)
	for range 10 {
		if r := k.post(ada(id)); r.body.Outcome != Queued {
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	if row := k.row(id); row.Attempts != 1 {
		t.Errorf("%d attempts", row.Attempts)
	}
}

func TestWhatTheVisitorIsToldOnceTheCourierGaveUp(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k, id := newKit(t, under(p)), newID()
		gone := refusal
		gone.Permanent = true
		k.far.answering(gone)
		for range 2 {
			r := k.post(ada(id))
			if r.status != http.StatusBadGateway || r.body.Outcome != NotSent || r.body.SafeNewID || r.body.Retryable {
				t.Errorf("%d %s", r.status, r.text)
			}
		}
		if row := k.row(id); row.Needs != ledger.NeedsStopped || k.far.count() != 1 {
			t.Errorf("%d calls, row %+v", k.far.count(), row)
		}
		if page := k.do("GET", "/receipts/"+id.String(), "", "", "Accept", "text/html"); strings.Contains(page.text, "/f/contact") {
			t.Error("the receipt offers to write again, although an operator may still send this one")
		}
	}, ledger.Queue, ledger.Retry)
}

func TestUnknownIsUncertainUnderQueueAndGoesOnUnderRetry(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k, id := newKit(t, under(p)), newID()
		k.far.answering(unknown)
		want, calls := Uncertain, 1
		if p == ledger.Retry {
			want, calls = Queued, 2
		}
		for range 2 {
			if r := k.post(ada(id)); r.body.Outcome != want {
				t.Errorf("%d %s", r.status, r.text)
			}
		}
		if k.far.count() != calls {
			t.Errorf("%d calls, want %d", k.far.count(), calls)
		}
	}, ledger.Queue, ledger.Retry)
}

// A store that may have happened is never called "not sent", whatever the ledger
// said, and a fresh ID is never called safe.
func TestPromise6_AStoreThatErrsIsNeverCalledNotSent(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k, id := newKit(t, under(ledger.Queue), func(o *options) { o.timing.Answer = time.Second }), newID()
			k.ledger.Fail("Store", when, -1)
			r := k.post(ada(id))
			if r.status != http.StatusConflict || r.body.Outcome != Processing || r.body.SafeNewID {
				t.Errorf("%d %s", r.status, r.text)
			}
			k.ledger.Heal()
			eventually(t, "the same ID is accepted", func() bool { return k.post(ada(id)).body.Outcome == Accepted })
			k.wantMails(1)
		})
	}
}

// The policy is copied into a row, and editing the form does not change it.
func TestOldRowsKeepTheirPolicy(t *testing.T) {
	file := t.TempDir() + "/ledger.db"
	at := func(o *options) { o.ledger = file }
	stored, released := newID(), newID()
	t.Run("before", func(t *testing.T) {
		k := newKit(t, at, under(ledger.Queue))
		k.far.answering(down)
		k.post(ada(stored))
	})
	t.Run("another policy", func(t *testing.T) {
		k := newKit(t, at)
		k.far.answering(refusal)
		if r := k.post(ada(released)); r.body.Outcome != NotSent {
			t.Errorf("%d %s", r.status, r.text)
		}
		k.far.well()
		k.later(time.Hour)
		eventually(t, "the stored one arrives", func() bool { return k.post(ada(stored)).body.Outcome == Accepted })
		if row := k.row(stored); row.Policy != ledger.Queue {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("and back", func(t *testing.T) {
		k := newKit(t, at, under(ledger.Retry))
		if r := k.post(ada(released)); r.body.Outcome != Accepted {
			t.Errorf("%d %s", r.status, r.text)
		}
		if row := k.row(released); row.Policy != ledger.Hold {
			t.Errorf("the row is %+v", row)
		}
		k.wantMails(1)
	})
}

// A repeat that finds the courier at work gets its outcome.
func TestARepeatWaitsForTheCouriersOutcome(t *testing.T) {
	k, id := newKit(t, under(ledger.Queue)), newID()
	k.holdCalls()
	answers := make(chan reply, 2)
	ask := func() { r, _ := k.try("POST", "/f/contact", jsonType, toJSON(ada(id))); answers <- r }
	go ask()
	<-k.far.arrived
	go ask()
	eventually(t, "both wait", func() bool { return k.waiters() == 2 })
	close(k.far.gate)
	for range 2 {
		if r := <-answers; r.body.Outcome != Accepted {
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	k.wantMails(1)
}

// The answer comes in time although the send takes longer, and says what is true.
func TestASlowSendUnderQueueIsQueuedForTheVisitor(t *testing.T) {
	k, id := newKit(t, under(ledger.Queue), func(o *options) { o.timing.Answer = 300 * time.Millisecond }), newID()
	k.holdCalls()
	if r := k.post(ada(id)); r.status != http.StatusAccepted || r.body.Outcome != Queued {
		t.Errorf("%d %s", r.status, r.text)
	}
	close(k.far.gate)
	eventually(t, "it is accepted", func() bool { return k.receipt(id).body.Outcome == Accepted })
	k.wantMails(1)
}
