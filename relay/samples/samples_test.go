package samples_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay/signed"
)

const words = "Grüße, 私 and a line\n.\nFrom here on = 20 %\n"

// message is a call's body, under a fresh claim of a fresh submission.
func (r *rig) message(epoch string) signed.Message {
	id := uuid.Must(uuid.NewV7())
	return signed.Message{
		SubmissionID: id, PayloadHash: "v1.k.00ff", Claim: claim(r.t), Epoch: epoch, Reference: ledger.ReferenceOf(id),
		From: from, To: []string{to}, ReplyTo: "ada@example.org", Subject: "Anfrage über die Website",
		Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), MessageID: "m1@example.com", Text: words,
	}
}

func claim(t *testing.T) string {
	t.Helper()
	token, err := ledger.NewToken(rand.Reader)
	must(t, err)
	return token.String()
}

func (r *rig) hello() signed.Hello {
	r.t.Helper()
	var h signed.Hello
	must(r.t, json.Unmarshal(r.answered(r.sign(signed.TagHello, signed.PathHello, uuid.Nil.String(), []byte("{}"), time.Now())), &h))
	return h
}

// send signs the call of a message now.
func (r *rig) send(m signed.Message) *call { return r.sendAt(m, time.Now()) }

func (r *rig) sendAt(m signed.Message, at time.Time) *call {
	r.t.Helper()
	return r.sign(signed.TagSend, signed.PathSend, m.SubmissionID.String(), encoded(r.t, m), at)
}

func (r *rig) inquiry(m signed.Message, peek bool) *call {
	r.t.Helper()
	q := signed.Inquiry{SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim, Epoch: m.Epoch, Peek: peek}
	return r.sign(signed.TagInquiry, signed.PathInquire, m.SubmissionID.String(), encoded(r.t, q), time.Now())
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	must(t, err)
	return body
}

// wantAnswer compares an answer with what it has to say about a message.
func wantAnswer(t *testing.T, got signed.Answer, m signed.Message, want signed.Answer) {
	t.Helper()
	want.SubmissionID, want.PayloadHash, want.Claim, want.Epoch = m.SubmissionID, m.PayloadHash, m.Claim, m.Epoch
	if want.Receipt == "" {
		got.Receipt = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer is another (-want +got):\n%s", diff)
	}
}

func TestSamplesSendOnce(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		h := r.hello()
		if h.Epoch == "" || time.Since(h.Time).Abs() > time.Minute || !slices.Equal(h.From, []string{from}) || !slices.Equal(h.To, []string{to}) {
			t.Errorf("hello says %+v", h)
		}
		m := r.message(h.Epoch)
		first := r.told(r.send(m))
		wantAnswer(t, first, m, signed.Answer{Status: signed.StatusAccepted})
		if first.Receipt == "" {
			t.Error("there is no receipt")
		}
		r.wantSent(1)

		for what, again := range map[string]*call{"a repeated call": r.send(m), "an inquiry": r.inquiry(m, false),
			"a peek": r.inquiry(m, true), "a call that comes late": r.sendAt(m, time.Now().Add(-time.Hour))} {
			if diff := cmp.Diff(first, r.told(again)); diff != "" {
				t.Errorf("%s gets another answer (-want +got):\n%s", what, diff)
			}
		}
		r.wantSent(1)

		r.stop()
		r.start(accept)
		if again := r.hello(); again.Epoch != h.Epoch {
			t.Errorf("after a restart the epoch is %q, and was %q", again.Epoch, h.Epoch)
		}
		if diff := cmp.Diff(first, r.told(r.send(m))); diff != "" {
			t.Errorf("after a restart the answer is another (-want +got):\n%s", diff)
		}
		r.wantSent(1)
	})
}

func TestSamplesSendOnceAmongManyAtOnce(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		epoch := r.hello().Epoch
		for round := range 8 {
			first := r.message(epoch)
			second := first
			second.Claim = claim(t)
			var calls []*call
			for range 3 {
				calls = append(calls, r.send(first), r.send(second))
			}
			var all sync.WaitGroup
			for _, c := range calls {
				all.Go(func() {
					if _, err := r.try(c); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			r.wantSent(round + 1)
			r.wantOneAccepted(first, second)
		}
	})
}

// wantOneAccepted: the other claim was refused, or points to it.
func (r *rig) wantOneAccepted(claims ...signed.Message) {
	r.t.Helper()
	accepted := 0
	for _, m := range claims {
		switch a := r.told(r.inquiry(m, true)); {
		case a.Status == signed.StatusAccepted && a.Earlier == "":
			accepted++
		case a.Status != signed.StatusAccepted && a.Code != "busy":
			r.t.Errorf("the other claim is %+v", a)
		}
	}
	if accepted != 1 {
		r.t.Errorf("%d claims are accepted by themselves", accepted)
	}
}

func TestSamplesTurnAwayWhatIsNoCall(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		m := r.message(r.hello().Epoch)
		id, now := m.SubmissionID.String(), time.Now()
		with := func(change func(*signed.Message)) *call {
			other := m
			change(&other)
			return r.sign(signed.TagSend, signed.PathSend, id, encoded(t, other), now)
		}
		for what, c := range map[string]*call{
			"no JSON":                  r.sign(signed.TagSend, signed.PathSend, id, []byte("{"), now),
			"an empty body":            r.sign(signed.TagSend, signed.PathSend, id, nil, now),
			"something else":           r.sign(signed.TagSend, signed.PathSend, id, []byte(`"text"`), now),
			"null":                     r.sign(signed.TagSend, signed.PathSend, id, []byte(`null`), now),
			"an inquiry":               r.sign(signed.TagSend, signed.PathSend, id, inquiryOf(t, m), now),
			"another submission":       with(func(m *signed.Message) { m.SubmissionID = uuid.New() }),
			"no claim":                 with(func(m *signed.Message) { m.Claim = "" }),
			"a claim that is too long": with(func(m *signed.Message) { m.Claim += "A" }),
			"another spelling":         with(func(m *signed.Message) { m.Claim = m.Claim[:21] + "B" }),
			"a path for a claim":       with(func(m *signed.Message) { m.Claim = "../../../../../../aaaaA"[:22] }),
			"no hash":                  with(func(m *signed.Message) { m.PayloadHash = "" }),
			"no recipient":             with(func(m *signed.Message) { m.To = nil }),
			"too many recipients":      with(func(m *signed.Message) { m.To = slices.Repeat(m.To, 101) }),
			"a hello that says more":   r.sign(signed.TagHello, signed.PathHello, uuid.Nil.String(), []byte(`{"a":1}`), now),
			"a hello about something":  r.sign(signed.TagHello, signed.PathHello, id, []byte(`{}`), now),
		} {
			t.Run(what, func(t *testing.T) { r.at(t).turnedAway(http.StatusBadRequest, c) })
		}
		m.Text = strings.Repeat("x", signed.MaxCall)
		r.turnedAway(http.StatusRequestEntityTooLarge, r.send(m))
		m.Text = words
		r.wantSent(0)
		if a := r.told(r.inquiry(m, true)); a.Status != signed.StatusUnseen {
			t.Errorf("something was recorded: %+v", a)
		}
	})
}

func TestSamplesSealWhatTheyRefuse(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		good := r.message(r.hello().Epoch)
		refused := func(code string, permanent bool) signed.Answer {
			return signed.Answer{Status: signed.StatusRefused, Code: code, Permanent: permanent}
		}
		for what, test := range map[string]struct {
			change func(*signed.Message)
			late   time.Duration
			want   signed.Answer
		}{
			"held up":               {late: 2 * time.Minute, want: refused(signed.CodeExpired, false)},
			"from the future":       {late: -5 * time.Minute, want: refused(signed.CodeTooEarly, false)},
			"another memory":        {change: func(m *signed.Message) { m.Epoch = "another" }, want: refused("wrong_epoch", false)},
			"another sender":        {change: func(m *signed.Message) { m.From = "other@example.com" }, want: refused("from_not_allowed", true)},
			"another recipient":     {change: func(m *signed.Message) { m.To = []string{"victim@example.net"} }, want: refused("to_not_allowed", true)},
			"one recipient of two":  {change: func(m *signed.Message) { m.To = append(m.To, "victim@example.net") }, want: refused("to_not_allowed", true)},
			"a recipient in a name": {change: func(m *signed.Message) { m.To = []string{"victim@example.net, <" + to + ">"} }, want: refused("to_not_allowed", true)},
		} {
			t.Run(what, func(t *testing.T) {
				r := r.at(t)
				m := good
				m.SubmissionID, m.Claim = uuid.New(), claim(t)
				again := m
				if test.change != nil {
					m.To = slices.Clone(m.To)
					test.change(&m)
				}
				first := r.told(r.sendAt(m, time.Now().Add(-test.late)))
				asked := m
				asked.Epoch = good.Epoch // an answer names the relay's own
				wantAnswer(t, first, asked, test.want)
				if diff := cmp.Diff(first, r.told(r.send(again))); diff != "" {
					t.Errorf("in time and as it should be, the same claim gets another answer (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(first, r.told(r.inquiry(again, false))); diff != "" {
					t.Errorf("an inquiry gets another answer (-want +got):\n%s", diff)
				}
				r.wantSent(0)
			})
		}
	})
}

func TestSamplesAnswerInquiries(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		m := r.message(r.hello().Epoch)
		for range 2 { // a peek leaves nothing behind
			wantAnswer(t, r.told(r.inquiry(m, true)), m, signed.Answer{Status: signed.StatusUnseen})
		}
		wantAnswer(t, r.told(r.inquiry(m, false)), m, signed.Answer{Status: signed.StatusSealed})
		wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusSealed})
		r.wantSent(0)

		other := m // the claim is known, but not of this content
		other.PayloadHash = "v1.k.11"
		r.turnedAway(http.StatusConflict, r.send(other))
		other = m
		other.SubmissionID = uuid.New()
		r.turnedAway(http.StatusConflict, r.inquiry(other, false))

		fresh := m
		fresh.Claim = claim(t)
		wantAnswer(t, r.told(r.send(fresh)), fresh, signed.Answer{Status: signed.StatusAccepted})
		r.wantSent(1)
	})
}

func TestSamplesKnowAnotherClaimOfTheSame(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		first := r.message(r.hello().Epoch)
		receipt := r.told(r.send(first)).Receipt
		second, third, other := first, first, first
		second.Claim, third.Claim, other.Claim = claim(t), claim(t), claim(t)
		other.PayloadHash = "v1.k.11"
		for _, m := range []signed.Message{second, third, second} {
			wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusAccepted, Earlier: first.Claim, Receipt: receipt})
		}
		wantAnswer(t, r.told(r.send(other)), other, signed.Answer{Status: signed.StatusRefused, Code: "other_content", Permanent: true})
		r.wantSent(1)
	})
}

// TestSamplesKilledBetweenClaimAndSend is the worst moment: the claim is on
// record, and nobody but the dead process knew whether anything was sent.
func TestSamplesKilledBetweenClaimAndSend(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		m := r.message(r.hello().Epoch)
		r.stop()
		r.start(die)
		if got, err := r.try(r.send(m)); err == nil {
			t.Fatalf("there was an answer: %d %s", got.status, got.body)
		}
		r.stop()
		r.start(accept)
		wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusProcessing})
		wantAnswer(t, r.told(r.inquiry(m, false)), m, signed.Answer{Status: signed.StatusProcessing})
		other := m
		other.Claim = claim(t)
		wantAnswer(t, r.told(r.send(other)), other, signed.Answer{Status: signed.StatusRefused, Code: "busy"})
		r.wantSent(0)
	})
}

// TestSamplesForgetNoClaimWithoutResult: after minutes a send that left no result
// is no longer under way, but nobody knows more.
func TestSamplesForgetNoClaimWithoutResult(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		m := r.message(r.hello().Epoch)
		r.stop()
		r.start(die)
		if _, err := r.try(r.send(m)); err == nil {
			t.Fatal("there was an answer")
		}
		r.stop()
		r.anHourPasses()
		r.start(accept)
		wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusUncertain})
		wantAnswer(t, r.told(r.inquiry(m, false)), m, signed.Answer{Status: signed.StatusUncertain})
		r.wantSent(0)
		other := m // whoever settled it may send under another claim
		other.Claim = claim(t)
		wantAnswer(t, r.told(r.send(other)), other, signed.Answer{Status: signed.StatusAccepted})
		r.wantSent(1)
	})
}

func TestSamplesCallDoubtUncertain(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		code := map[string]string{"worker": "send_without_result", "php": "sendmail_exit_75"}[r.name]
		r.start(doubt)
		m := r.message(r.hello().Epoch)
		wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusUncertain, Code: code})
		r.wantSent(1)
		r.stop()
		r.start(accept)
		for _, again := range []*call{r.send(m), r.inquiry(m, false)} {
			wantAnswer(t, r.told(again), m, signed.Answer{Status: signed.StatusUncertain, Code: code})
		}
		r.wantSent(1)
	})
}

func TestSamplesPassARefusalOn(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		want := signed.Answer{Status: signed.StatusRefused, Code: "no_sendmail"}
		if r.name == "worker" {
			want.Code, want.Permanent = "mailbox_full", true
		}
		r.start(refuse)
		m := r.message(r.hello().Epoch)
		wantAnswer(t, r.told(r.send(m)), m, want)
		r.stop()
		r.start(accept)
		wantAnswer(t, r.told(r.send(m)), m, want)
		r.wantSent(0)
	})
}

// TestSamplesStayShort: whoever takes one over should be able to read it.
func TestSamplesStayShort(t *testing.T) {
	for _, file := range []string{"worker/relay.js", "php/relay.php"} {
		text, err := os.ReadFile(file)
		must(t, err)
		if lines := bytes.Count(text, []byte("\n")); lines >= 200 {
			t.Errorf("%s has %d lines", file, lines)
		}
	}
}
