package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
	"formledger/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is policy hold between a real ledger, which can be told to fail, and a
// far end that does what the test says.
type bench struct {
	t      *testing.T
	folder string // of the database
	db     *sqlledger.DB
	ledger *ledgertest.Faulty
	far    *farEnd
	hold   *relay.Hold
	timing relay.Timing
	log    *logBuffer
}

// newBench is meant for a synctest bubble, whose clock jumps over every wait.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, folder: t.TempDir(), far: &farEnd{}, timing: relay.DefaultTiming(), log: &logBuffer{}}
	b.db = openDB(t, b.folder)
	b.ledger = ledgertest.NewFaulty(b.db)
	b.hold = b.holdOn(b.ledger)
	return b
}

func openLedger(t *testing.T) *ledgertest.Faulty {
	t.Helper()
	return ledgertest.NewFaulty(openDB(t, t.TempDir()))
}

func openDB(t *testing.T, folder string) *sqlledger.DB {
	t.Helper()
	db, err := sqlledger.Open(context.Background(), filepath.Join(folder, "ledger.db"), sqlledger.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func (b *bench) holdOn(l ledger.Ledger) *relay.Hold {
	h := relay.NewHold(l, b.far, b.timing, time.Now, rand.Reader, slog.New(slog.NewJSONHandler(b.log, nil)))
	b.t.Cleanup(h.Close)
	return h
}

// farEnd counts the calls, and answers as it is told.
type farEnd struct {
	mu     sync.Mutex
	mails  []relay.Mail
	answer func(context.Context, relay.Mail, relay.Lease) relay.Verdict // nil: accepted
}

func (f *farEnd) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	f.mu.Lock()
	f.mails = append(f.mails, m)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return relay.AcceptedWith("250 taken")
	}
	return answer(ctx, m, lease)
}

func (f *farEnd) says(v relay.Verdict) {
	f.does(func(context.Context, relay.Mail, relay.Lease) relay.Verdict { return v })
}

// does sets the answer, also while calls are under way; nil takes everything.
func (f *farEnd) does(answer func(context.Context, relay.Mail, relay.Lease) relay.Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *farEnd) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.mails)
}

func (b *bench) wantCalls(n int) {
	b.t.Helper()
	if got := b.far.count(); got != n {
		b.t.Errorf("the far end was called %d times, want %d", got, n)
	}
}

// logBuffer gathers what is logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logged fails unless the log holds all texts, and none of the enquiry's words.
func (b *bench) logged(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.log.String(), text) {
			b.t.Errorf("%q is not in the log:\n%s", text, b.log)
		}
	}
	if strings.Contains(b.log.String(), "confidential") {
		b.t.Errorf("the log holds a word of the enquiry:\n%s", b.log)
	}
}

// ask is a fresh enquiry.
func ask() ledger.NewClaim {
	id := uuid.Must(uuid.NewV7())
	return ledger.NewClaim{ID: id, Form: "contact", PayloadHash: ledgertest.Hash(id.String())}
}

// claims claims an enquiry, which has to be possible.
func (b *bench) claims(want ledger.NewClaim) relay.Claim {
	b.t.Helper()
	c, err := b.hold.Claim(context.Background(), want)
	must(b.t, err)
	if !c.Owned {
		b.t.Fatalf("the claim is not owned: %+v", c.Row)
	}
	return c
}

// refused asks for a claim that must not be granted.
func (b *bench) refused(want ledger.NewClaim) {
	b.t.Helper()
	c, err := b.hold.Claim(context.Background(), want)
	must(b.t, err)
	if c.Owned {
		b.t.Errorf("a second claim was granted: %+v", c.Row)
	}
}

// messageOf is the message of a claimed enquiry.
func messageOf(c relay.Claim) relay.Message {
	m := message(field("Message", "confidential"))
	m.SubmissionID, m.Reference, m.PayloadHash, m.Date = c.Row.ID, c.Row.Reference, c.Row.PayloadHash, c.Row.CreatedAt
	return m
}

// carries claims an enquiry and carries it.
func (b *bench) carries(want ledger.NewClaim) (relay.Claim, relay.Ending) {
	b.t.Helper()
	c := b.claims(want)
	return c, b.hold.Carry(c, messageOf(c))
}

func (b *bench) row(id uuid.UUID) ledger.Submission {
	b.t.Helper()
	row, err := b.ledger.Submission(context.Background(), id)
	must(b.t, err)
	return row
}

// record is the kinds of a row's events.
func (b *bench) record(id uuid.UUID) string {
	b.t.Helper()
	events, err := b.ledger.Events(context.Background(), id)
	must(b.t, err)
	kinds := []string{}
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// lapses waits until the lease is over, and sweeps.
func (b *bench) lapses() {
	b.t.Helper()
	time.Sleep(b.timing.Lease + time.Second)
	now := time.Now()
	_, err := b.ledger.Lapse(context.Background(), now, now)
	must(b.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
