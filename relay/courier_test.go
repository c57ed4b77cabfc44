package relay_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay"
)

func TestWhatWasStoredIsSentAndItsWordsAreWiped(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		c := o.opens()
		row := o.posts(c, p)
		if row.Status != ledger.Accepted || row.AcceptedBy != ledger.AcceptedByRelay || o.kept(row) || row.Claims != 1 {
			t.Errorf("kept: %v, row %+v", o.kept(row), row)
		}
		o.wantCalls(1)
		m := o.far.mails[0]
		if m.To[0] != "owner@shop.example" || m.Text != o.letter(row.ID).Text || m.Claim.IsZero() || !m.Date.Equal(row.CreatedAt) {
			t.Errorf("the mail is %+v", m.Message)
		}
		if o.record(row.ID) != "" {
			t.Errorf("the happy path left events: %s", o.record(row.ID))
		}
		o.logged()
	}, ledger.Queue, ledger.Retry)
}

func TestAProcessThatDiesBetweenStoringAndClaimingLosesNothing(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		row := o.stores(o.newCourier(), p)
		o.opens()
		time.Sleep(o.patience.Retry.Older + o.patience.Retry.Sweep + time.Second)
		o.is(row, ledger.Accepted, "", false)
		o.wantCalls(1)
	}, ledger.Queue, ledger.Retry)
}

// claimedByTheDead takes a row as a courier does that dies before its call.
func (o *office) claimedByTheDead(row ledger.Submission, lease time.Duration) ledger.NewClaim {
	o.t.Helper()
	c := ledger.NewClaim{ID: row.ID, PayloadHash: row.PayloadHash, Token: ledgertest.NewToken(), At: o.now(), LeaseUntil: o.now().Add(lease)}
	taken, err := o.ledger.Take(context.Background(), c)
	must(o.t, err)
	if !taken.Owned {
		o.t.Fatalf("not taken: %+v", taken.Row)
	}
	return c
}

func TestAFreshClaimBlocksTheSweepAndTheRequest(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		row := o.stores(o.newCourier(), p)
		o.claimedByTheDead(row, time.Hour)
		o.patience.Retry.Lease = 2 * time.Hour // no lease lies further ahead than this
		c := o.opens()
		o.nudges(c, row)
		time.Sleep(30 * time.Minute)
		o.wantCalls(0)
		if got := o.row(row.ID); got.Claim.IsZero() || got.Claims != 1 {
			t.Errorf("the row is %+v", got)
		}
	}, ledger.Queue, ledger.Retry)
}

func TestAnExpiredClaimIsTakenOverUnderRetryAndHeldUnderQueue(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		row := o.stores(o.newCourier(), p)
		o.claimedByTheDead(row, o.timing.Lease)
		c := o.opens()
		time.Sleep(o.timing.Lease + o.timing.Sweep + time.Second)
		if p == ledger.Queue {
			o.is(row, ledger.Uncertain, ledger.NeedsUncertain, false)
			o.nudges(c, row)
			time.Sleep(2 * time.Hour)
			o.wantCalls(0)
			return
		}
		if o.is(row, ledger.Processing, "", true); !o.row(row.ID).Doubted {
			t.Error("it is not doubted")
		}
		if got := o.nudges(c, row); got.Status != ledger.Accepted || got.Claims != 2 || got.Attempts != 0 {
			t.Errorf("the row is %+v", got)
		}
		o.wantCalls(1)
	}, ledger.Queue, ledger.Retry)
}

func TestARepeatTakesAnExpiredClaimOverTheSweepLater(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		row := o.stores(o.newCourier(), p)
		o.claimedByTheDead(row, o.timing.Lease)
		o.opens()
		time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
		o.is(row, ledger.Accepted, "", false)
		o.wantCalls(1)
	}, ledger.Retry)
}

// The send outlives its lease: both copies go out, and the first sender's record
// is refused while the second claim stands.
func TestASendThatOutlivesItsLeaseIsTwoCopiesUnderRetry(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail, second := &service{}, make(chan struct{})
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
			v := mail.takes(m) // the dot is written, and its reply comes late
			if mail.count() == 1 {
				<-second
			} else {
				close(second)
				time.Sleep(time.Second) // the first sender's record comes while this claim stands
			}
			return v
		})
		c := o.opens()
		row := o.stores(c, p)
		first := c.Nudge(row)
		time.Sleep(o.patience.Retry.Lease + o.timing.Sweep + time.Second)
		again := c.Nudge(row)
		<-first
		<-again
		got := o.row(row.ID)
		if mail.count() != 2 || got.Claims != 2 || got.Needs != ledger.NeedsDisputed {
			t.Errorf("%d copies; the row is %+v", mail.count(), got)
		}
		if a, b := mail.taken[0], mail.taken[1]; a.MessageID != b.MessageID || !a.Date.Equal(b.Date) || a.Text != b.Text {
			t.Errorf("the copies differ: %+v, %+v", a.Message, b.Message)
		}
		if got.Claim == mail.taken[0].Claim {
			t.Error("the first sender's claim stands")
		}
	}, ledger.Retry)
}

// A late acknowledgment finds the row released, and nobody has claimed it since.
func TestALateAcknowledgmentOnAFreeRowSavesTheSecondCopy(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail := &service{}
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
			time.Sleep(o.patience.Retry.Lease + o.timing.Sweep + 2*time.Second)
			return mail.takes(m)
		})
		c := o.opens()
		row := o.stores(c, p)
		done := c.Nudge(row)
		time.Sleep(o.patience.Retry.Lease + o.timing.Sweep + time.Second)
		o.is(row, ledger.Processing, "", true)
		<-done
		o.is(row, ledger.Accepted, "", false)
		o.nudges(c, row)
		time.Sleep(time.Hour)
		if mail.count() != 1 || o.kept(row) {
			t.Errorf("%d copies, words kept: %v", mail.count(), o.kept(row))
		}
	}, ledger.Retry)
}

// A sender that has not reached the dot when its lease ends stops there.
func TestALeaseThatEndsBeforeTheDotIsOneCopy(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail, slow := &service{}, true
		o.far.does(func(_ context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
			if slow {
				slow = false
				time.Sleep(o.patience.Retry.Lease + o.timing.Sweep + time.Second)
			}
			if !lease.Held() {
				return relay.ProvenNotSent(relay.CodeLapsed, "dot")
			}
			return mail.takes(m)
		})
		c := o.opens()
		row := o.posts(c, p)
		o.is(row, ledger.Processing, "", true)
		time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
		o.is(row, ledger.Accepted, "", false)
		if mail.count() != 1 {
			t.Errorf("%d copies", mail.count())
		}
	}, ledger.Retry)
}

func TestEightRecordedFailuresStopEverybody(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(refusal)
		c := o.days().opens()
		row := o.posts(c, p)
		o.is(row, ledger.Processing, "", true)
		time.Sleep(4 * 24 * time.Hour)
		o.is(row, ledger.Processing, ledger.NeedsStopped, false)
		if got := o.row(row.ID); got.Attempts != 8 || !o.kept(row) {
			t.Errorf("kept: %v, row %+v", o.kept(row), got)
		}
		o.wantCalls(8)
		o.nudges(c, row)
		time.Sleep(25 * time.Hour)
		o.wantCalls(8)
		o.sendAgain(row)
		o.far.does(nil)
		time.Sleep(2 * o.patience.Retry.Sweep)
		o.is(row, ledger.Accepted, "", false)
		o.wantCalls(9)
	}, ledger.Queue, ledger.Retry)
}

func (o *office) sendAgain(row ledger.Submission) {
	o.t.Helper()
	must(o.t, o.ledger.Decide(context.Background(), ledger.Decision{Seen: o.row(row.ID), Kind: ledger.SendAgain, By: "ada", Note: "the mailbox is emptied", At: o.now()}))
}

// Queue's back-off covers two days, and each next attempt stands in the outbox.
func TestTheBackOffOfQueueCoversTwoDays(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(refusal)
		first := time.Now()
		row := o.posts(o.days().opens(), p)
		for o.far.count() < 8 {
			entry, err := o.ledger.Outbox(context.Background(), row.ID)
			must(t, err)
			before := o.far.count()
			time.Sleep(time.Until(entry.Next) - time.Second)
			o.wantCalls(before) // none came before its time
			time.Sleep(time.Second + o.patience.Queue.Look)
			o.wantCalls(before + 1)
			if t.Failed() {
				return
			}
		}
		if took := time.Since(first); took < 48*time.Hour {
			t.Errorf("the attempts cover %s", took)
		}
	}, ledger.Queue)
}

func TestARefusalForGoodStopsAtOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		v := relay.ProvenNotSent("smtp_550", "rcpt")
		v.Permanent = true
		o.far.says(v)
		row := o.posts(o.days().opens(), p)
		o.is(row, ledger.Processing, ledger.NeedsStopped, false)
		time.Sleep(50 * time.Hour)
		o.wantCalls(1)
		if got := o.row(row.ID); !got.RefusedForGood() || o.record(row.ID) != "released stopped" {
			t.Errorf("the record says %q, the row is %+v", o.record(row.ID), got)
		}
	}, ledger.Queue, ledger.Retry)
}

// Sixteen couriers die with a claim each: lapsed leases count claims.
func TestSixteenClaimsThatDieStopEverybody(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		c := o.newCourier()
		row := o.stores(c, p)
		for range 16 {
			claim := o.claimedByTheDead(row, o.patience.Retry.Lease)
			n, err := o.ledger.LapseClaims(context.Background(), []ledger.OpenClaim{{ID: row.ID, Claim: claim.Token}}, o.now())
			if must(t, err); n != 1 {
				t.Fatal("it did not lapse")
			}
		}
		o.is(row, ledger.Uncertain, ledger.NeedsUncertain, false)
		c = o.days().opens()
		o.nudges(c, row)
		time.Sleep(24 * time.Hour)
		o.wantCalls(0)
		if got := o.row(row.ID); got.Claims != 16 || got.Attempts != 0 || !got.Doubted {
			t.Errorf("the row is %+v", got)
		}
	}, ledger.Retry)
}

// The store errored but happened: nobody is told "not sent", and it is sent once.
func TestAStoreThatErroredButHappenedIsSentOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		c := o.opens()
		o.ledger.Fail("Store", ledgertest.After, -1)
		ctx, cancel := context.WithTimeout(context.Background(), o.timing.Answer)
		defer cancel()
		m := o.letter(uuid.Must(uuid.NewV7()))
		if _, err := c.Store(ctx, "contact", p, m, nil); !errors.Is(err, relay.ErrNotStored) {
			t.Errorf("the store answers %v", err)
		}
		o.ledger.Heal()
		stored, err := c.Store(context.Background(), "contact", p, m, nil)
		if must(t, err); stored.Fresh {
			t.Error("it was stored twice")
		}
		time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
		o.is(stored.Row, ledger.Accepted, "", false)
		o.wantCalls(1)
	}, ledger.Queue, ledger.Retry)
}

// One errored try is repeated by the request itself.
func TestAStoreThatErrorsOnceIsRepeated(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		c := o.opens()
		for _, when := range []ledgertest.When{ledgertest.Before, ledgertest.After} {
			o.ledger.Fail("Store", when, 2)
			stored, err := c.Store(context.Background(), "contact", p, o.letter(uuid.Must(uuid.NewV7())), nil)
			must(t, err)
			<-c.Nudge(stored.Row)
			o.is(stored.Row, ledger.Accepted, "", false)
		}
		o.wantCalls(2)
	}, ledger.Queue, ledger.Retry)
}

// The mail was taken, and the marker of that could not be written.
func TestASendWhoseMarkerFailed(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail := &service{}
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict { return mail.takes(m) })
		o.ledger.Fail("Settle", ledgertest.Before, -1)
		c := o.opens()
		row := o.posts(c, p)
		o.ledger.Heal()
		time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
		o.nudges(c, row)
		if p == ledger.Queue {
			o.is(row, ledger.Uncertain, ledger.NeedsUncertain, false)
			if mail.count() != 1 {
				t.Errorf("%d copies", mail.count())
			}
			return
		}
		o.is(row, ledger.Accepted, "", false)
		if a, b := mail.taken[0], mail.taken[1]; mail.count() != 2 || a.MessageID != b.MessageID || !a.Date.Equal(b.Date) || a.Claim == b.Claim {
			t.Errorf("%d copies: %+v, %+v", mail.count(), a.Message, b.Message)
		}
	}, ledger.Queue, ledger.Retry)
}

// The marker was written although the ledger said it was not.
func TestAMarkerThatErroredButHappened(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.ledger.Fail("Settle", ledgertest.After, 3)
		row := o.posts(o.opens(), p)
		o.is(row, ledger.Accepted, "", false)
		time.Sleep(time.Hour)
		o.wantCalls(1)
	}, ledger.Queue, ledger.Retry)
}

// A claim that errors for good sends nothing, and is given back.
func TestATakeThatErrorsSendsNothingUnderIt(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		for _, when := range []ledgertest.When{ledgertest.Before, ledgertest.After} {
			c := o.opens()
			o.ledger.Fail("Take", when, -1)
			calls := o.far.count()
			row := o.posts(c, p)
			o.wantCalls(calls)
			o.ledger.Heal()
			time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
			o.is(row, ledger.Accepted, "", false)
			if got := o.row(row.ID); got.Attempts != 0 || got.Doubted {
				t.Errorf("the row is %+v", got)
			}
			o.wantCalls(calls + 1)
		}
	}, ledger.Queue, ledger.Retry)
}

func TestUnknownIsHeldUnderQueueAndTriedAgainUnderRetry(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		o.far.says(relay.UnknownAfter("closed", "dot"))
		c := o.days().opens()
		row := o.posts(c, p)
		time.Sleep(72 * time.Hour)
		o.is(row, ledger.Uncertain, ledger.NeedsUncertain, false)
		calls := map[ledger.Policy]int{ledger.Queue: 1, ledger.Retry: 8}[p]
		o.wantCalls(calls)
		if !o.kept(row) || int64(calls) != o.row(row.ID).Attempts {
			t.Errorf("kept: %v, row %+v", o.kept(row), o.row(row.ID))
		}
		o.nudges(c, row)
		o.wantCalls(calls)
	}, ledger.Queue, ledger.Retry)
}

func TestManyCouriersShareTheWorkWithoutALeader(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		mail := &service{}
		o.far.does(func(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
			return mail.during(m, func() relay.Verdict { time.Sleep(time.Second); return mail.takes(m) })
		})
		store := o.newCourier()
		var rows []ledger.Submission
		for range 60 {
			rows = append(rows, o.stores(store, p))
		}
		for range 3 {
			c := o.opens()
			for _, row := range rows[:20] {
				c.Nudge(row)
			}
		}
		time.Sleep(o.patience.Retry.Older + 2*o.patience.Retry.Sweep)
		for _, row := range rows {
			o.is(row, ledger.Accepted, "", false)
		}
		if mail.count() != 60 || mail.most != 1 {
			t.Errorf("%d mails, %d calls of one row at once", mail.count(), mail.most)
		}
	}, ledger.Queue, ledger.Retry)
}

func TestALetterThatCannotBeSentAsItIsStops(t *testing.T) {
	for name, spoil := range map[string]func(*office){
		"words_unreadable@letter": func(o *office) {
			text, err := ledger.NewKeyFile(rand.Reader)
			must(o.t, err)
			ring, err := ledger.ParseKeyRing(text)
			must(o.t, err)
			o.seals = ledger.NewSeals(ring)
		},
		"form_removed@letter": func(o *office) { o.forms = nil },
	} {
		inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
			row := o.stores(o.newCourier(), p)
			spoil(o)
			o.opens()
			time.Sleep(time.Second)
			o.is(row, ledger.Processing, ledger.NeedsStopped, false)
			if got := o.row(row.ID); got.LastError != ledger.ForGood(name) || !o.kept(row) {
				t.Errorf("the row is %+v", got)
			}
			o.wantCalls(0)
		}, ledger.Queue)
	}
}

// A recipient who was put right is taken while messages wait; what was written
// stays.
func TestRecipientsOfTheFormAreTakenAtEachAttempt(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, p ledger.Policy) {
		row := o.stores(o.newCourier(), p)
		o.forms = map[string]relay.Envelope{"contact": {From: "form@shop.example", To: []string{"new@shop.example"}}}
		o.nudges(o.opens(), row)
		if m := o.far.mails[0]; fmt.Sprint(m.To) != "[new@shop.example]" || m.From != "form@shop.example" || m.Subject != "Enquiry" {
			t.Errorf("the mail is %+v", m.Message)
		}
	}, ledger.Queue, ledger.Retry)
}
