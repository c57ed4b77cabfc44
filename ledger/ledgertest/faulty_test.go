package ledgertest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// counting is a ledger that only counts what reaches it.
type counting struct{ calls map[string]int }

func (c counting) Submission(context.Context, uuid.UUID) (ledger.Submission, error) {
	c.calls["Submission"]++
	return ledger.Submission{Form: "contact"}, nil
}

func (c counting) ByReference(context.Context, ledger.Reference) ([]ledger.Submission, error) {
	c.calls["ByReference"]++
	return nil, nil
}

func (c counting) List(context.Context, ledger.Filter) ([]ledger.Submission, error) {
	c.calls["List"]++
	return nil, nil
}

func (c counting) Events(context.Context, uuid.UUID) ([]ledger.Event, error) {
	c.calls["Events"]++
	return nil, nil
}

func (c counting) EventsSince(context.Context, ledger.EventFilter) ([]ledger.Event, error) {
	c.calls["EventsSince"]++
	return nil, nil
}

func (c counting) Outbox(context.Context, uuid.UUID) (ledger.Entry, error) {
	c.calls["Outbox"]++
	return ledger.Entry{Next: time.Unix(1, 0)}, nil
}

func (c counting) Due(context.Context, ledger.Due) ([]ledger.Submission, error) {
	c.calls["Due"]++
	return []ledger.Submission{{}}, nil
}

func (c counting) Unalerted(context.Context, int) ([]ledger.Submission, error) {
	c.calls["Unalerted"]++
	return []ledger.Submission{{}}, nil
}

func (c counting) Kept(context.Context) ([]ledger.Kept, error) {
	c.calls["Kept"]++
	return []ledger.Kept{{}}, nil
}

func (c counting) RelayState(context.Context) (ledger.RelayState, error) {
	c.calls["RelayState"]++
	return ledger.RelayState{Cause: "refused"}, nil
}

func (c counting) Store(context.Context, ledger.NewEntry) (ledger.Stored, error) {
	c.calls["Store"]++
	return ledger.Stored{Fresh: true}, nil
}

func (c counting) Take(context.Context, ledger.NewClaim) (ledger.Taken, error) {
	c.calls["Take"]++
	return ledger.Taken{Owned: true}, nil
}

func (c counting) Record(context.Context, ledger.Event) error {
	c.calls["Record"]++
	return nil
}

func (c counting) Dispute(context.Context, ledger.Event) error {
	c.calls["Dispute"]++
	return nil
}

func (c counting) SetRelayState(context.Context, ledger.RelayState) error {
	c.calls["SetRelayState"]++
	return nil
}

func (c counting) Duty(context.Context, ledger.Duty) (bool, error) {
	c.calls["Duty"]++
	return true, nil
}

func (c counting) Claim(context.Context, ledger.NewClaim) (ledger.Claimed, error) {
	c.calls["Claim"]++
	return ledger.Claimed{Owned: true}, nil
}

func (c counting) Settle(context.Context, ledger.Acknowledgment) (bool, error) {
	c.calls["Settle"]++
	return true, nil
}

func (c counting) Doubt(context.Context, ledger.Ended) (bool, error) {
	c.calls["Doubt"]++
	return true, nil
}

func (c counting) Release(context.Context, ledger.Ended) (bool, error) {
	c.calls["Release"]++
	return true, nil
}

func (c counting) Decide(context.Context, ledger.Decision) error {
	c.calls["Decide"]++
	return ledger.ErrStale
}

func (c counting) Conflict(context.Context, uuid.UUID, time.Time) error {
	c.calls["Conflict"]++
	return nil
}

func (c counting) Lapse(context.Context, time.Time, time.Time) (int, error) {
	c.calls["Lapse"]++
	return 1, nil
}

func (c counting) OpenClaims(context.Context) ([]ledger.OpenClaim, error) {
	c.calls["OpenClaims"]++
	return nil, nil
}

func (c counting) LapseClaims(context.Context, []ledger.OpenClaim, time.Time) (int, error) {
	c.calls["LapseClaims"]++
	return 1, nil
}

func (c counting) MarkUnsent(context.Context, time.Time, time.Time) (int, error) {
	c.calls["MarkUnsent"]++
	return 1, nil
}

func (c counting) Forgettable(context.Context, time.Time) (int, error) {
	c.calls["Forgettable"]++
	return 1, nil
}

func (c counting) Forget(context.Context, ledger.Forgetting) (int, error) {
	c.calls["Forget"]++
	return 1, nil
}

func (c counting) MarkRestored(context.Context, ledger.Restoration) (int, error) {
	c.calls["MarkRestored"]++
	return 1, nil
}

func (c counting) Restored(context.Context) (time.Time, error) {
	c.calls["Restored"]++
	return time.Unix(1, 0), nil
}

func (c counting) EndRestored(context.Context, ledger.Restoration) error {
	c.calls["EndRestored"]++
	return nil
}

func (c counting) Ping(context.Context) error {
	c.calls["Ping"]++
	return nil
}

func (c counting) Close() error {
	c.calls["Close"]++
	return nil
}

// calls are all methods of the contract, whatever they are: one that Faulty
// only passed on would not fail.
func calls(l ledger.Ledger) map[string]func() error {
	all := map[string]func() error{}
	contract := reflect.TypeFor[ledger.Ledger]()
	for i := range contract.NumMethod() {
		m := reflect.ValueOf(l).MethodByName(contract.Method(i).Name)
		all[contract.Method(i).Name] = func() error {
			var args []reflect.Value
			for j := range m.Type().NumIn() {
				args = append(args, reflect.Zero(m.Type().In(j)))
			}
			out := m.Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			if errors.Is(err, ErrInjected) && len(out) == 2 && !out[0].IsZero() {
				return errors.New("an injected error comes with an answer")
			}
			return err
		}
	}
	return all
}

func TestFaultyFailsEveryMethodBeforeAndAfter(t *testing.T) {
	real := counting{map[string]int{}}
	f := NewFaulty(real)
	for name, call := range calls(f) {
		natural := call()
		for _, when := range []When{Before, After} {
			reached := real.calls[name]
			f.Fail(name, when, 2)
			for range 2 {
				if err := call(); !errors.Is(err, ErrInjected) && (when == Before || natural == nil) {
					t.Errorf("%s, failing: %v", name, err)
				}
			}
			if got, want := real.calls[name]-reached, 2*int(when); got != want {
				t.Errorf("%s took effect %d times, not %d", name, got, want)
			}
			if err := call(); !errors.Is(err, natural) {
				t.Errorf("%s, no longer failing: %v", name, err)
			}
		}
		if n := f.Calls(name); n != 7 {
			t.Errorf("%s: %d calls were counted", name, n)
		}
	}
}

func TestFaultyHeals(t *testing.T) {
	f := NewFaulty(counting{map[string]int{}})
	f.Fail("Ping", Before, -1)
	for range 100 {
		if err := f.Ping(t.Context()); !errors.Is(err, ErrInjected) {
			t.Fatal(err)
		}
	}
	f.Heal()
	if err := f.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if f.Calls("Ping") != 101 || f.Calls("Claim") != 0 {
		t.Error("calls are not counted")
	}
}

func TestFaultyKnowsItsMethods(t *testing.T) {
	f := NewFaulty(counting{map[string]int{}})
	for what, call := range map[string]func(){
		"Fail":  func() { f.Fail("Setle", Before, 1) },
		"Calls": func() { f.Calls("Setle") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes a name that is no method's", what)
				}
			}()
			call()
		}()
	}
}
