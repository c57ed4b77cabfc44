package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// ErrInjected is the error of a call that Faulty made fail.
var ErrInjected = errors.New("injected by a test")

// When says whether a failing call takes effect.
type When int

// The two ways to fail: nothing happened, or it happened and nobody was told.
const (
	Before When = iota
	After
)

// Faulty wraps a ledger and makes named methods fail. It is safe for
// concurrent use.
type Faulty struct {
	ledger.Ledger

	mu     sync.Mutex
	faults map[string]fault
	calls  map[string]int
}

type fault struct {
	when  When
	times int // below 0: until Heal
}

// NewFaulty wraps a ledger; as long as nothing is to fail, it changes nothing.
func NewFaulty(l ledger.Ledger) *Faulty {
	return &Faulty{Ledger: l, faults: map[string]fault{}, calls: map[string]int{}}
}

// Fail makes the next calls of a method of ledger.Ledger fail with ErrInjected:
// so many, or until Heal if times is below 0. It takes the place of what was
// asked for this method before, and panics at a name that is no method's.
func (f *Faulty) Fail(method string, when When, times int) {
	mustBeMethod(method)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[method] = fault{when, times}
}

// Heal ends all failing.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}

// Calls is how often a method was called, failing calls included. It panics at
// a name that is no method's.
func (f *Faulty) Calls(method string) int {
	mustBeMethod(method)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func mustBeMethod(name string) {
	if _, ok := reflect.TypeFor[ledger.Ledger]().MethodByName(name); !ok {
		panic(fmt.Sprintf("ledger.Ledger has no method %q", name))
	}
}

// enter counts a call, and says whether it is to fail and how.
func (f *Faulty) enter(method string) (fails bool, when When) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	next, planned := f.faults[method]
	if !planned || next.times == 0 {
		return false, Before
	}
	if next.times > 0 {
		next.times--
		f.faults[method] = next
	}
	return true, next.when
}

// faulty carries out one call of a method, or fails it.
func faulty[T any](f *Faulty, method string, call func() (T, error)) (T, error) {
	var nothing T
	fails, when := f.enter(method)
	if fails && when == Before {
		return nothing, ErrInjected
	}
	answer, err := call()
	if fails && err == nil {
		return nothing, ErrInjected
	}
	return answer, err
}

// faultyError is faulty for a method that answers with an error alone.
func faultyError(f *Faulty, method string, call func() error) error {
	_, err := faulty(f, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f *Faulty) Submission(ctx context.Context, id uuid.UUID) (ledger.Submission, error) {
	return faulty(f, "Submission", func() (ledger.Submission, error) { return f.Ledger.Submission(ctx, id) })
}

func (f *Faulty) ByReference(ctx context.Context, ref ledger.Reference) ([]ledger.Submission, error) {
	return faulty(f, "ByReference", func() ([]ledger.Submission, error) { return f.Ledger.ByReference(ctx, ref) })
}

func (f *Faulty) List(ctx context.Context, filter ledger.Filter) ([]ledger.Submission, error) {
	return faulty(f, "List", func() ([]ledger.Submission, error) { return f.Ledger.List(ctx, filter) })
}

func (f *Faulty) Events(ctx context.Context, id uuid.UUID) ([]ledger.Event, error) {
	return faulty(f, "Events", func() ([]ledger.Event, error) { return f.Ledger.Events(ctx, id) })
}

func (f *Faulty) EventsSince(ctx context.Context, filter ledger.EventFilter) ([]ledger.Event, error) {
	return faulty(f, "EventsSince", func() ([]ledger.Event, error) { return f.Ledger.EventsSince(ctx, filter) })
}

func (f *Faulty) Outbox(ctx context.Context, id uuid.UUID) (ledger.Entry, error) {
	return faulty(f, "Outbox", func() (ledger.Entry, error) { return f.Ledger.Outbox(ctx, id) })
}

func (f *Faulty) Due(ctx context.Context, d ledger.Due) ([]ledger.Submission, error) {
	return faulty(f, "Due", func() ([]ledger.Submission, error) { return f.Ledger.Due(ctx, d) })
}

func (f *Faulty) Unalerted(ctx context.Context, limit int) ([]ledger.Submission, error) {
	return faulty(f, "Unalerted", func() ([]ledger.Submission, error) { return f.Ledger.Unalerted(ctx, limit) })
}

func (f *Faulty) Kept(ctx context.Context) ([]ledger.Kept, error) {
	return faulty(f, "Kept", func() ([]ledger.Kept, error) { return f.Ledger.Kept(ctx) })
}

func (f *Faulty) RelayState(ctx context.Context) (ledger.RelayState, error) {
	return faulty(f, "RelayState", func() (ledger.RelayState, error) { return f.Ledger.RelayState(ctx) })
}

func (f *Faulty) Store(ctx context.Context, n ledger.NewEntry) (ledger.Stored, error) {
	return faulty(f, "Store", func() (ledger.Stored, error) { return f.Ledger.Store(ctx, n) })
}

func (f *Faulty) Take(ctx context.Context, c ledger.NewClaim) (ledger.Taken, error) {
	return faulty(f, "Take", func() (ledger.Taken, error) { return f.Ledger.Take(ctx, c) })
}

func (f *Faulty) Record(ctx context.Context, e ledger.Event) error {
	return faultyError(f, "Record", func() error { return f.Ledger.Record(ctx, e) })
}

func (f *Faulty) Dispute(ctx context.Context, e ledger.Event) error {
	return faultyError(f, "Dispute", func() error { return f.Ledger.Dispute(ctx, e) })
}

func (f *Faulty) SetRelayState(ctx context.Context, s ledger.RelayState) error {
	return faultyError(f, "SetRelayState", func() error { return f.Ledger.SetRelayState(ctx, s) })
}

func (f *Faulty) Duty(ctx context.Context, d ledger.Duty) (bool, error) {
	return faulty(f, "Duty", func() (bool, error) { return f.Ledger.Duty(ctx, d) })
}

func (f *Faulty) Claim(ctx context.Context, c ledger.NewClaim) (ledger.Claimed, error) {
	return faulty(f, "Claim", func() (ledger.Claimed, error) { return f.Ledger.Claim(ctx, c) })
}

func (f *Faulty) Settle(ctx context.Context, a ledger.Acknowledgment) (bool, error) {
	return faulty(f, "Settle", func() (bool, error) { return f.Ledger.Settle(ctx, a) })
}

func (f *Faulty) Doubt(ctx context.Context, e ledger.Ended) (bool, error) {
	return faulty(f, "Doubt", func() (bool, error) { return f.Ledger.Doubt(ctx, e) })
}

func (f *Faulty) Release(ctx context.Context, e ledger.Ended) (bool, error) {
	return faulty(f, "Release", func() (bool, error) { return f.Ledger.Release(ctx, e) })
}

func (f *Faulty) Decide(ctx context.Context, d ledger.Decision) error {
	return faultyError(f, "Decide", func() error { return f.Ledger.Decide(ctx, d) })
}

func (f *Faulty) Conflict(ctx context.Context, id uuid.UUID, at time.Time) error {
	return faultyError(f, "Conflict", func() error { return f.Ledger.Conflict(ctx, id, at) })
}

func (f *Faulty) Lapse(ctx context.Context, before, at time.Time) (int, error) {
	return faulty(f, "Lapse", func() (int, error) { return f.Ledger.Lapse(ctx, before, at) })
}

func (f *Faulty) OpenClaims(ctx context.Context) ([]ledger.OpenClaim, error) {
	return faulty(f, "OpenClaims", func() ([]ledger.OpenClaim, error) { return f.Ledger.OpenClaims(ctx) })
}

func (f *Faulty) LapseClaims(ctx context.Context, claims []ledger.OpenClaim, at time.Time) (int, error) {
	return faulty(f, "LapseClaims", func() (int, error) { return f.Ledger.LapseClaims(ctx, claims, at) })
}

func (f *Faulty) MarkUnsent(ctx context.Context, releasedBefore, at time.Time) (int, error) {
	return faulty(f, "MarkUnsent", func() (int, error) { return f.Ledger.MarkUnsent(ctx, releasedBefore, at) })
}

func (f *Faulty) Forgettable(ctx context.Context, before time.Time) (int, error) {
	return faulty(f, "Forgettable", func() (int, error) { return f.Ledger.Forgettable(ctx, before) })
}

func (f *Faulty) Forget(ctx context.Context, what ledger.Forgetting) (int, error) {
	return faulty(f, "Forget", func() (int, error) { return f.Ledger.Forget(ctx, what) })
}

func (f *Faulty) MarkRestored(ctx context.Context, r ledger.Restoration) (int, error) {
	return faulty(f, "MarkRestored", func() (int, error) { return f.Ledger.MarkRestored(ctx, r) })
}

func (f *Faulty) Restored(ctx context.Context) (time.Time, error) {
	return faulty(f, "Restored", func() (time.Time, error) { return f.Ledger.Restored(ctx) })
}

func (f *Faulty) EndRestored(ctx context.Context, r ledger.Restoration) error {
	return faultyError(f, "EndRestored", func() error { return f.Ledger.EndRestored(ctx, r) })
}

func (f *Faulty) Ping(ctx context.Context) error {
	return faultyError(f, "Ping", func() error { return f.Ledger.Ping(ctx) })
}

// Close that fails Before leaves the ledger open.
func (f *Faulty) Close() error {
	return faultyError(f, "Close", func() error { return f.Ledger.Close() })
}
