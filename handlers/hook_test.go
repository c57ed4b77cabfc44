package handlers

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func TestAPaidOrderIsOneMailToTheCustomer(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k := newKit(t, takesOrders(p))
		for i := range 3 {
			r := k.webhook(orderEvent([]string{"order.paid", "order.paid", "order.completed"}[i], "o-1", "grace@example.org"))
			if r.status != http.StatusOK || r.body.Outcome != Accepted || r.body.ID != "" || r.body.Receipt != "" || r.body.Reference == "" {
				t.Errorf("event %d: %d %s", i, r.status, r.text)
			}
		}
		k.wantMails(1)
		m := k.mails()[0]
		words, err := io.ReadAll(m.Body)
		must(t, err)
		text := string(words)
		if got := m.Header.Get("To"); !strings.Contains(got, "grace@example.org") || m.Header.Get("Reply-To") != "" {
			t.Errorf("To: %s, Reply-To: %s", got, m.Header.Get("Reply-To"))
		}
		if !strings.Contains(text, "Hello Grace,") || !strings.Contains(text, "https://shop.example.com/d/4711") {
			t.Errorf("the mail says %q", text)
		}
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

func TestTwoSimultaneousIdenticalWebhooksSendOneMail(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k, body := newKit(t, takesOrders(p)), order("o-1", "grace@example.org")
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				r, err := k.try("POST", "/hooks/orders", jsonType, body, "X-Signature", signatureOf(body))
				if err != nil || r.status/100 != 2 {
					t.Errorf("%d %s %v", r.status, r.text, err)
				}
			})
		}
		all.Wait()
		k.wantMails(1)
		k.wantRow(ledger.Accepted, "")
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

func TestAFailedSendAnswers5xxAndReleasesTheClaim(t *testing.T) {
	k, body := newKit(t, takesOrders(ledger.Retry)), order("o-1", "grace@example.org")
	k.far.answering(refusal)
	if r := k.webhook(body); r.status != http.StatusServiceUnavailable || r.body.Outcome != Queued || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.status, r.text)
	}
	if row := k.wantRow(ledger.Processing, ""); !row.Waiting() || row.Attempts != 1 {
		t.Errorf("the row is %+v", row)
	}
	k.far.well()
	if r := k.webhook(body); r.status != http.StatusOK {
		t.Errorf("the provider's next try: %d %s", r.status, r.text)
	}
	k.wantMails(1)
}

// With queue, what is stored is as good as delivered: the provider may stop.
func TestAWebhookUnderQueueIsTakenOnceItIsStored(t *testing.T) {
	k, body := newKit(t, takesOrders(ledger.Queue)), order("o-1", "grace@example.org")
	k.far.answering(down)
	if r := k.webhook(body); r.status != http.StatusAccepted || r.body.Outcome != Queued {
		t.Errorf("%d %s", r.status, r.text)
	}
	k.far.well()
	k.later(time.Hour)
	eventually(t, "it has arrived", func() bool { return k.orderRow().Status == ledger.Accepted })
	k.wantMails(1)
}

func TestEightRecordedFailuresBlockTheWebhookToo(t *testing.T) {
	k, body := newKit(t, takesOrders(ledger.Retry)), order("o-1", "grace@example.org")
	k.far.answering(refusal)
	for i := range 12 {
		r := k.webhook(body)
		want := http.StatusServiceUnavailable
		if i >= 7 {
			want = http.StatusBadGateway
		}
		if r.status != want {
			t.Errorf("try %d: %d %s", i+1, r.status, r.text)
		}
	}
	if row := k.wantRow(ledger.Processing, ledger.NeedsStopped); row.Attempts != 8 || k.far.count() != 8 {
		t.Errorf("%d calls, row %+v", k.far.count(), row)
	}
}

func TestARepeatWithAnotherAddressIsRefusedAndPutBeforeTheOperator(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k := newKit(t, takesOrders(p))
		k.webhook(order("o-1", "grace@example.org"))
		for range 3 {
			if r := k.webhook(order("o-1", "mallory@example.org")); r.status != http.StatusConflict || r.body.Outcome != Conflict {
				t.Errorf("%d %s", r.status, r.text)
			}
		}
		k.wantMails(1)
		row := k.wantRow(ledger.Accepted, ledger.NeedsDisputed)
		events, err := k.ledger.Events(t.Context(), row.ID)
		must(t, err)
		if len(events) != 2 || events[0].Times+events[1].Times != 4 {
			t.Errorf("the record: %+v", events)
		}
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

func TestAWebhookThatIsNotVerifiedLeavesNothing(t *testing.T) {
	k, body := newKit(t, takesOrders(ledger.Queue)), order("o-1", "grace@example.org")
	for name, r := range map[string]reply{
		"no signature": k.do("POST", "/hooks/orders", jsonType, body),
		"forged":       k.do("POST", "/hooks/orders", jsonType, body, "X-Signature", strings.Repeat("ab", 32)),
		"altered":      k.do("POST", "/hooks/orders", jsonType, order("o-1", "mallory@example.org"), "X-Signature", signatureOf(body)),
		"no JSON":      k.do("POST", "/hooks/orders", jsonType, "hello", "X-Signature", signatureOf("hello")),
		"no order":     k.webhook(`{"type":"order.paid"}`),
		"invalid":      k.webhook(`{"type":"order.paid","order":{"id":"1","email":"grace@example.org","link":"no link"}}`),
		"ignored":      k.webhook(orderEvent("order.refunded", "o-1", "grace@example.org")),
		"no such form": k.do("POST", "/hooks/contact", jsonType, body, "X-Signature", signatureOf(body)),
		"too large":    k.webhook(strings.Repeat(" ", 70_000)),
	} {
		want := map[string]int{"no JSON": 422, "no order": 422, "invalid": 422, "ignored": 200, "no such form": 404, "too large": 413}[name]
		if want == 0 {
			want = http.StatusUnauthorized
		}
		if r.status != want || strings.Contains(r.text, "grace") {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
	rows, err := k.ledger.List(t.Context(), ledger.Filter{})
	if must(t, err); len(rows) != 0 || k.far.count() != 0 {
		t.Errorf("%d rows, %d calls", len(rows), k.far.count())
	}
	if strings.Contains(k.logs.String(), "grace") || strings.Contains(k.logs.String(), hookSecret) {
		t.Error("the log holds content or the secret")
	}
}

// An order's row is its provider's business: its ID cannot be guessed, and whoever
// has it can neither read nor squat it.
func TestNobodyReachesAnOrderThroughTheVisitorsDoors(t *testing.T) {
	k := newKit(t, takesOrders(ledger.Queue))
	k.webhook(order("o-1", "grace@example.org"))
	row := k.wantRow(ledger.Accepted, "")
	if r := k.receipt(row.ID); r.status != http.StatusNotFound || r.body.Outcome != Unseen {
		t.Errorf("the receipt: %d %s", r.status, r.text)
	}
	if seen, unseen := k.receipt(row.ID), k.receipt(newID()); len(seen.text) != len(unseen.text) {
		t.Errorf("the receipt of an order differs from none: %s, %s", seen.text, unseen.text)
	}
	for _, path := range []string{"/f/orders", "/f/orders?submission_id=" + row.ID.String()} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			if r := k.do(method, path, formType, url.Values{"name": {"Eve"}}.Encode()); r.status != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, path, r.status)
			}
		}
	}
	if r := k.post(ada(row.ID)); r.body.Outcome != Conflict {
		t.Errorf("posting under an order's ID: %d %s", r.status, r.text)
	}
	k.wantMails(1)
}

// A rotation of the payload keys does not make an order another one.
func TestAnOrderIsRecognisedAfterARotationOfTheKeys(t *testing.T) {
	file := t.TempDir() + "/ledger.db"
	at := func(o *options) { o.ledger = file }
	t.Run("before", func(t *testing.T) {
		newKit(t, at, takesOrders(ledger.Hold)).webhook(order("o-1", "grace@example.org"))
	})
	t.Run("after", func(t *testing.T) {
		k := newKit(t, at, takesOrders(ledger.Hold), func(o *options) {
			o.keys = strings.Replace(oneKey, "use", "verify", 1) + strings.Replace(otherKey, "verify", "use", 1)
		})
		if r := k.webhook(order("o-1", "grace@example.org")); r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.text)
		}
		k.wantMails(0)
	})
}

// The answer to a provider whose store may have happened is never 2xx, nor "not sent".
func TestAWebhookWhoseStoreErredIsSentAgainByItsProvider(t *testing.T) {
	k, body := newKit(t, takesOrders(ledger.Queue), func(o *options) { o.timing.Answer = time.Second }), order("o-1", "grace@example.org")
	k.ledger.Fail("Store", ledgertest.After, -1)
	if r := k.webhook(body); r.status != http.StatusServiceUnavailable || r.body.Outcome != Processing {
		t.Errorf("%d %s", r.status, r.text)
	}
	k.ledger.Heal()
	eventually(t, "it is accepted", func() bool { return k.webhook(body).status == http.StatusOK })
	k.wantMails(1)
}
