package sqlledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

var longAgo = ledger.Forgetting{Before: ledgertest.At(10_000 * time.Hour), At: ledgertest.At(20_000 * time.Hour), By: "ada"}

// secretive leaves canaries in a row's receipt, its last error, and the notes of
// its events.
func secretive(t *testing.T, d *DB, i int) {
	t.Helper()
	ctx := context.Background()
	canary := func(where string) string {
		return fmt.Sprintf("canary-%s-%04d %s", where, i, strings.Repeat("x", i%300))
	}
	c := claimed(t, d)
	switch i % 3 {
	case 0:
		e := ledgertest.End(c, canary("error"), 0)
		e.Note = canary("note")
		if _, err := d.Release(ctx, e); err != nil {
			t.Fatal(err)
		}
		decides(t, d, c.ID, ledger.Close, canary("closed"))
	case 1:
		if _, err := d.Doubt(ctx, ledgertest.End(c, canary("error"), 0)); err != nil {
			t.Fatal(err)
		}
		decides(t, d, c.ID, ledger.Received, canary("received"))
	default:
		a := ledgertest.Ack(c, 0)
		a.Receipt, a.Note = canary("receipt"), canary("partly")
		if _, err := d.Settle(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
}

func decides(t *testing.T, d *DB, id uuid.UUID, kind ledger.DecisionKind, note string) {
	t.Helper()
	row, err := d.Submission(t.Context(), id)
	if err == nil {
		err = d.Decide(t.Context(), ledger.Decision{Seen: row, Kind: kind, By: "ada", Note: note, At: ledgertest.At(time.Hour)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// canaries counts them in all the files of a ledger.
func canaries(t *testing.T, file string) int {
	t.Helper()
	n := 0
	files, err := filepath.Glob(file + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(content, []byte("canary-"))
	}
	return n
}

func TestPromise8_WhatIsForgottenIsInNoFile(t *testing.T) {
	d := openTemp(t)
	const many = 1500
	for i := range many {
		secretive(t, d, i)
	}
	tidy(t, d) // so that they are in the database too
	before := canaries(t, fileOf(t, d))
	if before < many {
		t.Fatalf("%d canaries", before)
	}
	if n, err := d.Forget(t.Context(), longAgo); err != nil || n != many {
		t.Fatalf("%d, %v", n, err)
	}
	if err := d.TidyNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := canaries(t, fileOf(t, d)); n != 0 {
		t.Errorf("%d canaries are left", n)
	}
}

// Another process that looks at the ledger as it was keeps the log.
func TestTidyNowWaitsForAReader(t *testing.T) {
	d := openTemp(t)
	secretive(t, d, 2)
	reader, err := lookAt(t, fileOf(t, d)).Conn(t.Context())
	if err == nil {
		defer reader.Close()
		_, err = reader.ExecContext(t.Context(), `BEGIN DEFERRED`)
	}
	if err == nil {
		_, err = reader.ExecContext(t.Context(), `SELECT count(*) FROM submissions`)
	}
	if err == nil {
		_, err = d.Forget(t.Context(), longAgo)
	}
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := d.TidyNow(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a reader: %v", err)
	}
	done := make(chan error)
	go func() { done <- d.TidyNow(t.Context()) }()
	if _, err := reader.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || canaries(t, fileOf(t, d)) != 0 {
		t.Errorf("%v, %d canaries", err, canaries(t, fileOf(t, d)))
	}
}

func TestEventsOfAForgottenRowAloneCanBeDeleted(t *testing.T) {
	d := openTemp(t)
	secretive(t, d, 0)
	if n, err := d.Forget(t.Context(), longAgo); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	rows, err := d.List(t.Context(), ledger.Filter{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	forgotten := rows[0].ID
	if err := d.Conflict(t.Context(), forgotten, ledgertest.At(0)); err != nil {
		t.Fatal(err)
	}
	kept := claimed(t, d)
	if _, err := d.Doubt(t.Context(), ledgertest.End(kept, "timeout/dot", 0)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []uuid.UUID{kept.ID, uuid.Nil} {
		refused(t, d, `DELETE FROM events WHERE submission = '`+id.String()+`'`)
	}
	refused(t, d, `UPDATE events SET note = 'x' WHERE submission = '`+forgotten.String()+`'`)
	refused(t, d, `UPDATE events SET times = times - 1 WHERE kind = 'forgotten'`)
	refused(t, d, `UPDATE events SET times = times + 1, note = 'x' WHERE kind = 'forgotten'`)
	refused(t, d, `DELETE FROM events`)
	decides(t, d, forgotten, ledger.Received, "it begins anew")
	refused(t, d, `DELETE FROM events WHERE submission = '`+forgotten.String()+`'`)
}

func refused(t *testing.T, d *DB, statement string) {
	t.Helper()
	if err := raw(t, d, statement); err == nil || !strings.Contains(err.Error(), "append-only") {
		t.Errorf("%s: %v", statement, err)
	}
}

// Enquiries go on while much is forgotten.
func TestEnquiriesDoNotWaitForAForgetting(t *testing.T) {
	d := openTemp(t)
	for i := range 1200 {
		secretive(t, d, 2+3*i)
	}
	var slowest time.Duration
	what, slices := longAgo, 0
	what.Each = func(int) {
		slices++
		begin := time.Now()
		claimed(t, d)
		slowest = max(slowest, time.Since(begin))
	}
	if n, err := d.Forget(t.Context(), what); err != nil || n != 1200 || slices < 3 {
		t.Errorf("%d in %d slices, %v", n, slices, err)
	}
	if slowest > 2*time.Second {
		t.Errorf("an enquiry waited for %v", slowest)
	}
}

// A forgetting that is broken off has forgotten whole rows, and has said so.
func TestAForgettingThatIsBrokenOffGoesOn(t *testing.T) {
	d := openTemp(t)
	for i := range 600 {
		secretive(t, d, 2+3*i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	what := longAgo
	what.Each = func(int) { cancel() }
	if n, err := d.Forget(ctx, what); n != sweepSlice || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	what.Each = nil
	if n, err := d.Forget(t.Context(), what); n != 100 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	events, err := d.Events(t.Context(), uuid.Nil)
	var times []int64
	for _, e := range events {
		times = append(times, e.Times)
	}
	if diff := cmp.Diff([]int64{600}, times); diff != "" || err != nil {
		t.Errorf("%v, events (-want +got):\n%s", err, diff)
	}
}
