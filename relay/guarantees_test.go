package relay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

// The table in docs/guarantees.md is measured. Each of its rows is a situation,
// which is brought about here under every policy; its cells are what came of it.
func TestTheTableOfGuaranteesIsMeasured(t *testing.T) {
	documented := guaranteesTable(t)
	for _, s := range situations {
		want := s.measure(t)
		if got := documented[s.name]; strings.Join(got[:min(3, len(got))], "|") != strings.Join(want, "|") {
			t.Errorf("docs/guarantees.md does not say what is measured:\n| %s | %s |", s.name, strings.Join(want, " | "))
		}
		delete(documented, s.name)
	}
	for name := range documented {
		t.Errorf("docs/guarantees.md has a row that nobody measures: %s", name)
	}
}

// Each row names the tests that look at its situation more closely.
func TestTheTableOfGuaranteesNamesTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	source := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		source += string(text)
	}
	for name, cells := range guaranteesTable(t) {
		tests := regexp.MustCompile(`Test\w+`).FindAllString(cells[len(cells)-1], -1)
		if len(cells) != 4 || len(tests) == 0 {
			t.Errorf("the row names no test: %s %q", name, cells)
		}
		for _, test := range tests {
			if !strings.Contains(source, "func "+test+"(") {
				t.Errorf("%s: there is no test %s", name, test)
			}
		}
	}
}

// guaranteesTable is the table, by what stands in the first column.
func guaranteesTable(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/guarantees.md")
	must(t, err)
	_, table, found := strings.Cut(string(page), "| what happens | hold | queue | retry | counted by |\n|---|---|---|---|---|\n")
	if !found {
		t.Fatal("docs/guarantees.md has no table of numbers")
	}
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// situation is something that happens to a message, or to many.
type situation struct {
	name    string
	happens func(s *scene) []ledger.Submission // of no row: it cannot happen under this policy
}

// measure brings the situation about under every policy.
func (s situation) measure(t *testing.T) []string {
	t.Helper()
	cells := make([]string, 3)
	t.Run(s.name, func(t *testing.T) {
		for i, p := range []ledger.Policy{ledger.Hold, ledger.Queue, ledger.Retry} {
			t.Run(string(p), func(t *testing.T) {
				t.Parallel() // each in a bubble of its own
				synctest.Test(t, func(t *testing.T) {
					scene := newScene(t, p)
					cells[i] = scene.numbers(s.happens(scene))
				})
			})
		}
	})
	return cells
}

// numbers is a cell: mails that went out, recorded failures, claims, and what is
// known in the end. Of many messages it tells the sums.
func (s *scene) numbers(rows []ledger.Submission) string {
	if len(rows) == 0 {
		return "–"
	}
	attempts, claims, ends := int64(0), int64(0), map[string]int{}
	for _, row := range rows {
		now := s.row(row.ID)
		attempts, claims = attempts+now.Attempts, claims+now.Claims
		ends[ending(now)]++
	}
	if len(ends) != 1 {
		s.t.Errorf("%d messages have ended differently: %v", len(rows), ends)
	}
	return fmt.Sprintf("%s, %s, %s: **%s**", number(s.mail.count(), "mail"), number(int(attempts), "failure"),
		number(int(claims), "claim"), ending(s.row(rows[0].ID)))
}

func number(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// ending is what is known of a row, in the page's words.
func ending(row ledger.Submission) string {
	switch {
	case row.Needs == ledger.NeedsDisputed:
		return string(row.Status) + ", disputed"
	case row.Status != ledger.Processing:
		return string(row.Status)
	case row.Needs != ledger.NeedsNobody:
		return string(row.Needs)
	}
	return "open"
}

// scene is an office in which one policy is at work.
type scene struct {
	*office
	policy  ledger.Policy
	courier *relay.Courier
	mail    *service
}

// newScene is one whose mail service takes everything.
func newScene(t *testing.T, p ledger.Policy) *scene {
	s := &scene{office: newOffice(t), policy: p, mail: &service{}}
	s.timing.Sweep, s.patience.Queue.Look = 3*time.Minute, 4*time.Minute // never at the moment at which a message is due
	s.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict { return s.mail.takes(m) })
	return s
}

// starts lets a process run that sends and sweeps. It has looked once, or it would
// come between a request and its own attempt.
func (s *scene) starts() {
	s.courier = s.opens()
	synctest.Wait()
}

// begins is a request; done is closed when its call has ended.
func (s *scene) begins() (row ledger.Submission, done <-chan struct{}) {
	s.t.Helper()
	if s.policy == ledger.Hold {
		c := s.claims(ask())
		return c.Row, s.carriesAside(c)
	}
	row = s.stores(s.courier, s.policy)
	return row, s.courier.Nudge(row)
}

func (s *scene) carriesAside(c relay.Claim) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.hold.Carry(c, messageOf(c))
	}()
	return done
}

// requests waits until the call has ended.
func (s *scene) requests() ledger.Submission {
	s.t.Helper()
	row, done := s.begins()
	<-done
	return row
}

// again is a repeat of the request.
func (s *scene) again(row ledger.Submission) (done <-chan struct{}) {
	s.t.Helper()
	if s.policy != ledger.Hold {
		return s.courier.Nudge(row)
	}
	c, err := s.hold.Claim(context.Background(), ledger.NewClaim{ID: row.ID, Form: row.Form, PayloadHash: row.PayloadHash})
	must(s.t, err)
	if !c.Owned {
		over := make(chan struct{})
		close(over)
		return over
	}
	return s.carriesAside(c)
}

// diesClaimed is a process that dies after its claim, and before its call.
func (s *scene) diesClaimed() ledger.Submission {
	s.t.Helper()
	if s.policy == ledger.Hold {
		return s.claims(ask()).Row
	}
	row := s.stores(s.newCourier(), s.policy)
	s.claimedByTheDead(row, s.lease())
	return row
}

func (s *scene) lease() time.Duration {
	if s.policy == ledger.Retry {
		return s.patience.Retry.Lease
	}
	return s.timing.Lease
}

// overdue waits until a lease that began now is over, and swept.
func (s *scene) overdue() { time.Sleep(s.lease() + s.timing.Sweep + time.Second) }

// passes lets the hours pass in which everything happens by itself.
func (s *scene) passes() { time.Sleep(3 * time.Hour) }

// daysPass is for what takes longer. Nobody has to look so often then.
func (s *scene) daysPass() { time.Sleep(4 * 24 * time.Hour) }

func (s *scene) leisurely() *scene {
	s.timing.Sweep, s.patience.Queue.Look = time.Hour, time.Hour
	return s
}

// one is the rows of a single message.
func one(row ledger.Submission) []ledger.Submission { return []ledger.Submission{row} }

// first lets each of these answer one call, and the mail service the rest.
func (s *scene) first(calls ...func(relay.Mail, relay.Lease) relay.Verdict) {
	var mu sync.Mutex
	s.far.does(func(_ context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
		mu.Lock()
		var call func(relay.Mail, relay.Lease) relay.Verdict
		if len(calls) > 0 {
			call, calls = calls[0], calls[1:]
		}
		mu.Unlock()
		if call != nil {
			return call(m, lease)
		}
		return s.mail.takes(m)
	})
}
