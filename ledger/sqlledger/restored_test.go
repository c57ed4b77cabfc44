package sqlledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// gap is what became of IDs between a backup and the disk's failure.
type gap struct {
	claims  []ledger.NewClaim
	entries []ledger.NewEntry
}

// begin makes what a copy may hold as open, or not at all, and sends it all.
func (g *gap) begin(t *testing.T, d *DB, many int, between func()) {
	t.Helper()
	ctx := t.Context()
	for i := range many {
		c, n := ledgertest.NewClaim(), ledgertest.NewEntry([]ledger.Policy{ledger.Queue, ledger.Retry}[i%2])
		c.ID = gapID(i)
		n.ID = c.ID
		g.claims, g.entries = append(g.claims, c), append(g.entries, n)
	}
	half := g.claims[:many/2]
	for i, c := range half {
		must(t, claiming(d, c)())
		_, err := d.Store(ctx, g.entries[many/2+i])
		must(t, err)
		if i%2 == 0 {
			_, err := d.Release(ctx, ledgertest.End(c, "refused/rcpt", 0))
			must(t, err)
		}
	}
	between()
	for i, c := range g.claims {
		again := ledgertest.Again(c, time.Hour)
		if i < many/2 && i%2 == 1 {
			again = c // claimed, and still at work
		}
		if i < many/2 {
			must(t, claiming(d, again)())
			_, err := d.Settle(ctx, ledgertest.Ack(again, time.Hour))
			must(t, err)
			continue
		}
		n := g.entries[i]
		_, err := d.Store(ctx, n)
		must(t, err)
		accept(t, d, n)
	}
}

// gapID is an ID that a client made before the restore: with a time, without one,
// or by a clock that was ahead.
func gapID(i int) uuid.UUID {
	switch i % 3 {
	case 0:
		return ledgertest.IDAt(ledgertest.At(time.Duration(i) * time.Second))
	case 1:
		return uuid.New()
	default:
		return ledgertest.IDAt(ledgertest.At(afterwards + 5*time.Hour))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// postedAgain posts everything again, so long after the suite's start, and counts
// what would be sent.
func (g *gap) postedAgain(t *testing.T, d *DB, after time.Duration) (sent int) {
	t.Helper()
	for i, c := range g.claims {
		again := ledgertest.Again(c, after)
		if i < len(g.claims)/2 {
			got, err := d.Claim(t.Context(), again)
			must(t, err)
			sent += int(number(got.Owned))
		} else {
			n := g.entries[i]
			n.At, n.Due = ledgertest.At(after), ledgertest.At(after)
			got, err := d.Store(t.Context(), n)
			must(t, err)
			taken, err := d.Take(t.Context(), ledgertest.Taking(n, after))
			must(t, err)
			sent += int(number(got.Fresh)) + int(number(taken.Owned))
		}
		row, err := d.Submission(t.Context(), c.ID)
		if err != nil || row.Status != ledger.Uncertain || row.Needs != ledger.NeedsDisputed || !row.Claim.IsZero() {
			t.Fatalf("%+v, %v", row, err)
		}
	}
	for _, p := range []ledger.Policy{ledger.Queue, ledger.Retry} {
		due, err := d.Due(t.Context(), ledger.Due{Policy: p, At: ledgertest.At(1000 * time.Hour), Horizon: time.Hour})
		must(t, err)
		sent += len(due)
	}
	return sent
}

// A backup, a thousand IDs that are sent after it was made, and a restore: whoever
// posts again, nothing is sent twice.
func TestPromise2_NothingThatWasSentSinceTheBackupIsSentAgain(t *testing.T) {
	d := openTemp(t)
	file, g := fileOf(t, d), gap{}
	var copied string
	g.begin(t, d, 1000, func() { copied, _ = backedUp(t, file) })
	closed(t, d)
	restored(t, copied, file)
	now := openFile(t, file, Options{})
	for _, after := range []time.Duration{afterwards + time.Minute, afterwards + 6*time.Hour} {
		if sent := g.postedAgain(t, now, after); sent != 0 {
			t.Errorf("%d are sent again", sent)
		}
	}
	for range 100 {
		claimsNew(t, now)
		n := ledgertest.NewEntry(ledger.Queue)
		n.ID, n.At = newerClaim().ID, ledgertest.At(afterwards+2*time.Hour)
		if got, err := now.Store(t.Context(), n); err != nil || !got.Fresh {
			t.Fatalf("%+v, %v", got, err)
		}
		accept(t, now, n)
	}
	must(t, now.EndRestored(t.Context(), restoration))
	if err := claiming(now, ledgertest.Again(claimOfNew(uuid.New()), afterwards))(); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if sent := g.postedAgain(t, now, afterwards+6*time.Hour); sent != 0 {
		t.Errorf("after the end %d are sent again", sent)
	}
}

func claimOfNew(id uuid.UUID) ledger.NewClaim {
	c := ledgertest.NewClaim()
	c.ID = id
	return c
}

// One process's word reaches another at its next write. Without a pending restore
// nobody looks.
func TestAnotherProcessNoticesTheEnd(t *testing.T) {
	file := tempFile(t)
	first := openFile(t, file, Options{})
	_, err := first.MarkRestored(t.Context(), restoration)
	must(t, err)
	second := openFile(t, file, Options{})
	unsure := ledgertest.Again(claimOfNew(uuid.New()), afterwards)
	for _, d := range []*DB{first, second} {
		if got, err := d.Claim(t.Context(), unsure); err != nil || got.Owned {
			t.Errorf("%+v, %v", got, err)
		}
	}
	must(t, first.EndRestored(t.Context(), restoration))
	if err := claiming(second, ledgertest.Again(claimOfNew(uuid.New()), afterwards))(); err != nil {
		t.Error(err)
	}
	if !second.writer.restored.IsZero() {
		t.Error("the second still looks")
	}
}

// The row and its event stand or fall together, beside others' writes.
func TestAnUnsureRowStandsOrFallsWithItsEvent(t *testing.T) {
	d := openTemp(t)
	_, err := d.MarkRestored(t.Context(), restoration)
	must(t, err)
	must(t, raw(t, d, `CREATE TEMP TRIGGER no_event BEFORE INSERT ON main.events BEGIN SELECT RAISE(ABORT, 'no event'); END`))
	c, n, other := ledgertest.Again(claimOfNew(uuid.New()), afterwards), ledgertest.NewEntry(ledger.Queue), newerClaim()
	n.ID = uuid.New()
	errs := together(t, d,
		func() error { _, err := d.Claim(context.Background(), c); return err },
		func() error { _, err := d.Store(context.Background(), n); return err },
		claiming(d, other))
	if errs[0] == nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("%v", errs)
	}
	for _, id := range []uuid.UUID{c.ID, n.ID} {
		if _, err := d.Submission(t.Context(), id); !errors.Is(err, ledger.ErrUnseen) {
			t.Error(err)
		}
	}
	if !isThere(t, d, other) {
		t.Error("another's write is lost")
	}
	must(t, raw(t, d, `DROP TRIGGER temp.no_event`))
	if got, err := d.Claim(t.Context(), c); err != nil || got.Owned || got.Row.Needs != ledger.NeedsDisputed {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAMomentOfRestoreThatIsNoneIsAnError(t *testing.T) {
	file := tempFile(t)
	closed(t, openFile(t, file, Options{}))
	plainConn(t, file, `INSERT INTO meta VALUES ('restored_at', 'yesterday')`)
	if d, err := Open(t.Context(), file, Options{}); err == nil || !strings.Contains(err.Error(), "restored") {
		d.Close()
		t.Errorf("%v", err)
	}
}
