//go:build linux

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"formledger/ledger"
	"formledger/relay/smtp/smtptest"
)

const orderForm = `
[[form]]
name = "orders"
intake = "webhook"
policy = %q
from = "Shop <form@shop.example>"
subject = "Your order"
contact = "Call us on 01234 567890."

[form.webhook]
scheme = "hmac"
header = "X-Signature"
secrets_file = "orders.secret"
order_path = "order.id"
to_path = "order.email"
template_file = "orders.mail"

[[form.field]]
name = "name"
kind = "text"
path = "order.name"
rules = "required"

[[form.field]]
name = "link"
kind = "url"
path = "order.link"
`

const orderSecret = "a secret of sixteen bytes and more"

// newShopSite takes a shop's orders, and mails each customer a link.
func newShopSite(t *testing.T, timing string, policy ledger.Policy) *site {
	t.Helper()
	takesTurn(t)
	server := smtptest.New(t, smtptest.Plain)
	s := newMailSite(t, timing, server)
	must(t, os.WriteFile(filepath.Join(s.dir, "orders.secret"), []byte(orderSecret+"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(s.dir, "orders.mail"), []byte("Hello {{.name}},\nyour download: {{.link}}\n"), 0o600))
	s.form = fmt.Sprintf(orderForm, policy)
	s.configure(timing)
	return s
}

// order is the body of a webhook.
func order(id, email string) string {
	return fmt.Sprintf(`{"order":{"id":%q,"email":%q,"name":"Grace","link":"https://shop.example/d/%[1]s"}}`, id, email)
}

// webhook posts a body with the shop's signature.
func webhook(base, body string) (answer, error) {
	q, err := http.NewRequest(http.MethodPost, base+"/hooks/orders", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	mac := hmac.New(sha256.New, []byte(orderSecret))
	mac.Write([]byte(body))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	return fetch(q)
}

func (p *process) webhook(body string) answer {
	p.t.Helper()
	a, err := webhook(p.base, body)
	must(p.t, err)
	return a
}

// delivers repeats a webhook, as a provider does, until the answer is a 2xx.
func (p *process) delivers(body string) answer {
	p.t.Helper()
	var a answer
	eventually(p.t, func() error {
		if a = p.webhook(body); a.Status/100 != 2 {
			return fmt.Errorf("got %v, want a 2xx", a)
		}
		return nil
	})
	return a
}

// anotherOrder is one of its own each time.
func anotherOrder(base string) (answer, error) {
	return webhook(base, order(newWords().ID.String(), "someone@customer.example"))
}

// atOnce posts the same webhook many times at once, spread over the processes.
func atOnce(n int, on []*process, body string) []attempt {
	got := make([]attempt, n)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i].answer, got[i].err = webhook(on[i%len(on)].base, body) })
	}
	all.Wait()
	return got
}

// One order comes twice at the same time, once to each process, and then sixteen
// times: one mail each.
func TestSimultaneousIdenticalWebhooksToTwoProcessesSendOneMail(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s := newShopSite(t, patient, policy)
		s.server.Start()
		on := s.two()
		for i, n := range []int{2, 16, 2} {
			body := order(fmt.Sprint("o-", i), "grace@customer.example")
			for j, got := range atOnce(n, on, body) {
				must(t, got.err)
				if got.answer.Status/100 != 2 { // it did not wait long enough
					on[j%2].delivers(body)
				}
			}
			row := s.rows()[i]
			s.becomesAccepted(row.ID)
			s.left()
			s.wantMails(i + 1)
			if row := s.row(row.ID); row.Claims != 1 || row.Policy != policy {
				t.Errorf("the row is %+v", row)
			}
			if a := on[i%2].webhook(body); a.Status != http.StatusOK || a.Reference != string(row.Reference) || a.ID != "" {
				t.Errorf("a late repeat: %v", a)
			}
		}
		s.sessions(3, 3)
		s.needsNobody()
		s.keepsNothing()
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

// The mail takes longer than a provider is let wait. It is told to come again, but
// under queue, and finds the order sent.
func TestAWebhookThatDidNotWaitLongEnoughFindsTheOrderSent(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s, goOn := newShopSite(t, strings.Replace(idle, `answer = "5s"`, `answer = "300ms"`, 1), policy), make(chan struct{})
		s.server.Patch = func(line, usual string) string {
			if line == "." {
				<-goOn
			}
			return usual
		}
		s.server.Start()
		release := sync.OnceFunc(func() { close(goOn) })
		t.Cleanup(release)
		on, body := s.two(), order("o-1", "grace@customer.example")
		want := http.StatusServiceUnavailable
		if policy == ledger.Queue {
			want = http.StatusAccepted
		}
		for _, got := range atOnce(4, on, body) {
			must(t, got.err)
			if got.answer.Status != want || want == http.StatusServiceUnavailable && got.answer.Header.Get("Retry-After") == "" {
				t.Errorf("got %v, want %d", got.answer, want)
			}
		}
		release()
		on[1].delivers(body)
		s.becomesAccepted(s.rows()[0].ID)
		s.sessions(1, 1)
		s.needsNobody()
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

// The mail server refuses for now: the provider is told so, the claim is given
// back, and the repeat to the other process sends the mail.
func TestAFailedSendAnswers5xxAndTheRepeatToTheOtherProcessSendsIt(t *testing.T) {
	for policy, outcome := range map[ledger.Policy]string{ledger.Hold: "not_sent", ledger.Retry: "queued"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newShopSite(t, idle, policy)
			s.server.Ends(smtptest.Rcpt, "4xx")
			s.server.Start()
			on, body := s.two(), order("o-1", "grace@customer.example")
			a := on[0].webhook(body)
			if !a.is(http.StatusServiceUnavailable, outcome) || a.Header.Get("Retry-After") == "" {
				t.Errorf("got %v, want 503 %s", a, outcome)
			}
			row := s.rows()[0]
			if !row.Claim.IsZero() || row.Status != ledger.Processing || row.Needs != "" || row.Doubted || !strings.HasSuffix(row.LastError, "smtp_451@rcpt") {
				t.Errorf("the row is %+v", row)
			}
			s.sessions(1, 0)
			s.server.Ends("", "")
			if a := on[1].webhook(body); a.Status/100 != 2 || a.Outcome != "accepted" {
				t.Errorf("the repeat got %v", a)
			}
			s.sessions(2, 1)
			s.needsNobody()
			if heard := strings.Join(s.server.Heard(), "\n"); !strings.Contains(heard, "RCPT TO:<grace@customer.example>") {
				t.Errorf("the mail server heard\n%s", heard)
			}
		})
	}
}

// Under queue the provider may stop: the message is durable, and is sent by itself.
func TestAFailedSendOfAWebhookUnderQueueIsTriedAgainByItself(t *testing.T) {
	t.Parallel()
	s := newShopSite(t, hasty, ledger.Queue)
	s.server.Patch = refusing("RCPT", 2)
	s.server.Start()
	on := s.two()
	on[0].delivers(order("o-1", "grace@customer.example"))
	row := s.becomesAccepted(s.rows()[0].ID)
	if row.Attempts != 2 || row.Claims != 3 {
		t.Errorf("the row is %+v", row)
	}
	s.sessions(3, 1)
	s.needsNobody()
}

// refusing answers a command with a 451 for the first times.
func refusing(command string, times int) func(line, usual string) string {
	var mu sync.Mutex
	return func(line, usual string) string {
		mu.Lock()
		defer mu.Unlock()
		if times == 0 || !strings.HasPrefix(line, command) {
			return usual
		}
		times--
		return "451 4.3.0 not now\r\n"
	}
}

// An order comes again with another address. It is refused by both processes and
// put before the operator, and the first customer's mail is the only one.
func TestARepeatWithAnotherAddressIsRefusedByBothProcesses(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s := newShopSite(t, hasty, policy)
		s.server.Start()
		on := s.two()
		first := on[0].delivers(order("o-1", "grace@customer.example"))
		s.becomesAccepted(s.rows()[0].ID)
		for _, p := range []*process{on[1], on[0], on[1]} {
			if a := p.webhook(order("o-1", "mallory@elsewhere.example")); !a.is(http.StatusConflict, "conflict") {
				t.Errorf("got %v, want a conflict", a)
			}
		}
		s.needs(first.Reference, ledger.NeedsDisputed)
		row := s.rows()[0]
		if conflicts := s.events(row.ID, ledger.EventConflict); len(conflicts) != 1 || conflicts[0].Times != 3 {
			t.Errorf("the record says %+v", conflicts)
		}
		if row.Status != ledger.Accepted || len(s.events(row.ID, ledger.EventDisputed)) != 1 {
			t.Errorf("the row is %+v", row)
		}
		s.command("show", first.Reference).check(t, exitDone, "order_changed")
		s.sessions(1, 1)
		if heard := strings.Join(s.server.Heard(), "\n"); strings.Contains(heard, "mallory") {
			t.Errorf("the mail server heard\n%s", heard)
		}
		if logs := on[0].log.String() + on[1].log.String(); strings.Contains(logs, "mallory") || strings.Contains(logs, "grace") {
			t.Error("an address is in a log")
		}
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

// The same while the first is not sent yet: nothing is sent at all, until a person
// has decided.
func TestAnOrderThatChangesBeforeItIsSentWaitsForAPerson(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s := newShopSite(t, idle, policy)
		s.server.Ends(smtptest.Rcpt, "4xx")
		s.server.Start()
		on := s.two()
		first := on[0].webhook(order("o-1", "grace@customer.example"))
		if a := on[1].webhook(order("o-1", "mallory@elsewhere.example")); !a.is(http.StatusConflict, "conflict") {
			t.Errorf("got %v, want a conflict", a)
		}
		s.server.Ends("", "")
		for _, p := range on {
			if a := p.webhook(order("o-1", "grace@customer.example")); !a.is(http.StatusConflict, "uncertain") {
				t.Errorf("got %v, want uncertain", a)
			}
		}
		s.needs(first.Reference, ledger.NeedsDisputed)
		stopAll(on)
		s.configure(hasty)
		s.eachPassesOver(s.rows()[0], anotherOrder)
		if heard := strings.Join(s.server.Heard(), "\n"); strings.Count(heard, "TO:<grace@") != 1 || strings.Contains(heard, "mallory") {
			t.Errorf("the mail server heard\n%s", heard)
		}
	}, ledger.Queue, ledger.Retry)
}
