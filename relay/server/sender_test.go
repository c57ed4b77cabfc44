package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

func TestASenderThatPanicsLeavesTheClaimUncertain(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.box.does(func(context.Context, relay.Mail, relay.Lease) relay.Verdict { panic("out of order") })
	b.wants(b.sends(m), signed.StatusUncertain, "panic")
	b.wants(b.asks(m), signed.StatusUncertain, "panic")
	b.wantMails(1)
}

func TestTheSenderHasADeadlineAndALease(t *testing.T) {
	b := newBench(t)
	b.box.does(func(ctx context.Context, _ relay.Mail, lease relay.Lease) relay.Verdict {
		end, ok := ctx.Deadline()
		if left := time.Until(end); !ok || left > 10*time.Second || left < 5*time.Second {
			t.Errorf("a deadline in %s", left)
		}
		if left := time.Until(lease.Until()); left > time.Minute || left < 50*time.Second || !lease.Held() {
			t.Errorf("a lease of %s", left)
		}
		return relay.AcceptedWith("250")
	})
	b.sends(b.message())
	b.wantMails(1)
}

// Who holds a claim may have been slow: meanwhile the claim reads as uncertain,
// and then as what its holder knows.
func TestAClaimWhoseLeaseHasPassedIsUncertainUntilItsHolderKnowsBetter(t *testing.T) {
	for _, v := range []relay.Verdict{relay.AcceptedWith("250 late"), relay.ProvenNotSent("lease_lapsed", "dot")} {
		b := newBench(t)
		m := b.message()
		entered, letGo := held(b, v)
		defer letGo()
		first := make(chan signed.Answer)
		go func() { first <- b.sendsAside(m) }()
		<-entered
		b.clock.advance(2 * time.Minute)
		b.wants(b.asks(m), signed.StatusUncertain, "lease_lapsed")
		b.wants(b.sends(m), signed.StatusUncertain, "lease_lapsed")
		if r := rowOf(t, b.calls, m.Claim); r.status != signed.StatusUncertain {
			t.Errorf("not recorded: %+v", r)
		}
		letGo()
		if a := <-first; a != b.asks(m) || a.Status == signed.StatusUncertain {
			t.Errorf("%+v", a)
		}
		b.wantMails(1)
	}
}

func TestWhatASenderSaysStaysWithinAnAnswer(t *testing.T) {
	b := newBench(t)
	worst := strings.Repeat("\x01", 100_000)
	b.box.says(relay.Verdict{Conversation: worst, Cause: relay.Cause{Code: worst, Stage: worst}})
	if a := b.sends(b.message()); len(a.Conversation) != 8<<10 || a.Status != signed.StatusUncertain {
		t.Errorf("%d bytes, %s", len(a.Conversation), a.Status)
	}
	b.box.says(relay.Verdict{Finding: relay.Accepted, Partly: true, Conversation: worst, Receipt: worst})
	res, err := b.form.send(b.message())
	if err != nil || !res.signed || len(res.body) > signed.MaxAnswer {
		t.Errorf("%v, signed %v, %d bytes", err, res.signed, len(res.body))
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abcd": "abcd", "abcde": "abcd", "abcé": "abc", "aéb": "aéb", "aéé": "aé", "a\xffb": "ab", "é\xff\xfeéa": "éé",
	} {
		if got := cut(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheLogHoldsNoWordAndNoAddress(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.sends(m)
	b.asks(m)
	bad := b.message()
	bad.To = []string{"victim@else.example"}
	b.sends(bad)
	b.box.does(func(context.Context, relay.Mail, relay.Lease) relay.Verdict { panic("no") })
	b.sends(b.message())
	odd := b.message()
	odd.Claim = "confidential"
	_, err := b.form.send(odd)
	must(t, err)
	_, err = b.form.send(b.message(), func(r *http.Request) { r.Header.Set("Relay-Submission-Id", "confidential") })
	must(t, err)
	text := b.log.String()
	for _, word := range []string{"confidential", "@", "Enquiry", "127.0.0.1", m.Claim} {
		if strings.Contains(text, word) {
			t.Errorf("%q is in the log:\n%s", word, text)
		}
	}
	for _, word := range []string{string(m.Reference), "to_not_allowed", "accepted", "panic", "shop"} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in the log:\n%s", word, text)
		}
	}
}
