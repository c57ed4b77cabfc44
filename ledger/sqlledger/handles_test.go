package sqlledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// Two handles on one file stand for two processes: nothing is shared but the file.
func TestPromise2_OfClaimsFromTwoHandlesOneIsOwned(t *testing.T) {
	file := tempFile(t)
	handles := []*DB{openFile(t, file, Options{}), openFile(t, file, Options{})}
	for range 10 {
		c := ledgertest.NewClaim()
		owned := make(chan ledger.Token, 64)
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				mine := ledgertest.Again(c, 0)
				got, err := handles[i%2].Claim(context.Background(), mine)
				if err != nil {
					t.Error(err)
				}
				if got.Owned {
					owned <- mine.Token
				}
			})
		}
		all.Wait()
		if len(owned) != 1 {
			t.Fatalf("%d claims are owned", len(owned))
		}
		winner := <-owned
		for _, d := range handles {
			if row, err := d.Submission(t.Context(), c.ID); err != nil || row.Claim != winner || row.Claims != 1 {
				t.Errorf("%+v, %v", row, err)
			}
		}
	}
}

// Of processes that start at once on a new file, each finds one schema.
func TestManyHandlesMakeOneSchema(t *testing.T) {
	for range 5 {
		file := tempFile(t)
		var handles [6]*DB
		var errs [6]error
		var all sync.WaitGroup
		for i := range handles {
			all.Go(func() { handles[i], errs[i] = Open(context.Background(), file, Options{}) })
		}
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
		for _, d := range handles {
			if d != nil {
				claimed(t, d)
			}
		}
		for _, d := range handles {
			if d != nil && d.Close() != nil {
				t.Error("Close failed")
			}
		}
	}
}

func TestCloseFinishesWhatWasHandedOver(t *testing.T) {
	file := tempFile(t)
	d := openFile(t, file, Options{})
	goOn := holdWriter(t, d)
	claims, errs := make([]ledger.NewClaim, 50), make(chan error, 50)
	for i := range claims {
		claims[i] = ledgertest.NewClaim()
		go func() { errs <- claiming(d, claims[i])() }()
	}
	waitFor(t, func() bool { return len(d.writer.queue) == len(claims) })
	closing := make(chan error)
	go func() { closing <- d.Close() }()
	waitFor(t, func() bool { d.writer.mu.RLock(); defer d.writer.mu.RUnlock(); return d.writer.closed })
	if err := claiming(d, ledgertest.NewClaim())(); !errors.Is(err, errClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	goOn()
	for range claims {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := <-closing; err != nil {
		t.Error(err)
	}
	reopened := openFile(t, file, Options{})
	for i, c := range claims {
		if !isThere(t, reopened, c) {
			t.Errorf("claim %d is lost", i)
		}
	}
}

func TestAfterCloseEverythingIsAnError(t *testing.T) {
	d := openTemp(t)
	c := claimed(t, d)
	for range 3 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := claiming(d, ledgertest.NewClaim())(); err == nil {
		t.Error("a claim after Close is owned")
	}
	if _, err := d.Submission(t.Context(), c.ID); err == nil || errors.Is(err, ledger.ErrUnseen) {
		t.Errorf("a look-up after Close: %v", err)
	}
	if _, err := d.List(t.Context(), ledger.Filter{}); err == nil {
		t.Error("a list after Close has no error")
	}
	if err := d.Ping(t.Context()); err == nil {
		t.Error("a ping after Close has no error")
	}
}

// A caller whose time is up before it begins finds nothing done.
func TestAContextThatHasEndedHandsNothingOver(t *testing.T) {
	d := openTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if _, err := d.Claim(ctx, ledgertest.NewClaim()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	claimed(t, d) // comes after all that was handed over
	if rows, err := d.List(t.Context(), ledger.Filter{}); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// A kill leaves the files as they are at that moment. Everything that was
// acknowledged until then is in them.
func TestPromise1_WhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	d := openTemp(t)
	var busy acknowledged
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { busy.claimUntil(t, d, stop) })
	}
	waitFor(t, func() bool { return len(busy.all()) > 200 })
	before := busy.all()
	killed := openFile(t, copyAsKilled(t, fileOf(t, d)), Options{})
	close(stop)
	all.Wait()
	for i, c := range before {
		if !isThere(t, killed, c) {
			t.Fatalf("claim %d of %d acknowledged ones is lost", i, len(before))
		}
	}
}

// acknowledged gathers the claims that a ledger has granted.
type acknowledged struct {
	mu     sync.Mutex
	claims []ledger.NewClaim
}

func (a *acknowledged) all() []ledger.NewClaim {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.claims)
}

func (a *acknowledged) claimUntil(t *testing.T, d *DB, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		c := ledgertest.NewClaim()
		if err := claiming(d, c)(); err != nil {
			t.Error(err)
			return
		}
		a.mu.Lock()
		a.claims = append(a.claims, c)
		a.mu.Unlock()
	}
}

// copyAsKilled copies what a killed process leaves: the database and its log,
// between two checkpoints. The log's index in shared memory is made anew.
func copyAsKilled(t *testing.T, file string) string {
	t.Helper()
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, part := range []string{"", "-wal"} {
		content, err := os.ReadFile(file + part)
		if err == nil {
			err = os.WriteFile(killed+part, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return killed
}

func TestPromise5_ARestartChangesNoRow(t *testing.T) {
	file := tempFile(t)
	d := openFile(t, file, Options{})
	uncertain, free := claimed(t, d), claimed(t, d)
	claimed(t, d)
	if _, err := d.Doubt(t.Context(), ledgertest.End(uncertain, "timeout/dot", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Release(t.Context(), ledgertest.End(free, "refused/rcpt", 0)); err != nil {
		t.Fatal(err)
	}
	before, events := everything(t, d, uncertain.ID)
	killed := openFile(t, copyAsKilled(t, file), Options{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*DB{killed, openFile(t, file, Options{})} {
		rows, record := everything(t, d, uncertain.ID)
		if diff := cmp.Diff(before, rows) + cmp.Diff(events, record); diff != "" || len(rows) != 3 {
			t.Errorf("after the restart (-before +after):\n%s", diff)
		}
	}
}

func everything(t *testing.T, d *DB, id uuid.UUID) ([]ledger.Submission, []ledger.Event) {
	t.Helper()
	rows, err := d.List(t.Context(), ledger.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := d.Events(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rows, events
}
