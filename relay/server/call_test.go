package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

func TestACallIsSentOnceAndAcknowledged(t *testing.T) {
	b := newBench(t)
	m := b.message()
	a := b.sends(m)
	b.wants(a, signed.StatusAccepted, "")
	b.wantMails(1)
	if a.Receipt != "250 taken" || a.Earlier != "" || a.Partly || a.Permanent {
		t.Errorf("%+v", a)
	}
	mail := b.box.mails[0]
	if mail.Claim.String() != m.Claim || !strings.Contains(string(mail.Bytes), "confidential words") || !strings.Contains(string(mail.Bytes), string(m.Reference)) {
		t.Errorf("another message was sent: %s", mail.Bytes)
	}
	if r := rowOf(t, b.calls, m.Claim); r.status != signed.StatusAccepted || r.holder == "" || r.receipt != "250 taken" {
		t.Errorf("%+v", r)
	}
}

func TestARepeatedClaimGetsTheRecordedAnswerAndSendsNothing(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		verdict relay.Verdict
		status  signed.Status
	}{
		{relay.AcceptedWith("250 taken"), signed.StatusAccepted},
		{relay.Verdict{Finding: relay.Accepted, Receipt: "250", Partly: true, Conversation: "550 no"}, signed.StatusAccepted},
		{relay.ProvenNotSent("refused", "dot"), signed.StatusRefused},
		{relay.Verdict{Finding: relay.NotSent, Permanent: true, Conversation: "550 no", Cause: relay.Cause{Code: "refused", Stage: "dot"}}, signed.StatusRefused},
		{relay.UnknownAfter("timeout", "dot"), signed.StatusUncertain},
	} {
		b.box.says(c.verdict)
		m, before := b.message(), b.box.calls()
		first := b.sends(m)
		b.wants(first, c.status, c.verdict.Cause.Code)
		if first.Permanent != c.verdict.Permanent || first.Partly != c.verdict.Partly || first.Stage != c.verdict.Cause.Stage || first.Conversation != c.verdict.Conversation {
			t.Errorf("%+v, of %+v", first, c.verdict)
		}
		b.box.says(relay.AcceptedWith("another"))
		for _, again := range []signed.Answer{b.sends(m), b.asks(m), b.peeks(m)} {
			if again != first {
				t.Errorf("first %+v, then %+v", first, again)
			}
		}
		b.wantMails(before + 1)
	}
}

func TestAnAcceptedClaimStaysAcceptedAfterItsCallHasExpired(t *testing.T) {
	b := newBench(t)
	m := b.message()
	first := b.sends(m)
	b.clock.advance(48 * time.Hour)
	b.form.behind = 48 * time.Hour // the call of then
	if again := b.sends(m); again != first {
		t.Errorf("first %+v, then %+v", first, again)
	}
	b.form.behind = 0
	if again := b.sends(m); again != first {
		t.Errorf("first %+v, then %+v", first, again)
	}
	b.wantMails(1)
}

func TestACallOutsideItsTimeIsSealedAndStaysRefused(t *testing.T) {
	for code, behind := range map[string]time.Duration{
		signed.CodeExpired: 2 * time.Minute, signed.CodeTooEarly: -5 * time.Minute,
	} {
		b := newBench(t)
		m := b.message()
		b.form.behind = behind
		b.wants(b.sends(m), signed.StatusRefused, code)
		if r := rowOf(t, b.calls, m.Claim); r.status != signed.StatusRefused || r.holder != "" {
			t.Errorf("%+v", r)
		}
		b.form.behind = 0
		b.wants(b.sends(m), signed.StatusRefused, code)
		b.wants(b.asks(m), signed.StatusRefused, code)
		b.wantMails(0)
		b.wants(b.sends(again(t, m)), signed.StatusAccepted, "")
		b.wantMails(1)
	}
}

func TestWhatMayNotBeSentIsSealedAndRefused(t *testing.T) {
	for code, c := range map[string]struct {
		spoil     func(*signed.Message)
		permanent bool
	}{
		"wrong_epoch":      {func(m *signed.Message) { m.Epoch = "another" }, false},
		"from_not_allowed": {func(m *signed.Message) { m.From = "boss@bank.example" }, true},
		"to_not_allowed":   {func(m *signed.Message) { m.To = []string{owner, "victim@else.example"} }, true},
		"not_rendered":     {func(m *signed.Message) { m.Subject = "two\nlines" }, true},
		"too_many_recipients": {func(m *signed.Message) {
			m.To = strings.Split(strings.Repeat(owner+" ", 101), " ")[:101]
		}, true},
	} {
		b := newBench(t)
		m := b.message()
		good := m
		c.spoil(&m)
		a := b.sends(m)
		b.wants(a, signed.StatusRefused, code)
		if a.Permanent != c.permanent {
			t.Errorf("%s: permanent is %v", code, a.Permanent)
		}
		b.wantRows(1)
		b.wants(b.sends(good), signed.StatusRefused, code) // the claim, not the message
		b.wantMails(0)
	}
}

func TestNoRecipientIsNotRendered(t *testing.T) {
	b := newBench(t)
	m := b.message()
	m.To = nil
	b.wants(b.sends(m), signed.StatusRefused, "not_rendered")
	b.wantMails(0)
}

func TestAnEmptyEpochIsAWrongOne(t *testing.T) {
	b := newBench(t)
	m := b.message()
	m.Epoch = ""
	b.wants(b.sends(m), signed.StatusRefused, "wrong_epoch")
	b.wantMails(0)
}

// held is a call whose sender waits until it is let go.
func held(b *bench, v relay.Verdict) (entered <-chan struct{}, letGo func()) {
	in, out := make(chan struct{}), make(chan struct{})
	b.box.does(func(ctx context.Context, _ relay.Mail, _ relay.Lease) relay.Verdict {
		close(in)
		<-out
		if ctx.Err() != nil {
			return relay.UnknownAfter("cancelled", "")
		}
		return v
	})
	return in, sync.OnceFunc(func() { close(out) })
}

func TestOfTwoClaimsAtOnceOneIsBusy(t *testing.T) {
	b := newBench(t)
	m := b.message()
	entered, letGo := held(b, relay.AcceptedWith("250 taken"))
	defer letGo()
	first := make(chan signed.Answer)
	go func() { first <- b.sendsAside(m) }()
	<-entered
	second := again(t, m)
	b.wants(b.sends(second), signed.StatusRefused, "busy")
	b.wants(b.sends(m), signed.StatusProcessing, "")
	b.wants(b.peeks(m), signed.StatusProcessing, "")
	b.wants(b.asks(m), signed.StatusProcessing, "")
	letGo()
	b.wants(<-first, signed.StatusAccepted, "")
	b.wants(b.sends(second), signed.StatusRefused, "busy") // for ever
	b.wantMails(1)
}

func TestManyCallsOfOneClaimAtOnceSendOnce(t *testing.T) {
	b := newBench(t)
	m := b.message()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if a := b.sendsAside(m); a.Status != signed.StatusAccepted && a.Status != signed.StatusProcessing {
				t.Errorf("%+v", a)
			}
		})
	}
	all.Wait()
	b.wants(b.asks(m), signed.StatusAccepted, "")
	b.wantMails(1)
	b.wantRows(1)
}

func TestManyClaimsOfOneSubmissionAtOnceSendOnce(t *testing.T) {
	b := newBench(t)
	m := b.message()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if a := b.sendsAside(again(t, m)); a.Status != signed.StatusAccepted && a.Code != "busy" {
				t.Errorf("%+v", a)
			}
		})
	}
	all.Wait()
	b.wantMails(1)
	b.wantRows(12)
}

func TestContentThatWasAcceptedBeforeNamesTheEarlierClaimAndSendsNothing(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.box.says(relay.Verdict{Finding: relay.Accepted, Receipt: "250 first", Partly: true, Conversation: "550 one of them"})
	b.sends(m)
	b.box.says(relay.AcceptedWith("250 second"))
	for range 2 { // the earlier claim is that of the send, not that of the answer before
		later := again(t, m)
		for range 2 {
			a := b.sends(later)
			b.wants(a, signed.StatusAccepted, "")
			if a.Earlier != m.Claim || a.Receipt != "250 first" || !a.Partly || a.Conversation != "550 one of them" {
				t.Errorf("%+v", a)
			}
		}
	}
	b.wantMails(1)
}

func TestOtherContentOfAnAcceptedSubmissionIsRefused(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.sends(m)
	other := again(t, m)
	other.PayloadHash = "v1.k1." + strings.Repeat("cd", 32)
	for range 2 {
		a := b.sends(other)
		b.wants(a, signed.StatusRefused, "other_content")
		if !a.Permanent {
			t.Error("not permanent")
		}
	}
	b.wantMails(1)
}

func TestAfterAProvenFailureANewClaimSends(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.box.says(relay.ProvenNotSent("greylisted", "rcpt"))
	b.wants(b.sends(m), signed.StatusRefused, "greylisted")
	b.box.says(relay.AcceptedWith("250 taken"))
	b.wants(b.sends(again(t, m)), signed.StatusAccepted, "")
	b.wants(b.sends(m), signed.StatusRefused, "greylisted")
	b.wantMails(2)
}

// A claim proves nothing to those who do not name its submission and content.
func TestAKnownClaimWithOtherThingsIsNotAnswered(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.sends(m)
	otherHash, otherID := m, b.message()
	otherHash.PayloadHash = "v1.k1." + strings.Repeat("cd", 32)
	otherID.Claim = m.Claim
	for _, other := range []signed.Message{otherHash, otherID} {
		res, err := b.form.send(other)
		b.turnedAway(http.StatusConflict, res, err)
		res, err = b.form.inquire(other, false)
		b.turnedAway(http.StatusConflict, res, err)
	}
	b.wantMails(1)
	b.wantRows(1)
}
