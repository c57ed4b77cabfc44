//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/smtp/smtptest"
)

const alertSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// bell takes alerts, and checks them as their reader would.
type bell struct {
	*httptest.Server
	mu   sync.Mutex
	rung []string // the bodies, each once
	ids  map[string]bool
}

func newBell(t *testing.T) *bell {
	t.Helper()
	b := &bell{ids: map[string]bool{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		hook, _ := standardwebhooks.NewWebhook(alertSecret)
		if err != nil || hook.Verify(body, r.Header) != nil || r.URL.Path != "/alerts" {
			t.Errorf("an alert that is not signed as it should be: %s %v %s", r.URL, r.Header, body)
		}
		b.rings(r.Header.Get("webhook-id"), string(body))
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *bell) rings(id, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ids[id] {
		b.ids[id], b.rung = true, append(b.rung, body)
	}
}

func (b *bell) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}

// alerts has whoever is at the address told.
func (s *site) alerts(timing, address string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.dir, "alert.secret"), []byte(alertSecret+"\n"), 0o600))
	s.smtp += fmt.Sprintf("\n[alert]\nurl = \"%s/alerts\"\nsecret_file = \"alert.secret\"\n", address)
	s.configure(timing)
}

// fails posts an order to both processes in turn until it has failed eight times,
// each time by a request of the provider's.
func (s *site) failsEightTimes(on []*process, body string) answer {
	s.t.Helper()
	var a answer
	for try := range 8 {
		a = on[try%2].webhook(body)
		want, outcome := http.StatusServiceUnavailable, "queued"
		if try == 7 {
			want, outcome = http.StatusBadGateway, "not_sent"
		}
		if !a.is(want, outcome) || a.Header.Get("Retry-After") == "" && try < 7 {
			s.t.Errorf("try %d: got %v, want %d %s", try+1, a, want, outcome)
		}
	}
	return a
}

// Eight recorded failures over two processes: then neither the provider's repeats
// nor the sweeps of either send anything, and somebody is told. If nobody can be
// told, that is on record, and the row stands in the list all the same.
func TestEightFailuresOverTwoProcessesStopEverybodyAndSomebodyIsTold(t *testing.T) {
	t.Parallel()
	for name, isThere := range map[string]bool{"told": true, "nobody there": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newShopSite(t, idle, ledger.Retry), newBell(t)
			address := b.URL
			if !isThere {
				address = "http://" + freeAddress(t)
			}
			s.alerts(idle, address)
			s.server.Ends(smtptest.Rcpt, "4xx")
			s.server.Start()
			on, body := s.two(), order("o-1", "grace@customer.example")
			a := s.failsEightTimes(on, body)
			row := s.rows()[0]
			if row.Status != ledger.Processing || row.Needs != ledger.NeedsStopped || row.Attempts != 8 || row.Claims != 8 || row.Doubted {
				t.Errorf("the row is %+v", row)
			}
			s.tells(row, b, isThere)
			s.needs(a.Reference, ledger.NeedsStopped)
			s.sendsNoMore(on, row, body)
		})
	}
}

// tells waits until an alert was attempted, and fails unless how that went is on record.
func (s *site) tells(row ledger.Submission, b *bell, isThere bool) {
	s.t.Helper()
	kind, cause := ledger.EventAlerted, ""
	if !isThere {
		kind, cause = ledger.EventAlertFailed, "connect_refused"
	}
	eventually(s.t, func() error {
		found := s.events(row.ID, kind)
		if len(found) == 0 || found[0].Cause != cause {
			return fmt.Errorf("no %s (%s) on record: %+v", kind, cause, found)
		}
		return nil
	})
	rung := b.heard()
	if !isThere {
		if len(rung) > 0 {
			s.t.Errorf("somebody was told: %v", rung)
		}
		return
	}
	var body struct {
		Type string
		Data struct {
			References []map[string]string
			Count      int
		}
	}
	must(s.t, json.Unmarshal([]byte(rung[0]), &body))
	if len(rung) != 1 || body.Type != "formledger.needs_somebody" || body.Data.Count != 1 || len(body.Data.References) != 1 {
		s.t.Fatalf("the alert says %v", rung)
	}
	if d := body.Data.References[0]; d["reference"] != string(row.Reference) || d["form"] != "orders" || d["needs"] != "stopped" || d["cause"] != "smtp_451@rcpt" {
		s.t.Errorf("the alert says %v", rung)
	}
}

// sendsNoMore tries everything that could send the row, with a mail server that
// would take it.
func (s *site) sendsNoMore(on []*process, row ledger.Submission, body string) {
	s.t.Helper()
	s.server.Ends("", "")
	for _, p := range on {
		if a := p.webhook(body); !a.is(http.StatusBadGateway, "not_sent") || a.Retryable || a.SafeNewID {
			s.t.Errorf("a repeat got %v", a)
		}
	}
	stopAll(on)
	s.sessions(8, 0)
	s.configure(hasty)
	s.eachPassesOver(row, anotherOrder)
}

// The sweeps of two processes and the provider's repeats at both fail side by
// side: eight times in all, whoever it was.
func TestEightFailuresWhoeverTries(t *testing.T) {
	inEach(t, func(t *testing.T, policy ledger.Policy) {
		s := newShopSite(t, hasty, policy)
		s.server.Ends(smtptest.Rcpt, "4xx")
		s.server.Start()
		on, body := s.two(), order("o-1", "grace@customer.example")
		on[0].webhook(body)
		id := s.rows()[0].ID
		s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
			eventually(t, func() error {
				atOnce(4, on, body)
				if row, err := db.Submission(ctx, id); err != nil || row.Needs == "" {
					return fmt.Errorf("not stopped: %+v, %v", row, err)
				}
				return nil
			})
		})
		for _, got := range atOnce(8, on, body) {
			if must(t, got.err); !got.answer.is(http.StatusBadGateway, "not_sent") {
				t.Errorf("after the end: %v", got.answer)
			}
		}
		row := s.row(id)
		if row.Needs != ledger.NeedsStopped || row.Attempts != 8 || row.Claims != 8 || row.Doubted {
			t.Errorf("the row is %+v", row)
		}
		s.sessions(8, 0)
	}, ledger.Queue, ledger.Retry)
}

// Claims that last less than a second, for processes that never get to use them.
const fleeting = `
[timing]
answer = "100ms"
call = "100ms"
settle = "500ms"
lease = "800ms"
sweep = "50ms"
[retry]
lease = "700ms"
sweep = "50ms"
older = "50ms"
`

// Sixteen processes die with a claim each, two at a time, before they record
// anything: lapsed leases count claims, and then nobody sends. Nobody knows what
// the dead have sent, so it is uncertain.
func TestSixteenClaimsThatDieBeforeTheirRecordStopEverybody(t *testing.T) {
	t.Parallel()
	s, w := newKept(t, idle, ledger.Retry), newWords()
	s.diesAt("courier.after-store", w)
	s.configure(fleeting)
	for range 8 {
		both := []*process{s.launches("courier.after-claim=kill"), s.launches("courier.after-claim=kill")}
		for _, p := range both {
			p.killedItself()
		}
	}
	s.configure(hasty)
	on := s.two()
	row := s.becomesNeedy(w.ID, ledger.NeedsUncertain)
	// a claim that was given up because the ledger was slow does not count
	if row.Status != ledger.Uncertain || row.Claims < 16 || row.ClaimCap != row.Claims || row.Attempts != 0 || !row.Doubted {
		t.Errorf("the row is %+v", row)
	}
	if lapses := s.events(w.ID, ledger.EventLapsed); len(lapses) != 16 || len(s.events(w.ID, ledger.EventStopped)) != 1 {
		t.Errorf("%d leases have ended", len(lapses))
	}
	for _, p := range on {
		p.post(w, http.StatusConflict, "uncertain")
	}
	stopAll(on)
	s.sessions(0, 0)
	s.eachPassesOver(row, another)
	s.needs(string(row.Reference), ledger.NeedsUncertain)
	s.command("show", string(row.Reference)).squeezed().check(t, exitDone, fmt.Sprintf("claims %d of %[1]d", row.Claims))
}
