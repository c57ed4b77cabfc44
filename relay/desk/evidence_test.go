package desk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
	"formledger/relay/mailbox"
)

// inbox is a mailbox that holds what a test puts into it.
type inbox struct {
	asked  []string
	result mailbox.Result
	err    error
}

func (i *inbox) Search(_ context.Context, messageID string) (mailbox.Result, error) {
	i.asked = append(i.asked, messageID)
	return i.result, i.err
}

// withInbox lets the desk search a mailbox.
func (s *shelf) withInbox() *inbox {
	i := &inbox{result: mailbox.Result{Searched: []string{"INBOX", "Junk"}}}
	s.desk.Mailbox = i
	s.desk.MessageID = func(row ledger.Submission) (string, error) { return row.ID.String() + "@shop.example", nil }
	return i
}

var arrival = mailbox.Mail{Folder: "Junk", UID: 7, Arrived: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}

func (s *shelf) evidence(row ledger.Submission) []desk.Evidence {
	s.t.Helper()
	all, err := s.desk.Evidence(context.Background(), s.finds(row))
	must(s.t, err)
	return all
}

// has fails unless there is one piece of evidence from a source that says a text
// and proves and suggests this.
func has(t *testing.T, all []desk.Evidence, source desk.Source, says string, proves desk.Proof, suggests ledger.DecisionKind) {
	t.Helper()
	for _, e := range all {
		if e.Source == source && strings.Contains(e.Says, says) {
			if e.Proves != proves || e.Suggests != suggests || e.At.IsZero() {
				t.Errorf("%+v, want it to prove %q and suggest %q", e, proves, suggests)
			}
			return
		}
	}
	t.Errorf("nothing from %s says %q: %+v", source, says, all)
}

func TestEvidenceOfWhatIsRecorded(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	row := s.doubts(time.Now(), "contact", "closed@dot")
	must(t, s.ledger.Conflict(ctx, row.ID, time.Now()))
	must(t, s.ledger.Conflict(ctx, row.ID, time.Now()))
	_, err := s.desk.Note(ctx, row.ID.String(), "eve", "asked the office")
	must(t, err)
	all := s.evidence(row)
	has(t, all, desk.FromRecord, "its send was begun once", desk.ProvesNothing, "")
	has(t, all, desk.FromRecord, `without proof, at the step dot (closed): S: 354 go on`, desk.ProvesNothing, "")
	has(t, all, desk.FromVisitor, "Other content came under the same ID, 2 times", desk.ProvesNothing, "")
	has(t, all, desk.FromOperator, "eve noted: asked the office", desk.ProvesNothing, "")
	if len(all) != 4 {
		t.Errorf("%+v", all)
	}
	has(t, s.evidence(s.stores(ledger.Queue)), desk.FromRecord, "no send of it was begun: nothing was sent", desk.ProvesNotSent, "")
	has(t, s.evidence(s.accepts(s.stores(ledger.Queue))), desk.FromRelay, "vouches for it: 250", desk.ProvesAccepted, "")
	has(t, s.evidence(s.stops(ledger.Queue)), desk.FromRecord, `That attempt sent nothing, at the step rcpt`, desk.ProvesNotSent, ledger.SendAgain)
}

// What a later attempt proves says nothing about an earlier one.
func TestAProofOfOneAttemptIsNoProofOfAll(t *testing.T) {
	s := newShelf(t)
	row := s.fails(s.stores(ledger.Retry), "closed@dot", false)
	row = s.fails(row, "smtp_421@rcpt", true)
	has(t, s.evidence(row), desk.FromRecord, "That attempt sent nothing", desk.ProvesNothing, "")
}

func TestALateAcknowledgmentSuggestsReceived(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	first := s.takes(s.stores(ledger.Queue))
	_, err := s.ledger.Release(ctx, ledger.Ended{ID: first.ID, Claim: first.Claim, Cause: "x@rcpt", Attempted: true, At: time.Now()})
	must(t, err)
	row := s.takes(s.row(first))
	_, err = s.ledger.Settle(ctx, ledger.Acknowledgment{ID: row.ID, PayloadHash: row.PayloadHash, Claim: first.Claim, Receipt: "250 late", At: time.Now()})
	must(t, err)
	_, err = s.ledger.Lapse(ctx, time.Now().Add(time.Hour), time.Now())
	must(t, err)
	if row = s.row(row); row.Needs != ledger.NeedsDisputed {
		t.Fatalf("%+v", row)
	}
	has(t, s.evidence(row), desk.FromRelay, "which contradicts the record: 250 late", desk.ProvesAccepted, ledger.Received)
	var arrived *desk.ArrivedError
	if _, err := s.decides(row, ledger.NotReceived); !errors.As(err, &arrived) || len(arrived.Evidence) != 1 || !strings.Contains(err.Error(), "250 late") {
		t.Errorf("%v", err)
	}
	done, err := s.desk.Resolve(ctx, row.ID.String(), desk.Ruling{Kind: ledger.NotReceived, By: "ada", Note: "it was another", Despite: true})
	if err != nil || !done.Case.Row.Waiting() {
		t.Errorf("despite it: %v, %+v", err, done.Case.Row)
	}
}

// A mail that was found counts from then on, even if the mailbox is out of reach.
func TestAMailInTheMailboxIsProofOfPresence(t *testing.T) {
	s := newShelf(t)
	box := s.withInbox()
	row := s.doubts(time.Now(), "contact", "closed@dot")
	box.result.Found = []mailbox.Mail{arrival}
	for range 2 {
		has(t, s.evidence(row), desk.FromMailbox, "in the folder Junk since 2026-05-04 03:02:01Z", desk.ProvesPresence, ledger.Received)
	}
	if notes := s.story(row, ledger.EventNoted); len(notes) != 1 || notes[0].Actor != ledger.ActorSystem || notes[0].Cause != "mailbox_found" {
		t.Errorf("%+v", notes)
	}
	if want := row.ID.String() + "@shop.example"; !slices.Equal(box.asked, []string{want, want}) {
		t.Errorf("asked for %v", box.asked)
	}
	box.result, box.err = mailbox.Result{}, errors.New("no login")
	all := s.evidence(row)
	has(t, all, desk.FromMailbox, "An earlier search found the mail: in the folder Junk", desk.ProvesPresence, ledger.Received)
	has(t, all, desk.FromMailbox, "could not be searched whole, so this proves nothing: no login", desk.ProvesNothing, "")
	if _, err := s.decides(row, ledger.NotReceived); !errors.As(err, new(*desk.ArrivedError)) {
		t.Errorf("%v", err)
	}
	if done, err := s.decides(row, ledger.Received); err != nil || done.Case.Row.AcceptedBy != "operator:ada" {
		t.Errorf("%v", err)
	}
}

func TestAnEmptyMailboxProvesNothing(t *testing.T) {
	s := newShelf(t)
	box := s.withInbox()
	row := s.doubts(time.Now(), "contact", "closed@dot")
	box.result.Skipped = []mailbox.Skipped{{Folder: "Archive", Reason: "It refuses."}}
	has(t, s.evidence(row), desk.FromMailbox, "not in the folders that were searched (INBOX, Junk). That proves nothing", desk.ProvesNothing, "")
	has(t, s.evidence(row), desk.FromMailbox, "The folder Archive was not searched: It refuses.", desk.ProvesNothing, "")
	box.result.Searched = nil
	has(t, s.evidence(row), desk.FromMailbox, "No folder could be searched", desk.ProvesNothing, "")
	if done, err := s.decides(row, ledger.NotReceived); err != nil || !strings.Contains(done.Said, "No folder could be searched") {
		t.Errorf("%v, %q", err, done.Said)
	}
	s.desk.MessageID = func(ledger.Submission) (string, error) { return "", ledger.ErrUnknownKey }
	has(t, s.evidence(s.doubts(time.Now(), "contact", "x@dot")), desk.FromMailbox, "Message-ID is not known", desk.ProvesNothing, "")
	restored := desk.Case{Row: s.stores(ledger.Queue)}
	restored.Row.Status, restored.Row.Needs = ledger.Uncertain, ledger.NeedsDisputed // by a restore: it may have been sent before
	all, err := s.desk.Evidence(context.Background(), restored)
	must(t, err)
	has(t, all, desk.FromRecord, "no send of it is known", desk.ProvesNothing, "")
	has(t, all, desk.FromMailbox, "Message-ID is not known", desk.ProvesNothing, "")
	if asked := len(box.asked); len(s.evidence(s.stores(ledger.Queue))) != 1 || len(box.asked) != asked {
		t.Error("a message that was never sent is looked for")
	}
}

// The mailbox is searched before a decision that would have it sent again.
func TestNotReceivedSearchesTheMailboxFirst(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	box := s.withInbox()
	box.result.Found = []mailbox.Mail{arrival}
	row := s.doubts(time.Now(), "contact", "closed@dot")
	_, err := s.decides(row, ledger.NotReceived)
	if !errors.As(err, new(*desk.ArrivedError)) || s.row(row) != row || len(s.story(row, ledger.EventNoted)) != 1 {
		t.Errorf("%v: %+v", err, s.row(row))
	}
	s.ledger.Fail("Record", ledgertest.Before, 1)
	other := s.doubts(time.Now(), "contact", "closed@dot")
	if _, err := s.decides(other, ledger.NotReceived); !errors.Is(err, ledgertest.ErrInjected) || s.row(other) != other {
		t.Errorf("a find that could not be recorded: %v", err)
	}
	asked := len(box.asked)
	for _, kind := range []ledger.DecisionKind{ledger.NotReceived, ledger.Close} {
		if _, err := s.desk.Resolve(ctx, row.ID.String(), desk.Ruling{Kind: kind, By: "ada", Note: "not that one", Despite: kind == ledger.NotReceived}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if len(box.asked) != asked {
		t.Error("the mailbox was searched for nothing")
	}
}

// Looking at evidence seals nothing at the relay.
func TestEvidenceAsksTheRelayAndSealsNothing(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.net.holds(true)
	w.visit(id)
	w.net.holds(false)
	evidence := func() []desk.Evidence {
		all, err := w.desk.Evidence(context.Background(), desk.Case{Row: w.row(id)})
		must(t, err)
		return all
	}
	has(t, evidence(), desk.FromRelay, "has never seen the call", desk.ProvesNothing, "")
	says(t, w.net.repeats(), `"status":"accepted"`) // it was not sealed
	has(t, evidence(), desk.FromRelay, "Asked now, the relay vouches for it", desk.ProvesAccepted, ledger.Received)
	w.is(id, ledger.Uncertain, ledger.NeedsUncertain, 1)
	w.reconcile(id, false)
	if all := evidence(); len(all) != 2 {
		t.Errorf("a row that is settled: %+v", all)
	}
}

func TestEvidenceOfWhatTheRelayHasSealedOrCannotTell(t *testing.T) {
	w, id := newWorld(t), fresh()
	w.net.holds(true)
	row := w.visit(id)
	w.net.holds(false)
	w.sender.Inquire(context.Background(), row, false) // another desk, which died before it recorded that
	all, err := w.desk.Evidence(context.Background(), desk.Case{Row: w.row(id)})
	must(t, err)
	has(t, all, desk.FromRelay, "it has sealed this message", desk.ProvesNotSent, ledger.NotReceived)
	w.stopRelay()
	all, err = w.desk.Evidence(context.Background(), desk.Case{Row: w.row(id)})
	must(t, err)
	has(t, all, desk.FromRelay, "no answer that counts", desk.ProvesNothing, "")
}

// Every kind of event is either evidence with a sentence, or none.
func TestEvidenceIsSaidInSentences(t *testing.T) {
	s := newShelf(t)
	for _, kind := range []ledger.EventKind{
		ledger.EventConflict, ledger.EventDoubted, ledger.EventReleased, ledger.EventLapsed, ledger.EventUnsent, ledger.EventLateAcknowledged,
		ledger.EventPartlyRefused, ledger.EventConfirmed, ledger.EventDisputed, ledger.EventReceived, ledger.EventNotReceived, ledger.EventClosed,
		ledger.EventStopped, ledger.EventSendAgain, ledger.EventAlerted, ledger.EventAlertFailed, ledger.EventWordsShown, ledger.EventNoted, ledger.EventRestored,
	} {
		e := ledger.Event{Kind: kind, At: time.Now(), LastAt: time.Now(), Actor: ledger.Operator("eve"), Times: 1}
		all, err := s.desk.Evidence(context.Background(), desk.Case{Row: s.stores(ledger.Queue), Events: []ledger.Event{e}})
		must(t, err)
		silent := slices.Contains([]ledger.EventKind{ledger.EventStopped, ledger.EventAlerted, ledger.EventAlertFailed, ledger.EventWordsShown}, kind)
		if (len(all) == 1) != silent {
			t.Errorf("%s: %+v", kind, all)
		}
		for _, one := range all {
			if !strings.HasSuffix(strings.TrimSuffix(one.Says, ")"), ".") || strings.Contains(fmt.Sprint(one), "%!") {
				t.Errorf("%s: no sentence: %q", kind, one.Says)
			}
		}
	}
}
