//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/smtp/smtptest"
)

// courierTimes are answer, call, settle, lease, the lease of retry, how often
// anything is looked for, and how long a message of retry waits.
const courierTimes = `
[timing]
answer = "%s"
call = "%s"
settle = "%s"
lease = "%s"
sweep = "%[6]s"
[queue]
look = "%[6]s"
pauses = ["100ms", "100ms", "100ms", "100ms", "100ms", "100ms", "100ms"]
[retry]
lease = "%[5]s"
sweep = "%[6]s"
older = "%[7]s"
`

// A process that is to be stopped at a step looks for nothing by itself: it could
// stand still with the database's write lock, and then nobody can go on. What it
// leaves is due for a hasty one at once, because it waits further ahead than any of
// that one's messages can.
var (
	hasty  = fmt.Sprintf(courierTimes, "5s", "15s", "2s", "24s", "20s", "100ms", "100ms")
	idle   = fmt.Sprintf(courierTimes, "5s", "15s", "2s", "24s", "20s", "1h", "1h")
	fading = fmt.Sprintf(courierTimes, "500ms", "3s", "1s", "5s", "4500ms", "1h", "1h") // idle, and a test can wait for its leases to end
)

// turns bound how many of these sites there are at once: each has several servers.
var turns = make(chan struct{}, 6)

// takesTurn waits until there is room.
func takesTurn(t *testing.T) {
	t.Helper()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

// inEach runs a test for policies.
func inEach(t *testing.T, test func(t *testing.T, policy ledger.Policy), policies ...ledger.Policy) {
	t.Helper()
	for _, p := range policies {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// newKept is a site whose contact form is under a policy, with its mail server.
func newKept(t *testing.T, timing string, policy ledger.Policy) *site {
	t.Helper()
	takesTurn(t)
	server := smtptest.New(t, smtptest.Plain)
	server.Start()
	s := newMailSite(t, timing, server)
	s.under(timing, policy)
	return s
}

// newCutOff is likewise, but its mail server is not there until it returns.
func newCutOff(t *testing.T, timing string, policy ledger.Policy) (s *site, returns func()) {
	t.Helper()
	takesTurn(t)
	gone := smtptest.At(t, smtptest.Plain, "127.0.0.2:0")
	gone.Refuse()
	s = newMailSite(t, timing, gone)
	s.under(timing, policy)
	return s, func() {
		t.Helper()
		s.server = smtptest.At(t, smtptest.Plain, gone.Address())
		s.server.Start()
	}
}

// under puts the contact form under a policy, from the next start on.
func (s *site) under(timing string, policy ledger.Policy) {
	s.t.Helper()
	s.form = strings.Replace(contactForm, `name = "contact"`, fmt.Sprintf("name = \"contact\"\npolicy = %q", policy), 1)
	s.configure(timing)
}

// two starts two processes on the one ledger.
func (s *site) two() []*process {
	s.t.Helper()
	return []*process{s.start(""), s.start("")}
}

func stopAll(on []*process) {
	for _, p := range on {
		p.stop()
	}
}

// launches starts a process that is to die before anybody asks where it listens.
func (s *site) launches(failpoint string) *process {
	s.t.Helper()
	return launch(s.t, s.dir, []string{"FORMLEDGER_FAILPOINT=" + failpoint}, "serve", "--config", s.config, "--data", s.data, "--listen", "127.0.0.1:0")
}

// diesOf has a process kill itself at the step of what is posted.
func (s *site) diesOf(step string, post func(base string) (answer, error)) {
	s.t.Helper()
	p := s.start(step + "=kill")
	if a, err := post(p.base); err == nil {
		s.t.Fatalf("the process answered %v, and should have died at %s", a, step)
	}
	p.killedItself()
}

// rows are all that there are, oldest first.
func (s *site) rows() (all []ledger.Submission) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		var err error
		all, err = db.List(ctx, ledger.Filter{})
		must(s.t, err)
	})
	return all
}

// rarely is between two looks at the ledger: many tests look at the same time.
const rarely = 25 * time.Millisecond

// becomes waits until the row is as wanted, and fails with how it is instead.
func (s *site) becomes(id uuid.UUID, want string, is func(ledger.Submission) bool) (row ledger.Submission) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		eventually(s.t, func() (err error) {
			if row, err = db.Submission(ctx, id); err == nil && !is(row) {
				time.Sleep(rarely)
				err = fmt.Errorf("it is not %s, the row is %+v", want, row)
			}
			return err
		})
	})
	return row
}

func (s *site) becomesAccepted(id uuid.UUID) ledger.Submission {
	s.t.Helper()
	return s.becomes(id, "accepted", func(r ledger.Submission) bool { return r.Status == ledger.Accepted })
}

func (s *site) becomesNeedy(id uuid.UUID, need ledger.Need) ledger.Submission {
	s.t.Helper()
	return s.becomes(id, string(need), func(r ledger.Submission) bool { return r.Needs == need })
}

// stays fails if the row has changed.
func (s *site) stays(row ledger.Submission) {
	s.t.Helper()
	if now := s.row(row.ID); !reflect.DeepEqual(now, row) {
		s.t.Errorf("the row was\n%+v\nand is\n%+v", row, now)
	}
}

// events are those of a kind.
func (s *site) events(id uuid.UUID, kind ledger.EventKind) (found []ledger.Event) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		all, err := db.Events(ctx, id)
		must(s.t, err)
		for _, e := range all {
			if e.Kind == kind {
				found = append(found, e)
			}
		}
	})
	return found
}

// keepsNothing fails if some message's words are still there.
func (s *site) keepsNothing() {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		kept, err := db.Kept(ctx)
		if must(s.t, err); len(kept) > 0 {
			s.t.Errorf("words are kept: %+v", kept)
		}
	})
}

// isPassedOver has the running servers send another message by their sweeps, and
// fails if they touch this row meanwhile. The other message is left by a process
// that dies before it can claim it.
func (s *site) isPassedOver(row ledger.Submission, another func(base string) (answer, error)) {
	s.t.Helper()
	sessions, mails := s.server.Connections(), len(s.mails())
	s.configure(idle)
	s.diesOf("courier.after-store", another)
	s.configure(hasty)
	eventually(s.t, func() error {
		if n := len(s.mails()); n <= mails {
			return errors.New("the sweep has not sent the other message")
		}
		return nil
	})
	s.stays(row)
	s.sessions(sessions+1, mails+1)
}

// eachPassesOver does the same with two servers, one after the other, so that the
// sweep of each is known to have been there.
func (s *site) eachPassesOver(row ledger.Submission, another func(base string) (answer, error)) {
	s.t.Helper()
	for range 2 {
		p := s.start("")
		s.isPassedOver(row, another)
		p.stop()
	}
}

// another posts a fresh enquiry.
func another(base string) (answer, error) { return try(base, newWords().json()) }

// areCopies fails unless a mailbox takes all mails for the same one.
func (s *site) areCopies(n int) {
	s.t.Helper()
	s.left()
	s.wantMails(n)
	for _, text := range s.mails() {
		id, date := identity(s.t, text)
		if first, when := identity(s.t, s.mails()[0]); id != first || date != when {
			s.t.Errorf("%s of %s, then %s of %s", first, when, id, date)
		}
	}
}

// spellings are the ways in which a file may hold a text: as it is, and in base64,
// whose letters depend on how many bytes stand before it.
func spellings(texts ...string) (all []string) {
	for _, text := range texts {
		all = append(all, text)
		for before := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("-", before) + text))
			all = append(all, encoded[(8*before+5)/6:8*(before+len(text))/6])
		}
	}
	return all
}

func TestSpellingsAreFoundWhereverTheyBegin(t *testing.T) {
	t.Parallel()
	for before := range 7 {
		hidden := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canaryMessage + "yz"))
		found := false
		for _, s := range spellings(canaryMessage) {
			found = found || strings.Contains(hidden, s)
		}
		if !found {
			t.Errorf("%s is not found in %s", canaryMessage, hidden)
		}
	}
}
