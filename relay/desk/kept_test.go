package desk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

func TestACaseTellsWhatIsKeptAndHowTheRelayDoes(t *testing.T) {
	s := newShelf(t)
	row := s.stores(ledger.Queue)
	state := ledger.RelayState{FailingSince: time.Now().UTC().Truncate(time.Millisecond), Cause: "connect_refused@connect"}
	must(t, s.ledger.SetRelayState(context.Background(), state))
	k := s.finds(row)
	if !k.Kept || !k.Next.After(row.CreatedAt) || k.Relay != state {
		t.Errorf("%+v", k)
	}
	if k := s.finds(s.accepts(row)); k.Kept || !k.Next.IsZero() || k.Relay != (ledger.RelayState{}) {
		t.Errorf("of an accepted message: %+v", k)
	}
	for _, method := range []string{"Outbox", "RelayState"} {
		other := s.stores(ledger.Retry)
		s.ledger.Fail(method, ledgertest.Before, 1)
		if _, err := s.desk.Find(context.Background(), other.ID.String()); !errors.Is(err, ledgertest.ErrInjected) {
			t.Errorf("without %s: %v", method, err)
		}
	}
}

func TestAListOfOneForm(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	waiting, stopped := s.stores(ledger.Retry), s.stops(ledger.Queue)
	s.takes(s.stores(ledger.Queue)) // being sent: it waits no more
	for name, c := range map[string]struct {
		f    ledger.Filter
		want []ledger.Submission
	}{
		"waiting":            {ledger.Filter{Waiting: true}, []ledger.Submission{waiting}},
		"the queue":          {ledger.Filter{NeedsSomebody: true, Form: waiting.Form}, []ledger.Submission{stopped}},
		"waiting, elsewhere": {ledger.Filter{Waiting: true, Form: "other"}, nil},
	} {
		rows, err := s.desk.List(ctx, c.f)
		must(t, err)
		if len(rows) != len(c.want) || len(rows) > 0 && rows[0].ID != c.want[0].ID {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

func TestAStoppedMessageGetsOneMoreAttempt(t *testing.T) {
	for _, policy := range []ledger.Policy{ledger.Queue, ledger.Retry} {
		s := newShelf(t)
		row := s.fails(s.fails(s.stores(policy), "smtp_451@rcpt", true), "smtp_451@rcpt", true)
		if row.Needs != ledger.NeedsStopped || !strings.Contains(desk.Sentence(row), "it has failed 2 times (last: smtp_451@rcpt)") {
			t.Errorf("%s: %+v", desk.Sentence(row), row)
		}
		if _, err := s.desk.Resolve(context.Background(), row.ID.String(), desk.Ruling{Kind: ledger.SendAgain, By: "ada"}); !errors.Is(err, desk.ErrNoteMissing) {
			t.Errorf("without a note: %v", err)
		}
		done, err := s.decides(row, ledger.SendAgain)
		must(t, err)
		if now := done.Case.Row; !now.Waiting() || now.AttemptCap != 3 || !strings.Contains(done.Said, "The courier") || done.Case.Next.After(time.Now()) {
			t.Errorf("%q: %+v", done.Said, done.Case)
		}
		if again := s.fails(done.Case.Row, "smtp_451@rcpt", true); again.Needs != ledger.NeedsStopped {
			t.Errorf("after the one attempt: %+v", again)
		}
	}
}

func TestWhatCannotBeSentAgain(t *testing.T) {
	s := newShelf(t)
	uncertain := s.fails(s.stores(ledger.Queue), "closed@dot", false)
	closed := s.stores(ledger.Retry)
	if _, err := s.decides(closed, ledger.Close); !errors.Is(err, desk.ErrWipesWords) || !s.finds(closed).Kept {
		t.Errorf("without a word about the words: %v", err)
	}
	done, err := s.desk.Resolve(context.Background(), closed.ID.String(), desk.Ruling{Kind: ledger.Close, By: "ada", Note: "looked", WipeWords: true})
	if err != nil || done.Case.Kept || !strings.Contains(done.Said, "words are wiped") {
		t.Errorf("%v: %+v", err, done)
	}
	held := ledgertest.NewClaim()
	_, err = s.ledger.Claim(context.Background(), held)
	must(t, err)
	for name, c := range map[string]struct {
		row  ledger.Submission
		want error
	}{
		"accepted":   {s.accepts(s.stores(ledger.Queue)), ledger.ErrFinal},
		"under way":  {s.takes(s.stores(ledger.Queue)), ledger.ErrClaimed},
		"waiting":    {s.stores(ledger.Retry), ledger.ErrNotStopped},
		"uncertain":  {uncertain, ledger.ErrNotStopped},
		"closed":     {closed, ledger.ErrNoWords},
		"under hold": {ledger.Submission{ID: held.ID}, ledger.ErrNoWords},
	} {
		if done, err := s.decides(c.row, ledger.SendAgain); !errors.Is(err, c.want) || done.Case.Row.ID != c.row.ID {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNotReceivedHasTheCourierSendItAgain(t *testing.T) {
	s := newShelf(t)
	for name, row := range map[string]ledger.Submission{
		"queue": s.fails(s.stores(ledger.Queue), "closed@dot", false),
		"retry": s.fails(s.fails(s.stores(ledger.Retry), "closed@dot", false), "closed@dot", false),
	} {
		if row.Status != ledger.Uncertain {
			t.Fatalf("%s: %+v", name, row)
		}
		done, err := s.decides(row, ledger.NotReceived)
		must(t, err)
		if !done.Case.Row.Waiting() || !strings.Contains(done.Said, "The courier of the running server sends it") || !strings.Contains(desk.Sentence(done.Case.Row), "the courier") {
			t.Errorf("%s: %q, %q", name, done.Said, desk.Sentence(done.Case.Row))
		}
		s.accepts(done.Case.Row)
	}
}

// A courier's call that the relay knows: the relay is asked before it is sent
// again, as under hold.
func TestNotReceivedAsksTheRelayFirstForTheCourierToo(t *testing.T) {
	w := newWorld(t)
	s := &shelf{t: t, ledger: ledgertest.NewFaulty(w.ledger), seals: newSeals(t), desk: w.desk}
	epoch := w.sender.Epoch(context.Background())
	row := s.stores(ledger.Queue)
	taken, err := w.ledger.Take(context.Background(), ledger.NewClaim{ID: row.ID, PayloadHash: row.PayloadHash, RelayEpoch: epoch,
		Token: ledgertest.NewToken(), LeaseUntil: time.Now().Add(time.Minute), At: time.Now()})
	must(t, err)
	_, err = w.ledger.Doubt(context.Background(), ledger.Ended{ID: row.ID, Claim: taken.Row.Claim, Cause: "closed@call", Attempted: true, At: time.Now()})
	must(t, err)
	done, err := s.decides(row, ledger.NotReceived)
	must(t, err)
	if !strings.Contains(done.Said, "has sealed it, so that no late copy can go out. The courier") || !done.Case.Row.Waiting() {
		t.Errorf("%q: %+v", done.Said, done.Case.Row)
	}
	w.stopRelay()
	row = s.takes(done.Case.Row)
	_, err = w.ledger.Lapse(context.Background(), time.Now().Add(time.Hour), time.Now())
	must(t, err)
	if done, err := s.decides(row, ledger.NotReceived); err != nil || !done.Case.Row.Waiting() {
		t.Errorf("a call without a memory: %v, %+v", err, done.Case.Row)
	}
}

func TestWordsAreShownOnlyOnRecord(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	row := s.stores(ledger.Queue)
	shown := func() int { return len(s.story(row, ledger.EventWordsShown)) }
	l, err := s.desk.Words(ctx, string(row.Reference), "eve")
	if err != nil || l.Text != secretWords.Text || l.ReplyTo != secretWords.ReplyTo {
		t.Errorf("%+v, %v", l, err)
	}
	if e := s.story(row, ledger.EventWordsShown); len(e) != 1 || e[0].Actor != ledger.Operator("eve") || e[0].Note != "" {
		t.Errorf("the record: %+v", e)
	}
	s.ledger.Fail("Record", ledgertest.Before, 1)
	if l, err := s.desk.Words(ctx, string(row.Reference), "eve"); !errors.Is(err, ledgertest.ErrInjected) || l.Text != "" || shown() != 1 {
		t.Errorf("without a record: %+v, %v", l, err)
	}
	s.ledger.Fail("Record", ledgertest.After, 1)
	if l, err := s.desk.Words(ctx, string(row.Reference), "eve"); !errors.Is(err, ledgertest.ErrInjected) || l.Text != "" || shown() != 2 {
		t.Errorf("a record that was not confirmed: %+v, %v", l, err)
	}
}

func TestWordsThatCannotBeShown(t *testing.T) {
	s, ctx := newShelf(t), context.Background()
	row := s.stores(ledger.Queue)
	for name, seals := range map[string]*ledger.Seals{"no keys": nil, "other keys": newSeals(t)} {
		s.desk.Seals = seals
		if _, err := s.desk.Words(ctx, row.ID.String(), "eve"); !errors.Is(err, desk.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.desk.Seals = s.seals
	if e := s.story(row, ledger.EventWordsShown); len(e) != 0 {
		t.Errorf("what was not shown is on record: %+v", e)
	}
	s.accepts(row)
	if _, err := s.desk.Words(ctx, row.ID.String(), "eve"); !errors.Is(err, ledger.ErrNoWords) {
		t.Errorf("wiped words: %v", err)
	}
	if _, err := s.desk.Words(ctx, fresh().String(), "eve"); !errors.Is(err, desk.ErrNotFound) {
		t.Errorf("an unknown ID: %v", err)
	}
}
