package signed

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

func rowOf(m relay.Message) ledger.Submission {
	return ledger.Submission{ID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim, RelayEpoch: m.RelayEpoch}
}

// saysEpoch answers a hello.
func saysEpoch(epoch string) func(*heard) {
	return func(h *heard) { h.writes(h.signs(must1(json.Marshal(Hello{Epoch: epoch})))) }
}

func TestTheEpochIsAskedForOnce(t *testing.T) {
	r := newRelay(t, true)
	r.plays(func(h *heard) {
		if h.opened.Tag != TagHello || h.opened.Path != PathHello || string(h.body) != "{}" {
			t.Errorf("%s\n%s", h.opened.Path, h.body)
		}
		h.answersWell()
	})
	s := newSender(t, r)
	for range 3 {
		if got := s.Epoch(within(t, patience)); got != epoch {
			t.Errorf("epoch %q", got)
		}
	}
	r.saw(1, 1)
}

func TestManyWhoNeedTheEpochMakeOneHello(t *testing.T) {
	r := newRelay(t, false)
	goOn := make(chan struct{})
	r.plays(func(h *heard) { <-goOn; h.answersWell() })
	s := newSender(t, r)
	var began, all sync.WaitGroup
	for range 50 {
		began.Add(1)
		all.Go(func() {
			began.Done()
			if got := s.Epoch(within(t, patience)); got != epoch {
				t.Errorf("epoch %q", got)
			}
		})
	}
	began.Wait()
	close(goOn)
	all.Wait()
	r.saw(1, 1)
}

// Nobody has to wait for an answer that others asked for, longer than they like.
func TestWhoeverGoesAwayDoesNotWaitForTheHello(t *testing.T) {
	r := newRelay(t, false)
	asked, goOn := make(chan struct{}), make(chan struct{})
	r.plays(func(h *heard) { close(asked); <-goOn; h.answersWell() })
	s := newSender(t, r)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	if got := s.Epoch(ctx); got != "" {
		t.Errorf("epoch %q", got)
	}
	close(goOn)
	if got := s.Epoch(within(t, patience)); got != epoch { // the question went on without them
		t.Errorf("epoch %q", got)
	}
	r.saw(1, 1)
}

// The clock is synctest's, which stands still while the network is at work.
func TestARelayThatIsDownIsAskedAgainAfterASecond(t *testing.T) {
	r := newRelay(t, false)
	r.greets(func(net.Conn) bool { return true })
	s := newSender(t, r)
	synctest.Test(t, func(t *testing.T) {
		ask := func(hellos int) {
			t.Helper()
			began := time.Now()
			if got := s.Epoch(context.Background()); got != "" || time.Since(began) != 0 {
				t.Errorf("epoch %q after %s", got, time.Since(began))
			}
			r.saw(hellos, 0)
		}
		ask(1)
		ask(1)
		time.Sleep(forgetFailure - time.Nanosecond)
		ask(1)
		time.Sleep(time.Nanosecond)
		ask(2)
		ask(2)
		r.greets(func(net.Conn) bool { return false })
		time.Sleep(forgetFailure)
		if got := s.Epoch(context.Background()); got != epoch {
			t.Errorf("epoch %q", got)
		}
		r.saw(3, 1)
	})
}

func TestAHelloThatIsNoneTellsNoEpoch(t *testing.T) {
	body := func(text string) func(*heard) { return func(h *heard) { h.writes(h.signs([]byte(text))) } }
	for name, c := range map[string]struct {
		does func(*heard)
		want string
	}{
		"unsigned":            {raw("HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"epoch\":\"epoch-1\"}"), "answer_unverified@answer"},
		"a proxy's":           {raw("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"), "http_502@answer"},
		"no epoch":            {saysEpoch(""), "answer_malformed@answer"},
		"two epochs":          {body(`{"epoch":"a","epoch":"b"}`), "answer_malformed@answer"},
		"an answer to a send": {body(`{"status":"accepted"}`), "answer_malformed@answer"},
		"null":                {body(`null`), "answer_malformed@answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, false)
			r.plays(c.does)
			s := newSender(t, r)
			if hello, cause := s.Hello(within(t, patience)); cause.String() != c.want || hello.Epoch != "" {
				t.Errorf("%+v, %s", hello, cause)
			}
			if got := s.Epoch(within(t, patience)); got != "" {
				t.Errorf("epoch %q", got)
			}
			r.saw(2, 2)
		})
	}
}

func TestHelloTellsWhatTheRelaySaid(t *testing.T) {
	r := newRelay(t, false)
	want := Hello{Epoch: epoch, Time: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), From: []string{"form@shop.example"}, To: []string{"any"}}
	r.plays(func(h *heard) { h.writes(h.signs(must1(json.Marshal(want)))) })
	got, cause := newSender(t, r).Hello(within(t, patience))
	if cause != (relay.Cause{}) || got.Epoch != want.Epoch || !got.Time.Equal(want.Time) || got.From[0] != want.From[0] || got.To[0] != want.To[0] {
		t.Errorf("%+v, %s", got, cause)
	}
}

// A changed epoch is found out by the answer to a call or an inquiry. What it
// says is in doubt, and the next claim relies on the new one.
func TestAChangedEpochIsForgotten(t *testing.T) {
	for name, calls := range map[string]func(*testing.T, *Sender) relay.Verdict{
		"send": func(t *testing.T, s *Sender) relay.Verdict { return send(t, s) },
		"inquiry": func(t *testing.T, s *Sender) relay.Verdict {
			return s.Inquire(within(t, patience), rowOf(message()), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, false)
			s := newSender(t, r)
			if got := s.Epoch(within(t, patience)); got != epoch {
				t.Errorf("epoch %q", got)
			}
			r.plays(func(h *heard) {
				if h.opened.Tag == TagHello {
					saysEpoch("epoch-2")(h)
					return
				}
				saysOf(StatusRefused, func(a *Answer) { a.Epoch, a.Code = "epoch-2", "wrong_epoch" })(h)
			})
			if v := calls(t, s); terse(v) != "unknown epoch_changed@answer" {
				t.Error(terse(v))
			}
			for range 2 {
				if got := s.Epoch(within(t, patience)); got != "epoch-2" {
					t.Errorf("epoch %q", got)
				}
			}
			r.saw(3, 3)
			if v := calls(t, s); terse(v) != "unknown epoch_changed@answer" { // an old claim again
				t.Error(terse(v))
			}
			if got := s.Epoch(within(t, patience)); got != "epoch-2" {
				t.Errorf("epoch %q", got)
			}
			r.saw(4, 4)
		})
	}
}
