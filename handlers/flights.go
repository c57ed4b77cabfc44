package handlers

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"formledger/relay"
)

// flights are the sends under way in this process, so that repeats can wait for
// the outcome, and the end of the process for all of them.
type flights struct {
	mu    sync.Mutex
	byID  map[uuid.UUID]*flight
	count sync.WaitGroup
}

type flight struct {
	id     uuid.UUID
	done   chan struct{}
	ending relay.Ending // valid once done is closed
}

func newFlights() *flights { return &flights{byID: map[uuid.UUID]*flight{}} }

func (fs *flights) begin(id uuid.UUID) *flight {
	f := &flight{id: id, done: make(chan struct{})}
	fs.count.Add(1)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.byID[id] = f
	return f
}

func (fs *flights) end(f *flight, ending relay.Ending) {
	fs.mu.Lock()
	if fs.byID[f.id] == f {
		delete(fs.byID, f.id)
	}
	fs.mu.Unlock()
	f.ending = ending
	close(f.done)
	fs.count.Done()
}

// wait gives the ending of a flight, unless the context ends first.
func (fs *flights) wait(ctx context.Context, f *flight) (relay.Ending, bool) {
	select {
	case <-f.done:
		return f.ending, true
	case <-ctx.Done():
		return relay.Ending{}, false
	}
}

// rest waits until the send of an ID has ended in this process, or for a pause
// if it is not under way here. It reports false when the context ends first.
func (fs *flights) rest(ctx context.Context, id uuid.UUID, pause time.Duration) bool {
	fs.mu.Lock()
	f := fs.byID[id]
	fs.mu.Unlock()
	if f != nil {
		_, ended := fs.wait(ctx, f)
		return ended
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// drained is closed when no send is under way any more. Nothing may begin after
// the call.
func (fs *flights) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		fs.count.Wait()
		close(done)
	}()
	return done
}
