package relay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

// An errored claim may have won. It is repeated under the same token, so that
// it is one claim, and there is one call.
func TestAClaimThatFailsForAWhileIsRepeated(t *testing.T) {
	for _, when := range []ledgertest.When{ledgertest.Before, ledgertest.After} {
		for _, times := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				b, want := newBench(t), ask()
				b.ledger.Fail("Claim", when, times)
				b.carries(want)
				row := b.row(want.ID)
				if row.Status != ledger.Accepted || row.Claims != 1 || b.record(want.ID) != "" || b.ledger.Calls("Claim") != times+1 {
					t.Errorf("%d claims, record %q, row %+v", b.ledger.Calls("Claim"), b.record(want.ID), row)
				}
				b.wantCalls(1)
			})
		}
	}
}

// abandons asks for claims until the deadline, in vain.
func (b *bench) abandons(wanted ...ledger.NewClaim) {
	b.t.Helper()
	for _, want := range wanted {
		ctx, cancel := context.WithTimeout(context.Background(), b.timing.Answer)
		_, err := b.hold.Claim(ctx, want)
		cancel()
		if !errors.Is(err, relay.ErrNotClaimed) || !errors.Is(err, ledgertest.ErrInjected) {
			b.t.Fatalf("got %v, want ErrNotClaimed", err)
		}
	}
}

// Nothing is sent under a claim that errored until its deadline. The ledger may
// hold it: it is given back once the ledger answers again.
func TestAnAbandonedClaimIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, two, three := newBench(t), ask(), ask(), ask()
		b.ledger.Fail("Claim", ledgertest.After, -1)
		b.ledger.Fail("Release", ledgertest.Before, -1)
		b.abandons(one, two, three)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, want := range []ledger.NewClaim{one, two, three} {
			if row := b.row(want.ID); row.Status != ledger.Processing || row.Claim.IsZero() {
				t.Errorf("before the ledger answers the row is %+v", row)
			}
		}
		b.ledger.Heal()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, want := range []ledger.NewClaim{one, two, three} {
			row := b.row(want.ID)
			if !row.Free() || row.Attempts != 0 || row.Doubted || row.LastError != "claim_abandoned@claim" || b.record(want.ID) != "released" {
				t.Errorf("given back, the row is %+v, its record %q", row, b.record(want.ID))
			}
		}
		b.wantCalls(0)
		b.logged("claim abandoned: nothing is sent under it")
		b.carries(two)
		b.wantCalls(1)
		if row := b.row(two.ID); row.Status != ledger.Accepted {
			t.Errorf("sent again, the row is %+v", row)
		}
	})
}

// The same where giving back fails after it took effect, and where the claim
// never reached the ledger.
func TestAnAbandonedClaimThatIsGivenBackTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, held, never := newBench(t), ask(), ask()
		b.ledger.Fail("Release", ledgertest.After, 3)
		b.ledger.Fail("Claim", ledgertest.After, -1)
		b.abandons(held)
		b.ledger.Fail("Claim", ledgertest.Before, -1)
		b.abandons(never)
		b.ledger.Heal()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if row := b.row(held.ID); !row.Free() || b.record(held.ID) != "released" {
			t.Errorf("the row is %+v, its record %q", row, b.record(held.ID))
		}
		if _, err := b.ledger.Submission(context.Background(), never.ID); !errors.Is(err, ledger.ErrUnseen) {
			t.Errorf("a claim that never arrived: %v", err)
		}
		b.carries(never)
		b.wantCalls(1)
	})
}

// The abandoned claim is given back, and not the one that came after it.
func TestGivingBackLeavesAnotherClaimAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		b.ledger.Fail("Release", ledgertest.Before, -1)
		b.ledger.Fail("Claim", ledgertest.After, -1)
		b.abandons(want)
		b.ledger.Fail("Claim", ledgertest.After, 0)
		b.notReceived(want) // its lease passed, and a person gave it back
		c := b.claims(want)
		b.ledger.Heal()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if row := b.row(want.ID); row.Claim != c.Row.Claim || row.Needs != "" {
			t.Errorf("the row is %+v", row)
		}
	})
}

// Close does not wait for a ledger that never answers; the claim lapses.
func TestCloseLeavesAbandonedClaimsToTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, want := newBench(t), ask()
		b.ledger.Fail("Release", ledgertest.Before, -1)
		b.ledger.Fail("Claim", ledgertest.After, -1)
		b.abandons(want)
		start := time.Now()
		b.hold.Close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("closing took %s", took)
		}
		calls := b.ledger.Calls("Release")
		b.abandons(ask()) // after Close nothing begins any more
		b.ledger.Heal()
		b.lapsed(want)
		if b.ledger.Calls("Release") != calls {
			t.Error("a closed Hold goes on")
		}
	})
}
