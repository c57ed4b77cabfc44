package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/relay/signed"
)

func TestAnInquirySealsAClaimThatWasNeverSeen(t *testing.T) {
	b := newBench(t)
	m := b.message()
	for range 2 {
		b.wants(b.asks(m), signed.StatusSealed, "")
	}
	b.wants(b.peeks(m), signed.StatusSealed, "")
	b.wants(b.sends(m), signed.StatusSealed, "") // the call that was late
	b.wantMails(0)
	b.wantRows(1)
	b.wants(b.sends(again(t, m)), signed.StatusAccepted, "")
	b.wants(b.sends(m), signed.StatusSealed, "")
	b.wantMails(1)
}

func TestAPeekSealsNothing(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.wants(b.peeks(m), signed.StatusUnseen, "")
	b.wantRows(0)
	b.wants(b.sends(m), signed.StatusAccepted, "")
	b.wants(b.peeks(m), signed.StatusAccepted, "")
	b.wantMails(1)
}

func TestASealOutlivesTheProcess(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.asks(m)
	b.start(openCalls(t, b.file))
	b.wants(b.sends(m), signed.StatusSealed, "")
	b.wantMails(0)
}

// It is the caller who knows on which memory its claim relied.
func TestAnInquiryAboutAnotherEpochIsAnsweredWithOurs(t *testing.T) {
	b := newBench(t)
	m := b.message()
	m.Epoch = "of before"
	b.wants(b.peeks(m), signed.StatusUnseen, "")
	b.wants(b.asks(m), signed.StatusSealed, "")
}

func TestALostDatabaseHasAnotherEpoch(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.sends(m)
	before := b.calls.Epoch()
	b.start(openCalls(t, tempFile(t)))
	if b.calls.Epoch() == before || uuid.Validate(b.calls.Epoch()) != nil {
		t.Fatalf("the epoch is %q, and was %q", b.calls.Epoch(), before)
	}
	for _, a := range []signed.Answer{b.peeks(m), b.sends(again(t, m)), b.asks(m), b.sends(b.message())} {
		if a.Epoch != b.calls.Epoch() {
			t.Errorf("the epoch of %+v", a)
		}
	}
	b.wants(b.sends(again(t, m)), signed.StatusRefused, "wrong_epoch")
	b.wantMails(2)
}

func TestAnInquiryOutsideItsTimeSealsNothing(t *testing.T) {
	b := newBench(t)
	m := b.message()
	for _, behind := range []time.Duration{2 * time.Minute, -5 * time.Minute} {
		b.form.behind = behind
		res, err := b.form.inquire(m, false)
		b.turnedAway(http.StatusUnauthorized, res, err)
	}
	b.wantRows(0)
	b.form.behind = 0
	b.wants(b.sends(m), signed.StatusAccepted, "")
}

func (f *formServer) hello(id, body string) (response, error) {
	return f.post(signed.PathHello, signed.TagHello, id, body)
}

func TestHelloTellsWhatACallerNeedsToKnow(t *testing.T) {
	for wantTo, change := range map[string]func(*Caller){
		owner: func(*Caller) {},
		"any": func(c *Caller) { c.To, c.AnyRecipient, c.DailyLimit = nil, true, 1 },
	} {
		b := newBench(t, func(c *Config) { change(&c.Callers[0]) })
		res, err := b.form.hello(noSubmission, "{}")
		if err != nil || !res.signed || res.status != http.StatusOK {
			t.Fatalf("%v, %+v", err, res)
		}
		var h signed.Hello
		must(t, json.Unmarshal(res.body, &h))
		if off := time.Since(h.Time).Abs(); h.Epoch != b.calls.Epoch() || off > 10*time.Second {
			t.Errorf("%+v, %s off", h, off)
		}
		if !slices.Equal(h.From, []string{shop}) || !slices.Equal(h.To, []string{wantTo}) {
			t.Errorf("%+v", h)
		}
		b.wantRows(0)
	}
}

func TestAHelloThatIsNone(t *testing.T) {
	b := newBench(t)
	res, err := b.form.hello(uuid.NewString(), "{}")
	b.turnedAway(http.StatusBadRequest, res, err)
	res, err = b.form.hello(noSubmission, `{"a":1}`)
	b.turnedAway(http.StatusBadRequest, res, err)
	b.form.behind = time.Hour
	res, err = b.form.hello(noSubmission, "{}")
	b.turnedAway(http.StatusUnauthorized, res, err)
}
