package ledgertest

import (
	"context"
	"errors"
	"time"

	"formledger/ledger"
)

func contextChecks() []check {
	return []check{
		{"AContextThatHasEndedIsAnError", endedContext},
		{"AWriteWhoseCallerLeftIsFoundOutByARepeat", callersLeave},
	}
}

func endedContext(f *fixture) {
	c := f.doubted()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for name, call := range allCalls(f.ledger, ctx, c, f.row(c.ID)) {
		if err := call(); !errors.Is(err, context.Canceled) {
			f.Errorf("%s: %v", name, err)
		}
	}
	f.must(f.ledger.Ping(f.ctx))
}

// allCalls are all methods that take a context, each with arguments that fit a
// doubted row.
func allCalls(l ledger.Ledger, ctx context.Context, c ledger.NewClaim, row ledger.Submission) map[string]func() error {
	at := At(time.Hour)
	return map[string]func() error{
		"Submission":    func() error { _, err := l.Submission(ctx, c.ID); return err },
		"ByReference":   func() error { _, err := l.ByReference(ctx, row.Reference); return err },
		"List":          func() error { _, err := l.List(ctx, ledger.Filter{}); return err },
		"Events":        func() error { _, err := l.Events(ctx, c.ID); return err },
		"EventsSince":   func() error { _, err := l.EventsSince(ctx, ledger.EventFilter{}); return err },
		"Outbox":        func() error { _, err := l.Outbox(ctx, c.ID); return err },
		"Due":           func() error { _, err := l.Due(ctx, ledger.Due{Policy: ledger.Queue, At: at}); return err },
		"Unalerted":     func() error { _, err := l.Unalerted(ctx, 0); return err },
		"Kept":          func() error { _, err := l.Kept(ctx); return err },
		"RelayState":    func() error { _, err := l.RelayState(ctx); return err },
		"Store":         func() error { _, err := l.Store(ctx, NewEntry(ledger.Queue)); return err },
		"Take":          func() error { _, err := l.Take(ctx, c); return err },
		"Record":        func() error { return l.Record(ctx, ledger.Event{Submission: c.ID, Kind: ledger.EventAlerted, At: at}) },
		"Dispute":       func() error { return l.Dispute(ctx, disputeOf(c.ID, time.Hour)) },
		"SetRelayState": func() error { return l.SetRelayState(ctx, ledger.RelayState{Cause: "refused"}) },
		"Duty": func() error {
			_, err := l.Duty(ctx, ledger.Duty{Name: "alerts", Holder: NewToken(), At: at})
			return err
		},
		"Claim":      func() error { _, err := l.Claim(ctx, NewClaim()); return err },
		"Settle":     func() error { _, err := l.Settle(ctx, Ack(c, time.Hour)); return err },
		"Doubt":      func() error { _, err := l.Doubt(ctx, End(c, "timeout/dot", time.Hour)); return err },
		"Release":    func() error { _, err := l.Release(ctx, End(c, "refused/rcpt", time.Hour)); return err },
		"Decide":     func() error { return l.Decide(ctx, decision(row, ledger.Received)) },
		"Conflict":   func() error { return l.Conflict(ctx, c.ID, at) },
		"Lapse":      func() error { _, err := l.Lapse(ctx, at, at); return err },
		"OpenClaims": func() error { _, err := l.OpenClaims(ctx); return err },
		"LapseClaims": func() error {
			_, err := l.LapseClaims(ctx, []ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, at)
			return err
		},
		"Forgettable":  func() error { _, err := l.Forgettable(ctx, at); return err },
		"Forget":       func() error { _, err := l.Forget(ctx, ledger.Forgetting{Before: at, At: at, By: "ada"}); return err },
		"MarkRestored": func() error { _, err := l.MarkRestored(ctx, ledger.Restoration{At: at, By: "ada"}); return err },
		"Restored":     func() error { _, err := l.Restored(ctx); return err },
		"EndRestored":  func() error { return l.EndRestored(ctx, ledger.Restoration{At: at, By: "ada"}) },
		"MarkUnsent":   func() error { _, err := l.MarkUnsent(ctx, at, at); return err },
		"Ping":         func() error { return l.Ping(ctx) },
	}
}

// Whatever became of writes whose callers left, a repeat under the same token
// owns the row, and after its settle nobody else does.
func callersLeave(f *fixture) {
	const many = 200
	var claims [many]ledger.NewClaim
	parties(many, func(i int) {
		claims[i] = NewClaim()
		ctx, cancel := context.WithCancel(f.ctx)
		go cancel()
		_, _ = f.ledger.Claim(ctx, claims[i])
	})
	for _, c := range claims {
		if row := f.own(c); row.Claims != 1 {
			f.Errorf("%d claims", row.Claims)
		}
		ctx, cancel := context.WithCancel(f.ctx)
		go cancel()
		_, _ = f.ledger.Settle(ctx, Ack(c, time.Second))
		f.settle(Ack(c, 2*time.Second), true)
		f.story(c.ID)
	}
}
