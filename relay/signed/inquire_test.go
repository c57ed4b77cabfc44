package signed

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

func inquire(t *testing.T, s *Sender) relay.Verdict {
	t.Helper()
	return s.Inquire(within(t, patience), rowOf(message()), false)
}

func TestAnInquiryNamesTheClaim(t *testing.T) {
	m := message()
	for _, peek := range []bool{false, true} {
		r := newRelay(t, false)
		r.plays(func(h *heard) {
			q, err := ParseInquiry(h.body)
			want := Inquiry{SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim.String(), Epoch: epoch, Peek: peek}
			if err != nil || q != want || h.opened.Tag != TagInquiry || h.opened.Path != PathInquire || h.opened.SubmissionID != m.SubmissionID.String() {
				t.Errorf("%+v, %v, %+v", q, err, h.opened)
			}
			h.answersWell()
		})
		if v := newSender(t, r).Inquire(within(t, patience), rowOf(m), peek); terse(v) != "accepted" {
			t.Error(terse(v))
		}
		r.saw(1, 1)
	}
}

func TestWhatAnInquiryFindsOut(t *testing.T) {
	other := ledger.Token{7}
	change := func(f func(*Answer)) func(*Answer) { return f }
	for _, c := range []struct {
		name   string
		status Status
		change func(*Answer)
		want   string
		check  func(relay.Verdict) bool
	}{
		{"accepted", StatusAccepted, nil, "accepted", func(v relay.Verdict) bool { return v.Earlier.IsZero() && v.Receipt == "relay:250 taken" }},
		{"accepted under an earlier claim", StatusAccepted, change(func(a *Answer) { a.Earlier = other.String() }), "accepted", func(v relay.Verdict) bool { return v.Earlier == other }},
		{"accepted under its own claim", StatusAccepted, change(func(a *Answer) { a.Earlier = a.Claim }), "accepted", func(v relay.Verdict) bool { return v.Earlier.IsZero() }},
		{"accepted in part", StatusAccepted, change(func(a *Answer) { a.Partly, a.Conversation = true, "said" }), "accepted", func(v relay.Verdict) bool { return v.Partly && v.Conversation == "said" }},
		{"accepted under a claim that is none", StatusAccepted, change(func(a *Answer) { a.Earlier = "x" }), "unknown answer_malformed@answer", nil},
		{"refused", StatusRefused, change(func(a *Answer) { a.Code, a.Stage = "smtp_451", "dot" }), "not_sent smtp_451@relay_dot", nil},
		{"refused for good", StatusRefused, change(func(a *Answer) { a.Permanent = true }), "not_sent! relay_refused@relay", nil},
		{"sealed", StatusSealed, nil, "not_sent sealed@relay", nil},
		{"sealed is never for good", StatusSealed, change(func(a *Answer) { a.Permanent = true }), "not_sent sealed@relay", nil},
		{"processing", StatusProcessing, nil, "unknown relay_processing@relay", nil},
		{"uncertain", StatusUncertain, change(func(a *Answer) { a.Code, a.Stage = "timeout", "dot" }), "unknown relay_uncertain@relay_dot", nil},
		{"unseen", StatusUnseen, nil, "unknown relay_unseen@relay", nil},
		{"no status", "", nil, "unknown answer_malformed@answer", nil},
		{"another epoch, sealed", StatusSealed, change(func(a *Answer) { a.Epoch = "epoch-2" }), "unknown epoch_changed@answer", nil},
		{"another epoch, refused", StatusRefused, change(func(a *Answer) { a.Epoch = "epoch-2" }), "unknown epoch_changed@answer", nil},
		{"another epoch, accepted", StatusAccepted, change(func(a *Answer) { a.Epoch = "epoch-2" }), "unknown epoch_changed@answer", nil},
		{"no epoch, sealed", StatusSealed, change(func(a *Answer) { a.Epoch = "" }), "unknown epoch_changed@answer", nil},
		{"another claim, sealed", StatusSealed, change(func(a *Answer) { a.Claim = other.String() }), "unknown answer_malformed@answer", nil},
		{"another content, sealed", StatusSealed, change(func(a *Answer) { a.PayloadHash = "x" }), "unknown answer_malformed@answer", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRelay(t, false)
			r.plays(saysOf(c.status, c.change))
			v := inquire(t, newSender(t, r))
			if terse(v) != c.want || c.check != nil && !c.check(v) {
				t.Errorf("%s, want %s: %+v", terse(v), c.want, v)
			}
			r.saw(1, 1)
		})
	}
}

// That the relay was not reached is proof that it was not asked, and of nothing
// else: the claim may have been accepted long ago.
func TestAnInquiryThatFailsProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		want    string
		prepare func(*scripted)
		config  func(*Config)
		ctx     context.Context
	}{
		"nobody listens":    {want: "connect_refused", prepare: func(r *scripted) { r.ln.Close() }},
		"no such name":      {want: "dns", config: func(c *Config) { c.URL = "https://relay.invalid" }},
		"no valid key":      {want: codeNoKey, config: func(c *Config) { c.Keys = keysOf(t, line("k", Call, "-", "2020-01-01")+line("k", Ack, "-", "-")) }},
		"untrusted":         {want: "certificate_untrusted", config: func(c *Config) { c.RootCAs = nil }},
		"closed before TLS": {want: "closed|reset", prepare: func(r *scripted) { r.greets(func(net.Conn) bool { return true }) }},
		"time over":         {want: codeDeadline, ctx: within(t, -time.Second)},
		"silence":           {want: codeDeadline, prepare: func(r *scripted) { r.plays(func(*heard) {}) }, ctx: within(t, short)},
		"closed":            {want: "closed", prepare: func(r *scripted) { r.plays(func(h *heard) { h.Close() }) }},
		"a proxy's word":    {want: "http_502", prepare: func(r *scripted) { r.plays(raw("HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n")) }},
		"unsigned":          {want: codeUnverified, prepare: func(r *scripted) { r.plays(changed(func(a *answer) { a.drop("Signature") })) }},
		"a stranger":        {want: codeUnverified, prepare: func(r *scripted) { r.plays(signedBy(func(*heard) Key { return keyNamed("k1", "x") })) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, true)
			if c.prepare != nil {
				c.prepare(r)
			}
			config := Config{URL: r.url(), Keys: r.keys, RootCAs: smtptest.PKI(t).Roots}
			if c.config != nil {
				c.config(&config)
			}
			s, err := New(config)
			must(t, err)
			ctx := c.ctx
			if ctx == nil {
				ctx = within(t, patience)
			}
			for _, peek := range []bool{false, true} {
				v := s.Inquire(ctx, rowOf(message()), peek)
				if v.Finding != relay.Unknown || v.Permanent || v.Cause.Stage != stageInquiry || !strings.Contains("|"+c.want+"|", "|"+v.Cause.Code+"|") {
					t.Errorf("%s, want %s", terse(v), c.want)
				}
			}
		})
	}
}

func TestAClaimThatTheRelayCannotKnowIsNotAskedAbout(t *testing.T) {
	r := newRelay(t, false)
	s := newSender(t, r)
	for i, change := range []func(*ledger.Submission){
		func(row *ledger.Submission) { row.RelayEpoch = "" },
		func(row *ledger.Submission) { row.Claim = ledger.Token{} },
	} {
		row := rowOf(message())
		change(&row)
		if v := s.Inquire(within(t, patience), row, false); v.Finding != relay.Unknown {
			t.Errorf("row %d: %s", i, terse(v))
		}
	}
	r.saw(0, 0)
}

// What a relay says goes into records and logs; it cannot be as long or as
// strange as it likes.
func TestWhatTheRelaySaysIsBounded(t *testing.T) {
	long := strings.Repeat("ä", MaxAnswer/8)
	for i, c := range []struct {
		change func(*Answer)
		status Status
		want   string
	}{
		{func(a *Answer) { a.Receipt = long }, StatusAccepted, "accepted"},
		{func(a *Answer) { a.Code, a.Stage = long, long }, StatusRefused, "not_sent relay_refused@relay"},
		{func(a *Answer) { a.Code, a.Stage = "anna@example.org", "a b" }, StatusRefused, "not_sent relay_refused@relay"},
		{func(a *Answer) { a.Code, a.Stage = "new\nline", "\x1b[2J" }, StatusUncertain, "unknown relay_uncertain@relay"},
	} {
		r := newRelay(t, false)
		r.plays(saysOf(c.status, c.change))
		v := send(t, newSender(t, r))
		if terse(v) != c.want || len(v.Receipt) > maxAnswerReceipt || v.Receipt != strings.ToValidUTF8(v.Receipt, "") {
			t.Errorf("%d: %s, want %s, receipt of %d bytes", i, fmt.Sprintf("%.99s", terse(v)), c.want, len(v.Receipt))
		}
	}
}
