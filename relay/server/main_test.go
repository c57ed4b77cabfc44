package server

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"formledger/relay"
)

// TestMain lets the test binary run itself as the process that a fail point
// hits.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RELAY_TEST_CHILD"); dir != "" {
		serveAsChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mailbox is the sender behind the relay. It counts the calls, and answers as it
// is told.
type mailbox struct {
	mu     sync.Mutex
	mails  []relay.Mail
	answer func(context.Context, relay.Mail, relay.Lease) relay.Verdict // nil: accepted
}

func (b *mailbox) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	b.mu.Lock()
	b.mails = append(b.mails, m)
	answer := b.answer
	b.mu.Unlock()
	if answer == nil {
		return relay.AcceptedWith("250 taken")
	}
	return answer(ctx, m, lease)
}

func (b *mailbox) does(answer func(context.Context, relay.Mail, relay.Lease) relay.Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

func (b *mailbox) says(v relay.Verdict) {
	b.does(func(context.Context, relay.Mail, relay.Lease) relay.Verdict { return v })
}

func (b *mailbox) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mails)
}

// clock is the time, moved by hand. It carries both readings, as time.Now does.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

var errInjected = errors.New("injected by a test")

// fault makes writes fail: so many of those of a step, or all below 0.
type fault struct {
	step     string
	happened bool // although it failed
	times    int
}

// fails installs a fault in place of the one before.
func (f fault) in(c *Calls) {
	var mu sync.Mutex
	c.commit = func(step string, tx *sql.Tx) error {
		mu.Lock()
		defer mu.Unlock()
		if step != f.step || f.times == 0 {
			return tx.Commit()
		}
		f.times--
		if f.happened {
			return errors.Join(errInjected, tx.Commit())
		}
		return errInjected
	}
}

// heal ends the fault.
func heal(c *Calls) { fault{}.in(c) }

func openCalls(t testing.TB, file string) *Calls {
	t.Helper()
	c, err := OpenCalls(context.Background(), file)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func tempFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "calls.db")
}

// rows counts the table's rows.
func rows(t testing.TB, c *Calls) (n int) {
	t.Helper()
	must(t, c.db.QueryRow(`SELECT count(*) FROM calls`).Scan(&n))
	return n
}

// rowOf is what the table holds of a claim, whatever the time.
func rowOf(t testing.TB, c *Calls, claim string) row {
	t.Helper()
	r, err := find(c.db, claim)
	must(t, err)
	return r
}
