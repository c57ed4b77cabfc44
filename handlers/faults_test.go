package handlers

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

const ever = -1

// shortLease lets what is tried until the lease ends be tried for two seconds.
func shortLease(o *options) {
	o.timing = relay.Timing{Answer: 500 * time.Millisecond, Call: 500 * time.Millisecond, Settle: 500 * time.Millisecond,
		Lease: 2 * time.Second, Sweep: time.Hour, Unsent: time.Minute}
}

func TestPromise4_ASettleThatErrsOnceIsRepeated(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := newID()
			k.ledger.Fail("Settle", when, 1)
			k.post(words(id)).want(t, 201, Accepted)
			if row := k.row(id); row.Status != ledger.Accepted || k.far.count() != 1 {
				t.Errorf("after %d calls the row is %+v", k.far.count(), row)
			}
			k.wantMails(1)
		})
	}
}

func TestPromise4_NothingIsAcceptedThatIsNotRecorded(t *testing.T) {
	k := newKit(t, shortLease)
	id := newID()
	k.ledger.Fail("Settle", ledgertest.Before, ever)
	k.post(words(id)).want(t, 409, Processing)
	must(t, k.server.Finish(t.Context())) // the lease is over
	k.ledger.Heal()
	k.receipt(id).want(t, 200, Processing)
	sweeper := relay.Sweeper{Ledger: k.ledger, Timing: quickTiming(), Wall: k.clock.now, Mono: monotonic(), Log: k.server.log}
	k.clock.move(3 * time.Second)
	must(t, sweeper.Sweep(t.Context()))
	k.post(words(id)).want(t, 409, Uncertain)
	if k.far.count() != 1 {
		t.Errorf("%d calls were made, want 1", k.far.count())
	}
	if row := k.row(id); row.Needs != ledger.NeedsUncertain {
		t.Errorf("the operator is not told: %+v", row)
	}
	for _, kept := range []string{id.String(), "maildir:"} {
		if !strings.Contains(k.logs.String(), kept) {
			t.Errorf("the log of the lost record lacks %q", kept)
		}
	}
}

func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func TestPromise4_ASettleThatErrsAndHappenedIsTheRecordedOutcome(t *testing.T) {
	k := newKit(t, shortLease)
	id := newID()
	k.ledger.Fail("Settle", ledgertest.After, ever)
	k.post(words(id)).want(t, 409, Processing)
	k.post(words(id)).want(t, 200, Accepted) // by the row that says so
	k.wantMails(1)
}

func TestPromise1_AClaimThatErrsOnceIsRepeated(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := newID()
			k.ledger.Fail("Claim", when, 1)
			k.post(words(id)).want(t, 201, Accepted)
			if row := k.row(id); row.Claims != 1 || k.far.count() != 1 {
				t.Errorf("after %d calls the row is %+v", k.far.count(), row)
			}
		})
	}
}

func TestPromise1_NothingIsSentUnderAnErroredClaim(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, shortLease)
			id := newID()
			k.ledger.Fail("Claim", when, ever)
			k.ledger.Fail("Release", ledgertest.Before, 3)
			k.post(words(id)).want(t, 503, NotSent)
			if k.far.count() != 0 {
				t.Fatal("something was sent under an errored claim")
			}
			k.ledger.Heal()
			eventually(t, "the abandoned claim is given back", func() bool {
				row, err := k.ledger.Submission(t.Context(), id)
				return err != nil || row.Free()
			})
			k.post(words(id)).want(t, 201, Accepted)
			k.wantMails(1)
		})
	}
}

func TestAReleaseThatErrsIsRepeated(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.far.answering(relay.ProvenNotSent("down", "dial"))
			k.ledger.Fail("Release", when, 2)
			id := newID()
			k.post(words(id)).want(t, 503, NotSent)
			if row := k.row(id); !row.Free() || row.Attempts != 1 {
				t.Errorf("the row is %+v", row)
			}
		})
	}
}

func TestADoubtThatErrsIsRepeated(t *testing.T) {
	for name, when := range map[string]ledgertest.When{"before": ledgertest.Before, "after": ledgertest.After} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.far.answering(relay.UnknownAfter("lost", "dot"))
			k.ledger.Fail("Doubt", when, 2)
			id := newID()
			k.post(words(id)).want(t, 409, Uncertain)
			if row := k.row(id); row.Status != ledger.Uncertain || !row.Doubted {
				t.Errorf("the row is %+v", row)
			}
		})
	}
}

// Nobody can say "not sent" of an ID whose row cannot be read.
func TestALedgerThatDoesNotAnswerIsNoOutcome(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.post(words(id)).want(t, 201, Accepted)
	k.ledger.Fail("Submission", ledgertest.Before, ever)
	r := k.post(words(id))
	if r.status != 503 || r.body.Outcome != "" || r.header.Get("Retry-After") == "" || r.body.SafeNewID {
		t.Errorf("the answer is %d %v %s", r.status, r.header, r.text)
	}
	if r := k.receipt(id); r.status != 503 {
		t.Errorf("the receipt is %d %s", r.status, r.text)
	}
	k.ledger.Heal()
	k.post(words(id)).want(t, 200, Accepted)
	k.wantMails(1)
}

func TestAConflictThatCannotBeCountedIsAConflict(t *testing.T) {
	k := newKit(t)
	id := newID()
	k.post(words(id)).want(t, 201, Accepted)
	k.ledger.Fail("Conflict", ledgertest.Before, ever)
	other := words(id)
	other["name"] = "Eve"
	k.post(other).want(t, 409, Conflict)
}

func TestASenderThatPanicsLeavesDoubt(t *testing.T) {
	k := newKit(t)
	k.far.set(func(f *farEnd) { f.instead = func(relay.Mail) *relay.Verdict { panic("boom") } })
	id := newID()
	k.post(words(id)).want(t, 409, Uncertain)
	k.far.well()
	k.post(words(id)).want(t, 409, Uncertain)
	k.wantMails(0)
}

func TestAReadinessCheckAsksTheLedger(t *testing.T) {
	k := newKit(t)
	if r := k.do("GET", "/readyz", "", ""); r.status != 200 {
		t.Errorf("a working server is not ready: %d", r.status)
	}
	k.ledger.Fail("Ping", ledgertest.Before, 1)
	if r := k.do("GET", "/readyz", "", ""); r.status != 503 {
		t.Errorf("without its ledger the server is ready: %d", r.status)
	}
	if r := k.do("GET", "/healthz", "", ""); r.status != 200 {
		t.Errorf("the server is not live: %d", r.status)
	}
}

func TestRowsUnderAnOldKeyStillReplayAndConflict(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	at := func(keys string) *kit {
		return newKit(t, func(o *options) { o.keys, o.ledger = keys, file })
	}
	id, changed := newID(), words(newID())
	at(oneKey+otherKey).post(words(id)).want(t, 201, Accepted)
	rotated := at(strings.Replace(oneKey, "use", "verify", 1) + strings.Replace(otherKey, "verify", "use", 1))
	rotated.post(words(id)).want(t, 200, Accepted)
	changed["submission_id"] = id.String()
	changed["name"] = "Eve"
	rotated.post(changed).want(t, 409, Conflict)
	rotated.post(words(newID())).want(t, 201, Accepted)
	lost := at(strings.Replace(otherKey, "verify", "use", 1))
	if r := lost.post(words(id)); r.status != 503 || r.body.Outcome != "" {
		t.Errorf("without the row's key the answer is %d %s", r.status, r.text)
	}
	rotated.wantMails(1)
	lost.wantMails(0)
}
