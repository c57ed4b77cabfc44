package relay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

func TestPromise1TheHappyPathIsTwoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		b.far.answer = func(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
			row := b.row(want.ID) // recorded first
			if row.Status != ledger.Processing || row.Claim.IsZero() || m.Claim != row.Claim {
				t.Errorf("the call is under %v, and the row is %+v", m.Claim, row)
			}
			if end, ok := ctx.Deadline(); !ok || time.Until(end) != b.timing.Call {
				t.Errorf("the call's deadline is %v, %v", end, ok)
			}
			if !lease.Held() || time.Until(lease.Until()) != b.timing.Lease || len(m.Bytes) == 0 {
				t.Errorf("the lease ends %v, the mail is %q", lease.Until(), m.Bytes)
			}
			return relay.AcceptedWith("250 taken")
		}
		_, end := b.carries(want)
		row := b.row(want.ID)
		if !end.Recorded || end.Row.Status != ledger.Accepted || row.Status != ledger.Accepted || row.AcceptedBy != "relay" || row.Receipt != "250 taken" {
			t.Errorf("ending %+v, row %+v", end, row)
		}
		b.wantCalls(1)
		if b.ledger.Calls("Claim") != 1 || b.ledger.Calls("Settle") != 1 || b.record(want.ID) != "" || b.log.String() != "" {
			t.Errorf("not the happy path: %q, %s", b.record(want.ID), b.log)
		}
		b.refused(want)
	})
}

// The three records of a call's ending, and the rows that they make.
var endings = []struct {
	method  string
	verdict relay.Verdict
	status  ledger.Status
	free    bool
}{
	{"Settle", relay.AcceptedWith("250 taken"), ledger.Accepted, false},
	{"Release", relay.ProvenNotSent("disk_full", "write"), ledger.Processing, true},
	{"Doubt", relay.UnknownAfter("io_error", "rename"), ledger.Uncertain, false},
}

func forEachEnding(t *testing.T, test func(t *testing.T, b *bench, method string, when ledgertest.When, status ledger.Status, free bool)) {
	for _, e := range endings {
		for when, name := range map[ledgertest.When]string{ledgertest.Before: "before", ledgertest.After: "after"} {
			t.Run(fmt.Sprintf("%s %s", e.method, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					b.far.says(e.verdict)
					test(t, b, e.method, when, e.status, e.free)
				})
			})
		}
	}
}

// A record that fails is repeated, whether it had happened or not; the call is not.
func TestARecordThatFailsForAWhileIsRepeated(t *testing.T) {
	forEachEnding(t, func(t *testing.T, b *bench, method string, when ledgertest.When, status ledger.Status, free bool) {
		for _, times := range []int{1, 3} {
			b.ledger.Fail(method, when, times)
			c, end := b.carries(ask())
			row := b.row(c.Row.ID)
			if !end.Recorded || end.Row.Status != status || row.Status != status || row.Free() != free || end.Row.Free() != free {
				t.Errorf("failing %d times: ending %+v, row %+v", times, end, row)
			}
			if status != ledger.Accepted && row.Attempts != 1 {
				t.Errorf("%d failures are counted, want 1", row.Attempts)
			}
		}
		b.wantCalls(2)
	})
}

// Until the lease ends the record fails: nothing is reported as recorded, and
// nothing is sent again. What the call gave is in the log.
func TestPromise4ARecordThatFailsUntilTheLeaseEnds(t *testing.T) {
	forEachEnding(t, func(t *testing.T, b *bench, method string, when ledgertest.When, status ledger.Status, free bool) {
		start, want := time.Now(), ask()
		b.ledger.Fail(method, when, -1)
		c, end := b.carries(want)
		if end.Recorded || end.Row.Status == ledger.Accepted || time.Since(start) < b.timing.Lease {
			t.Errorf("ending %+v after %s", end, time.Since(start))
		}
		if b.ledger.Calls(method) < 100 {
			t.Errorf("%s was tried %d times only", method, b.ledger.Calls(method))
		}
		b.logged("outcome could not be recorded", want.ID.String(), c.Row.Claim.String(), `"recorded":false`)
		b.ledger.Heal()
		b.lapses()
		row, claimed := b.row(want.ID), status
		if when == ledgertest.Before {
			claimed, free = ledger.Uncertain, false // it lapsed
		}
		if row.Status != claimed || row.Free() != free {
			t.Errorf("the row is %+v, want %s", row, claimed)
		}
		b.wantCalls(1)
	})
}

func TestASettleThatCannotBeRecordedLogsItsReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.ledger.Fail("Settle", ledgertest.Before, -1)
		b.carries(ask())
		b.logged(`"receipt":"250 taken"`, `"verdict":"accepted"`)
	})
}

// A try to record that hangs is given up after its time, and repeated.
func TestARecordThatHangsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBench(t), time.Now()
		b.hold = b.holdOn(&hanging{Ledger: b.ledger})
		c, end := b.carries(ask())
		if !end.Recorded || b.row(c.Row.ID).Status != ledger.Accepted {
			t.Errorf("ending %+v", end)
		}
		if took := time.Since(start); took < b.timing.Settle || took > 2*b.timing.Settle {
			t.Errorf("it took %s, want about %s", took, b.timing.Settle)
		}
		b.wantCalls(1)
	})
}

// hanging is a ledger whose first settle never answers.
type hanging struct {
	ledger.Ledger
	hung bool
}

func (h *hanging) Settle(ctx context.Context, a ledger.Acknowledgment) (bool, error) {
	if h.hung {
		return h.Ledger.Settle(ctx, a)
	}
	h.hung = true
	<-ctx.Done()
	return false, ctx.Err()
}

func TestPromise5ASenderThatPanicsLeavesDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		b.far.answer = func(context.Context, relay.Mail, relay.Lease) relay.Verdict { panic("oh no") }
		_, end := b.carries(want)
		row := b.row(want.ID)
		if !end.Recorded || row.Status != ledger.Uncertain || row.Needs != ledger.NeedsUncertain || row.LastError != "panic" || !row.Doubted {
			t.Errorf("ending %+v, row %+v", end, row)
		}
		b.logged("relay call panicked")
		b.refused(want)
	})
}

func TestAVerdictThatWasForgottenIsDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.far.says(relay.Verdict{})
		if c, end := b.carries(ask()); end.Row.Status != ledger.Uncertain || b.row(c.Row.ID).Status != ledger.Uncertain {
			t.Errorf("ending %+v", end)
		}
	})
}

func TestAMessageThatCannotBeRenderedIsNotSentForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		c := b.claims(want)
		m := messageOf(c)
		m.From = "nobody"
		end := b.hold.Carry(c, m)
		row := b.row(want.ID)
		if !end.Recorded || !end.Row.RefusedForGood() || !row.RefusedForGood() || !row.Free() || row.LastError != "for_good:not_rendered@render" || b.record(want.ID) != "released" {
			t.Errorf("ending %+v, row %+v", end, row)
		}
		b.wantCalls(0)
		b.logged("message cannot be rendered")
		b.claims(want)
	})
}

func TestPromise6WhatWasProvenNotSentMayBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		v := relay.ProvenNotSent("refused", "data")
		v.Permanent = true
		b.far.says(v)
		first, end := b.carries(want)
		if !end.Recorded || !end.Row.RefusedForGood() || !end.Row.Free() || !b.row(want.ID).Free() {
			t.Errorf("ending %+v", end)
		}
		b.far.answer = nil
		second, end := b.carries(want)
		if end.Row.Status != ledger.Accepted || second.Row.Claim == first.Row.Claim || second.Row.CreatedAt != first.Row.CreatedAt {
			t.Errorf("the second send: %+v, claim %+v", end, second)
		}
		b.wantCalls(2)
	})
}

// While the call was under way its lease passed, and more.
func TestLateAcknowledgments(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*bench, ledger.NewClaim)
		status    ledger.Status
		needs     ledger.Need
		record    string
	}{
		"uncertain":    {(*bench).lapsed, ledger.Accepted, "", "lapsed late_acknowledged"},
		"released":     {(*bench).notReceived, ledger.Accepted, "", "lapsed not_received late_acknowledged"},
		"received":     {(*bench).received, ledger.Accepted, "", "lapsed received confirmed"},
		"sent again":   {(*bench).sentAgain, ledger.Accepted, ledger.NeedsDisputed, "lapsed not_received disputed"},
		"claimed anew": {(*bench).claimedAnew, ledger.Processing, ledger.NeedsDisputed, "lapsed not_received disputed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, want := newBench(t), ask()
				b.far.answer = func(context.Context, relay.Mail, relay.Lease) relay.Verdict {
					b.far.answer = nil
					c.meanwhile(b, want)
					return relay.AcceptedWith("250 taken late")
				}
				_, end := b.carries(want)
				row := b.row(want.ID)
				if !end.Recorded || end.Row.Status != c.status || row.Status != c.status || row.Needs != c.needs || end.Row.Needs != c.needs {
					t.Errorf("ending %+v\nrow %+v", end, row)
				}
				if got := b.record(want.ID); got != c.record {
					t.Errorf("the record says %q, want %q", got, c.record)
				}
				b.refused(want)
			})
		})
	}
}

func (b *bench) lapsed(want ledger.NewClaim) {
	b.lapses()
	if row := b.row(want.ID); row.Status != ledger.Uncertain {
		b.t.Errorf("after its lease the row is %+v", row)
	}
}

func (b *bench) decided(want ledger.NewClaim, kind ledger.DecisionKind) {
	b.t.Helper()
	b.lapsed(want)
	must(b.t, b.ledger.Decide(context.Background(), ledger.Decision{Seen: b.row(want.ID), Kind: kind, By: "eve", Note: "looked", At: time.Now()}))
}

func (b *bench) notReceived(want ledger.NewClaim) { b.decided(want, ledger.NotReceived) }
func (b *bench) received(want ledger.NewClaim)    { b.decided(want, ledger.Received) }
func (b *bench) claimedAnew(want ledger.NewClaim) { b.notReceived(want); b.claims(want) }
func (b *bench) sentAgain(want ledger.NewClaim)   { b.notReceived(want); b.carries(want) }

// A sender that finds its lease over proves that nothing went out, which gives
// an uncertain row back.
func TestPromise6ALateProofReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		b.far.answer = func(_ context.Context, _ relay.Mail, lease relay.Lease) relay.Verdict {
			b.lapsed(want)
			if lease.Held() {
				t.Error("the lease is held past its end")
			}
			return relay.ProvenNotSent("lease_lapsed", "rename")
		}
		if _, end := b.carries(want); !end.Recorded || !end.Row.Free() || !b.row(want.ID).Free() {
			t.Errorf("ending %+v", end)
		}
	})
}

// After a broken database nothing is tried again: the process has to end.
func TestABrokenLedgerIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBench(t), time.Now()
		broken := &brokenLedger{Ledger: b.ledger}
		b.hold = b.holdOn(broken)
		ctx, cancel := context.WithTimeout(context.Background(), b.timing.Answer)
		defer cancel()
		if _, err := b.hold.Claim(ctx, ask()); !errors.Is(err, relay.ErrNotClaimed) || !errors.Is(err, ledger.ErrBroken) {
			t.Errorf("the claim: %v", err)
		}
		broken.claims = true
		if _, end := b.carries(ask()); end.Recorded || end.Row.Status == ledger.Accepted {
			t.Errorf("ending %+v", end)
		}
		if took := time.Since(start); took != 0 || broken.calls != 2 {
			t.Errorf("%d calls in %s, want one claim and one settle at once", broken.calls, took)
		}
		b.logged("outcome could not be recorded", "claim abandoned")
	})
}

// brokenLedger is one that has lost its footing, before or after its claims.
type brokenLedger struct {
	ledger.Ledger
	claims bool
	calls  int
}

func (l *brokenLedger) Claim(ctx context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
	if l.claims {
		return l.Ledger.Claim(ctx, c)
	}
	l.calls++
	return ledger.Claimed{}, fmt.Errorf("%w: disk I/O error", ledger.ErrBroken)
}

func (l *brokenLedger) Settle(context.Context, ledger.Acknowledgment) (bool, error) {
	l.calls++
	return false, fmt.Errorf("%w: disk I/O error", ledger.ErrBroken)
}

func TestWithoutRandomnessNothingIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := relay.NewHold(b.ledger, b.far, b.timing, time.Now, iotest.ErrReader(errors.New("no entropy")), slog.New(slog.DiscardHandler))
		defer h.Close()
		if _, err := h.Claim(context.Background(), ask()); err == nil || errors.Is(err, relay.ErrNotClaimed) || !strings.Contains(err.Error(), "no entropy") {
			t.Errorf("got %v", err)
		}
		if b.ledger.Calls("Claim") != 0 || b.ledger.Calls("Release") != 0 {
			t.Error("the ledger was asked")
		}
	})
}
