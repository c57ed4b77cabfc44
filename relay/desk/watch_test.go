package desk_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

func TestPromise7_SomebodyIsToldOnceOfWhateverNeedsThem(t *testing.T) {
	s, r := newShelf(t), newReceiver(t, http.StatusOK)
	w := s.watch(newHook(t, r.URL))
	w.Console = "https://desk.example.com"
	w.looks(0)
	s.stores(ledger.Queue) // waits, and needs nobody
	rows := []ledger.Submission{s.stops(ledger.Queue), s.fails(s.fails(s.stores(ledger.Retry), "closed@dot", false), "closed@dot", false), s.unknown(), s.unknown()}
	must(t, s.ledger.Dispute(context.Background(), ledger.Event{Submission: rows[3].ID, At: time.Now(), Kind: ledger.EventDisputed, Actor: ledger.ActorSystem}))
	rows[3] = s.row(rows[3])
	for range 2 {
		w.looks(time.Minute)
	}
	p := r.last(1)
	if p.Type != "formledger.needs_somebody" || p.Data.Count != 4 || len(p.Data.References) != 4 || !p.Data.Oldest.Equal(rows[0].UpdatedAt) {
		t.Errorf("%+v", p)
	}
	for i, needs := range []string{"stopped", "uncertain", "uncertain", "disputed"} {
		link := "https://desk.example.com/r/" + string(rows[i].Reference)
		if !slices.ContainsFunc(p.Data.References, func(r postedReference) bool { return r.Link == link && r.Needs == needs }) {
			t.Errorf("%s of %s: %+v", needs, rows[i].Reference, p.Data.References)
		}
	}
	for _, row := range rows {
		if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlerted || e[0].Actor != ledger.ActorSystem || e[0].Cause != "" || e[0].Note != "by webhook" {
			t.Errorf("%+v", e)
		}
	}
	for _, text := range append(r.got(), w.log.String()) {
		for _, secret := range []string{"confidential", "ann@", rows[0].ID.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}

// The first is told of at once, what follows is gathered, and what does not go on
// by itself does not wait for that.
func TestOneMessageForMany(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	first := s.unknown()
	w.looks(0)
	if a := e.last(t, 1); a.Count != 1 || a.References[0].Reference != first.Reference || a.Title() != "1 reference needs you" {
		t.Errorf("%+v", a)
	}
	s.unknownMany(500)
	w.looks(5 * time.Second)
	w.looks(110 * time.Second)
	e.last(t, 1)
	w.looks(5 * time.Second)
	if a := e.last(t, 2); a.Count != 500 || len(a.References) != 20 || !strings.Contains(a.Text(5000), "and 480 more") {
		t.Errorf("%+v", a)
	}
	s.unknown()
	stopped := s.stops(ledger.Queue)
	w.looks(4 * time.Second)
	e.last(t, 2)
	w.looks(5 * time.Second)
	if a := e.last(t, 3); a.Count != 2 || a.References[1].Reference != stopped.Reference {
		t.Errorf("%+v", a)
	}
	w.ahead -= time.Hour // the clock is set back
	s.unknown()
	w.looks(0)
	e.last(t, 4)
}

// Enquiries go on meanwhile, and nobody gets ten thousand messages.
func TestTenThousandAreOneMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: ten thousand references at once. It takes some seconds.")
	}
	const many = 10_000
	s, e := newShelf(t), &ear{name: "ear"}
	s.unknownMany(many)
	w := s.watch(e)
	done, longest := make(chan struct{}), time.Duration(0)
	var visitors sync.WaitGroup
	visitors.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			start := time.Now()
			_, err := s.ledger.Claim(context.Background(), ledgertest.NewClaim())
			if longest = max(longest, time.Since(start)); err != nil {
				t.Error(err)
			}
		}
	})
	start := time.Now()
	w.looks(0)
	close(done)
	visitors.Wait()
	t.Logf("told and recorded within %s; the longest claim meanwhile took %s", time.Since(start), longest)
	w.looks(5 * time.Minute)
	if a := e.last(t, 1); a.Count != many || len(a.References) != 20 {
		t.Errorf("%d, %d", a.Count, len(a.References))
	}
	if longest > 5*time.Second {
		t.Errorf("an enquiry waited %s", longest)
	}
}

func TestAReceiverThatIsDownIsOnRecord(t *testing.T) {
	s, r := newShelf(t), newReceiver(t, http.StatusServiceUnavailable)
	w := s.watch(newHook(t, r.URL))
	row := s.stops(ledger.Queue)
	w.looks(0)
	w.looks(time.Minute)
	if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlertFailed || e[0].Cause != "alert_refused" || e[0].Note != "webhook: the receiver answered 503" {
		t.Errorf("%+v", e)
	}
	if len(r.got()) != 1 || !strings.Contains(w.log.String(), "told=false") || !strings.Contains(w.log.String(), "webhook: alert_refused") {
		t.Errorf("%d requests, log %s", len(r.got()), w.log)
	}
	again, err := s.decides(row, ledger.SendAgain) // what stops once more is told once more
	must(t, err)
	s.fails(again.Case.Row, ledger.ForGood("smtp_550@rcpt"), true)
	w.looks(time.Minute)
	if len(r.got()) != 2 || r.ids[0] == r.ids[1] {
		t.Errorf("after one more attempt: %v", r.ids)
	}
}

// All channels are tried, and one is enough.
func TestOneChannelIsEnough(t *testing.T) {
	s, good := newShelf(t), &ear{name: "ntfy"}
	hush := &ear{name: "gotify", fail: func(context.Context) error { return errors.New("hush") }}
	w := s.watch(newHook(t, newReceiver(t, http.StatusInternalServerError).URL), hush, good)
	row := s.unknown()
	w.looks(0)
	good.last(t, 1)
	var told []string
	for _, e := range s.alerts(row) {
		told = append(told, strings.Join([]string{string(e.Kind), e.Cause, e.Note}, " | "))
	}
	slices.Sort(told)
	want := []string{"alert_failed | alert_failed | gotify: the receiver could not be told", "alert_failed | alert_refused | webhook: the receiver answered 500", "alerted |  | by ntfy"}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	w.looks(time.Hour)
	good.last(t, 1)
}

func TestWithoutAChannelThatIsOnRecordToo(t *testing.T) {
	s := newShelf(t)
	row := s.stops(ledger.Retry)
	w := s.watch()
	w.looks(0)
	if e := s.alerts(row); len(e) != 1 || e[0].Kind != ledger.EventAlertFailed || e[0].Cause != "no_channel" || e[0].Note != "no alert channel is configured" {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(w.log.String(), string(row.Reference)) {
		t.Errorf("the log does not say it: %s", w.log)
	}
	w.looks(48 * time.Hour)
	if own := s.own(); len(own) != 0 {
		t.Errorf("%v", own)
	}
}

// An alert twice is better than none: what cannot be recorded is told again, and
// what was recorded all the same is not.
func TestAnAlertThatCannotBeRecorded(t *testing.T) {
	for when, alerts := range map[ledgertest.When]int{ledgertest.Before: 2, ledgertest.After: 1} {
		s, e := newShelf(t), &ear{name: "ear"}
		row := s.stops(ledger.Queue)
		w := s.watch(e)
		s.ledger.Fail("Record", when, 1)
		if err := w.Once(context.Background()); !errors.Is(err, ledgertest.ErrInjected) || !strings.Contains(err.Error(), string(row.Reference)) {
			t.Errorf("%v", err)
		}
		w.looks(time.Minute)
		if told := s.alerts(row); len(told) != 1 || e.last(t, alerts).ID != e.heard[0].ID {
			t.Errorf("%+v", told)
		}
	}
	for _, method := range []string{"Unalerted", "Duty", "RelayState", "Events", "List"} {
		s := newShelf(t)
		s.unknown()
		s.ledger.Fail(method, ledgertest.Before, 1)
		if err := s.watch(&ear{}).Once(context.Background()); !errors.Is(err, ledgertest.ErrInjected) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// A stop in the middle of an alert does not count as one that failed.
func TestAnAlertThatIsCutShortIsRaisedAtTheNextStart(t *testing.T) {
	s := newShelf(t)
	row := s.stops(ledger.Queue)
	ctx, cancel := context.WithCancel(context.Background())
	e := &ear{name: "ear", fail: func(ctx context.Context) error { cancel(); return ctx.Err() }}
	w := s.watch(e)
	if err := w.Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if e := s.alerts(row); len(e) != 0 {
		t.Errorf("%+v", e)
	}
	ctx, cancel = context.WithCancel(context.Background())
	e.fail = func(context.Context) error { cancel(); return nil } // it arrived all the same
	next := s.watch(e)                                            // the one before does not keep it from the duty
	if err := next.Once(ctx); !errors.Is(err, context.Canceled) || len(s.alerts(row)) != 1 {
		t.Errorf("%v: %+v", err, s.alerts(row))
	}
	s.watch(e).looks(0)
	e.last(t, 1)
}

// A clock that was set back makes no storm.
func TestARowOfTheFutureIsToldOnce(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	w := s.watch(e)
	w.ahead = -24 * time.Hour
	row := s.unknown()
	for range 3 {
		w.looks(3 * time.Minute)
	}
	if told := s.alerts(row); len(told) != 1 || !told[0].At.Equal(row.UpdatedAt) {
		t.Errorf("%+v", told)
	}
	kinds := map[desk.AlertKind]int{}
	for _, a := range e.heard {
		kinds[a.Kind]++
	}
	if kinds[desk.NeedsSomebody] != 1 || kinds[desk.StillOpen] != 1 {
		t.Errorf("%v", kinds)
	}
}

// Of two on one ledger, one tells; and neither is silenced for long by one that died.
func TestTwoWatchersOnOneLedger(t *testing.T) {
	s, e := newShelf(t), &ear{name: "ear"}
	e.fail = func(context.Context) error { time.Sleep(20 * time.Millisecond); return nil }
	one, two := s.watch(e), s.watch(e)
	rows := []ledger.Submission{s.unknown(), s.stops(ledger.Queue)}
	var both sync.WaitGroup
	for _, w := range []*watch{one, two} {
		both.Go(func() { w.looks(0) })
	}
	both.Wait()
	one.looks(time.Minute)
	two.looks(time.Minute)
	if a := e.last(t, 1); a.Count != 2 {
		t.Errorf("%+v", a)
	}
	for _, row := range rows {
		if told := s.alerts(row); len(told) != 1 {
			t.Errorf("%+v", told)
		}
	}
	late := s.unknown()
	died := ledger.Duty{Name: "alerts", Holder: ledgertest.NewToken(), At: time.Now().Add(10 * time.Minute), Until: time.Now().Add(11 * time.Minute)}
	taken, err := s.ledger.Duty(context.Background(), died)
	if must(t, err); !taken {
		t.Fatal("the duty is taken")
	}
	one.looks(9 * time.Minute)
	e.last(t, 1)
	one.looks(61 * time.Second)
	if a := e.last(t, 2); a.References[0].Reference != late.Reference {
		t.Errorf("%+v", a)
	}
}

// unalerted is a ledger whose rows cannot be read at first.
type unalerted struct {
	ledger.Ledger
	looks int
}

func (u *unalerted) Unalerted(context.Context, int) ([]ledger.Submission, error) {
	u.looks++
	return nil, ledgertest.ErrInjected
}

func TestAWatcherGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		u := &unalerted{}
		w := &desk.Watcher{Ledger: u, Now: time.Now, Every: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Second)
		defer cancel()
		w.Run(ctx)
		if u.looks != 3 || !strings.Contains(log.String(), "telling somebody failed") {
			t.Errorf("%d looks: %s", u.looks, log.String())
		}
	})
}
