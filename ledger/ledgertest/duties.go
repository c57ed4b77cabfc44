package ledgertest

import (
	"sync/atomic"
	"time"

	"formledger/ledger"
)

func dutyUntil(name string, holder ledger.Token, at, until time.Duration) ledger.Duty {
	return ledger.Duty{Name: name, Holder: holder, At: At(at), Until: At(until)}
}

// duty asks for one, and checks the answer.
func (f *fixture) duty(d ledger.Duty, want bool) {
	f.Helper()
	got, err := f.ledger.Duty(f.ctx, d)
	f.must(err)
	if got != want {
		f.Errorf("%+v: has it: %v", d, got)
	}
}

func dutyOfOne(f *fixture) {
	ada, bob := NewToken(), NewToken()
	f.duty(dutyUntil("alerts", ada, 0, time.Minute), true)
	f.duty(dutyUntil("alerts", bob, time.Second, time.Minute), false)
	f.duty(ledger.Duty{Name: "alerts", Holder: bob, At: At(time.Second)}, false) // which is not theirs to give up
	f.duty(dutyUntil("backups", bob, time.Second, time.Minute), true)
	f.duty(dutyUntil("alerts", ada, 50*time.Second, 2*time.Minute), true)
	f.duty(dutyUntil("alerts", bob, 90*time.Second, 2*time.Minute), false)
	f.duty(ledger.Duty{Name: "alerts", Holder: ada, At: At(91 * time.Second)}, true)
	f.duty(dutyUntil("alerts", bob, 92*time.Second, 2*time.Minute), true)
	f.duty(dutyUntil("alerts", ada, 93*time.Second, 2*time.Minute), false)
	if _, err := f.ledger.Duty(f.ctx, ledger.Duty{Name: "alerts", At: At(time.Hour)}); err == nil {
		f.Error("somebody without a token has it")
	}
}

// Also where the clock has been set back since it was noted.
func dutyOver(f *fixture) {
	ada, bob := NewToken(), NewToken()
	f.duty(dutyUntil("alerts", ada, 0, ledger.LongestDuty), true)
	f.duty(dutyUntil("alerts", bob, 0, time.Minute), false)
	f.duty(dutyUntil("alerts", bob, ledger.LongestDuty, time.Hour), false)
	f.duty(dutyUntil("alerts", bob, ledger.LongestDuty+time.Millisecond, ledger.LongestDuty+time.Minute), true)
	f.duty(dutyUntil("alerts", ada, time.Minute-time.Millisecond, 2*time.Minute), true)
}

func dutyOfMany(f *fixture) {
	const many = 100
	var have atomic.Int32
	parties(many, func(int) {
		if got, err := f.ledger.Duty(f.ctx, dutyUntil("alerts", NewToken(), 0, time.Minute)); err == nil && got {
			have.Add(1)
		}
	})
	if n := have.Load(); n != 1 {
		f.Errorf("%d have it", n)
	}
}
