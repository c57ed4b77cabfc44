package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"formledger/ledger"
)

// abandoned remembers claims that errored until their request gave up. The
// ledger may hold them all the same; as nothing was sent under them, they are
// given back as soon as the ledger answers.
type abandoned struct {
	ledger ledger.Ledger
	now    func() time.Time
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	claims  []ledger.Ended
	working bool
}

func newAbandoned(l ledger.Ledger, now func() time.Time, log *slog.Logger) *abandoned {
	ctx, cancel := context.WithCancel(context.Background())
	return &abandoned{ledger: l, now: now, log: log, ctx: ctx, cancel: cancel}
}

func (a *abandoned) close() {
	a.mu.Lock() // so that add starts nothing after the wait has begun
	a.cancel()
	a.mu.Unlock()
	a.done.Wait()
}

// add remembers a claim, and wakes the one goroutine that gives claims back.
func (a *abandoned) add(e ledger.Ended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claims = append(a.claims, e)
	if !a.working && a.ctx.Err() == nil {
		a.working = true
		a.done.Go(a.giveBack)
	}
}

func (a *abandoned) giveBack() {
	for pause := firstPause; ; pause = longer(pause) {
		e, ok := a.first()
		if !ok {
			return
		}
		e.At = a.now()
		if _, err := a.ledger.Release(a.ctx, e); err == nil {
			a.drop()
			pause = firstPause
			continue
		}
		if rest(a.ctx, pause) != nil {
			return
		}
	}
}

func (a *abandoned) first() (ledger.Ended, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.claims) == 0 {
		a.working = false
		return ledger.Ended{}, false
	}
	return a.claims[0], true
}

func (a *abandoned) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claims = a.claims[1:]
}
