package desk_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/desk"
)

func TestARelayThatExecutedAndDroppedTheConnectionIsSettledByAsking(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.sender.Epoch(context.Background()) // learned while the network was well
	w.net.loses(true)
	w.visit(id)
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
	if done := w.reconcile(id, false); done.Change != desk.Unchanged || !done.Unanswered() {
		t.Errorf("an answer that was lost: %+v", done)
	}
	w.net.loses(false)
	w.visit(id) // a repeat sends nothing
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
	if done := w.reconcile(id, true); done.Change != desk.Settled {
		t.Errorf("the dry run says %+v", done)
	}
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
	if done := w.reconcile(id, false); done.Change != desk.Settled || done.Why == "" {
		t.Errorf("%+v", done)
	}
	w.is(id, ledger.Accepted, "", 1)
	if row := w.row(id); row.AcceptedBy != ledger.AcceptedByRelay || row.Receipt != "relay:250 taken" {
		t.Errorf("%+v", row)
	}
}

func TestARelayThatWasDownIsProvenNotSent(t *testing.T) {
	for _, known := range []bool{false, true} {
		w, id := newWorld(t), fresh()
		if known {
			w.sender.Epoch(context.Background())
		}
		must(t, w.net.listener.Close()) // nothing listens any more
		row := w.visit(id)
		w.is(id, ledger.Processing, "", 0)
		if !row.Free() || row.LastError == "" {
			t.Errorf("known %v: the row is not free: %+v", known, row)
		}
		w.net.relisten()
		eventually(t, func() error { // the failed hello is remembered for a second
			if row := w.visit(id); row.Status != ledger.Accepted {
				return errors.New("not accepted: " + row.LastError)
			}
			return nil
		})
		w.is(id, ledger.Accepted, "", 1)
	}
}

func TestAnAcceptedCallThatAProxyRepeatsAfterItsExpiry(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.visit(id)
	w.ahead.Store(int64(time.Hour))
	says(t, w.net.repeats(), `"status":"accepted"`)
	w.is(id, ledger.Accepted, "", 1)
}

func TestACallHeldUpUntilAfterTheInquiryIsSealed(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.net.holds(true)
	w.visit(id)
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 0)
	w.net.holds(false)
	if done := w.reconcile(id, true); done.Change != desk.Unchanged || done.Cause.Code != relay.CodeRelayUnseen {
		t.Errorf("the dry run says %+v", done)
	}
	if done := w.reconcile(id, false); done.Change != desk.Released {
		t.Errorf("%+v", done)
	}
	w.is(id, ledger.Processing, "", 0)
	says(t, w.net.repeats(), `"status":"sealed"`) // the call arrives at last
	w.is(id, ledger.Processing, "", 0)
	w.visit(id)
	w.is(id, ledger.Accepted, "", 1)
}

// An operator who is wrong causes no second mail: the relay knows better.
func TestNotReceivedWhileTheRelayCannotBeAsked(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.sender.Epoch(context.Background())
	w.net.loses(true)
	w.visit(id)
	done := w.decides(id, ledger.NotReceived)
	if !strings.Contains(done.Said, "disputed") {
		t.Errorf("the operator is not warned: %q", done.Said)
	}
	w.is(id, ledger.Processing, "", 1)
	w.net.loses(false)
	w.visit(id)
	w.is(id, ledger.Accepted, ledger.NeedsDisputed, 1)
	w.decides(id, ledger.Received)
	w.is(id, ledger.Accepted, "", 1)
}

func TestNotReceivedAsksTheRelayFirst(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.sender.Epoch(context.Background())
	w.net.loses(true)
	w.visit(id)
	w.net.loses(false)
	if done := w.decides(id, ledger.NotReceived); !strings.Contains(done.Said, "vouches") || done.Case.Row.Status != ledger.Accepted {
		t.Errorf("%+v", done)
	}
	w.is(id, ledger.Accepted, "", 1)
}

func TestNotReceivedSealsAgainstALateArrival(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.net.holds(true)
	w.visit(id)
	w.net.holds(false)
	if done := w.decides(id, ledger.NotReceived); !strings.Contains(done.Said, "sealed") {
		t.Errorf("%+v", done)
	}
	says(t, w.net.repeats(), `"status":"sealed"`)
	w.is(id, ledger.Processing, "", 0)
}

func TestNobodyDecidesWhileTheRelayIsAtWork(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.mails.says(func() relay.Verdict { // asked from within the relay's own call
		_, err := w.ledger.Lapse(context.Background(), time.Now().Add(time.Hour), time.Now())
		must(t, err)
		if done := w.reconcile(id, false); done.Change != desk.Unchanged || done.Cause.Code != relay.CodeRelayProcessing || done.Unanswered() {
			t.Errorf("%+v", done)
		}
		_, err = w.desk.Resolve(context.Background(), id.String(), desk.Ruling{Kind: ledger.NotReceived, By: "ada", Note: "not there"})
		if !errors.Is(err, desk.ErrRelayAtWork) {
			t.Errorf("the decision ended with %v", err)
		}
		return relay.AcceptedWith("250 taken")
	})
	w.visit(id)
	w.is(id, ledger.Accepted, "", 1)
}

func TestAChangedMemoryProvesNothingAndSaysSo(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.net.holds(true)
	w.visit(id)
	w.net.holds(false)
	w.stopRelay()
	w.startRelay(filepath.Join(t.TempDir(), "lost.db"))
	done := w.reconcile(id, false)
	if done.Change != desk.Unchanged || done.Cause.Code != relay.CodeEpochChanged || !strings.Contains(done.Why, "lost") {
		t.Errorf("%+v", done)
	}
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 0)
	says(t, w.net.repeats(), `"status":"sealed"`)
	w.visit(fresh()) // the new memory is learned, and the next enquiry goes its way
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
}

// A relay whose record was lost between hello and call: the first call proves
// nothing, whatever the relay says.
func TestARelayThatLostItsRecordIsNeverANotSent(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.visit(fresh())
	w.stopRelay()
	w.startRelay(filepath.Join(t.TempDir(), "lost.db"))
	w.visit(id)
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
	next := fresh()
	w.visit(next)
	w.is(next, ledger.Accepted, "", 2)
}

func TestWhatTheRelayItselfDoesNotKnowStaysUncertain(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.mails.says(func() relay.Verdict { return relay.UnknownAfter("closed", "dot") })
	w.visit(id)
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 0)
	if row := w.row(id); row.LastError != "closed@relay_dot" {
		t.Errorf("%+v", row)
	}
	if done := w.reconcile(id, false); done.Change != desk.Unchanged || done.Unanswered() {
		t.Errorf("%+v", done)
	}
}

func TestOnlyWhatCanBeAskedIsAsked(t *testing.T) {
	w, accepted := newWorld(t), fresh()
	w.visit(accepted)
	row := w.row(accepted)
	for name, c := range map[string]struct {
		row  ledger.Submission
		says string
	}{
		"accepted":        {row, "accepted already"},
		"at work":         {changed(row, func(r *ledger.Submission) { r.Status = ledger.Processing }), "being sent"},
		"free":            {changed(row, func(r *ledger.Submission) { r.Status, r.Claim = ledger.Processing, ledger.Token{} }), "nothing was sent"},
		"disputed":        {changed(row, func(r *ledger.Submission) { r.Status, r.Needs = ledger.Uncertain, ledger.NeedsDisputed }), "a person"},
		"not by a relay":  {changed(row, func(r *ledger.Submission) { r.Status, r.RelayEpoch = ledger.Uncertain, "" }), "mailbox"},
		"without a claim": {changed(row, func(r *ledger.Submission) { r.Status, r.Claim = ledger.Uncertain, ledger.Token{} }), "mailbox"},
	} {
		done, err := w.desk.Reconcile(context.Background(), c.row, false)
		if err != nil || done.Change != desk.Unchanged || !strings.Contains(done.Why, c.says) || done.Unanswered() {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	if _, err := (&desk.Desk{Ledger: w.ledger}).Reconcile(context.Background(), row, false); !errors.Is(err, desk.ErrNoRelay) {
		t.Errorf("without a relay: %v", err)
	}
}

func changed(row ledger.Submission, change func(*ledger.Submission)) ledger.Submission {
	change(&row)
	return row
}

func TestWhatIsAskedAboutByItself(t *testing.T) {
	now := time.Now()
	rows := []ledger.Submission{
		{Form: "over", RelayEpoch: "e", LeaseUntil: now.Add(-time.Second)},
		{Form: "held", RelayEpoch: "e", LeaseUntil: now.Add(time.Second)},
		{Form: "by smtp", LeaseUntil: now.Add(-time.Second)},
	}
	if got := desk.Expired(rows, now); len(got) != 1 || got[0].Form != "over" {
		t.Errorf("%+v", got)
	}
}

func TestUncertainFindsWhatIsNamed(t *testing.T) {
	w, id, other := newWorld(t), fresh(), fresh()
	w.net.holds(true)
	w.visit(id)
	w.net.holds(false)
	w.visit(other)
	all, err := w.desk.Uncertain(context.Background(), nil)
	if err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("%+v, %v", all, err)
	}
	named, err := w.desk.Uncertain(context.Background(), []string{other.String(), string(w.row(id).Reference)})
	if err != nil || len(named) != 2 {
		t.Errorf("%+v, %v", named, err)
	}
	if _, err := w.desk.Uncertain(context.Background(), []string{fresh().String()}); !errors.Is(err, desk.ErrNotFound) {
		t.Errorf("an unknown ID: %v", err)
	}
}
