package sqlledger

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

func stored(t *testing.T, d *DB, p ledger.Policy) ledger.NewEntry {
	t.Helper()
	n := ledgertest.NewEntry(p)
	if got, err := d.Store(t.Context(), n); err != nil || !got.Fresh {
		t.Fatalf("%+v, %v", got, err)
	}
	return n
}

// A row that waits for words that are gone would wait for ever, unnoticed.
func TestARowWhoseWordsAreMissingIsNotTaken(t *testing.T) {
	d := openTemp(t)
	n, other := stored(t, d, ledger.Queue), stored(t, d, ledger.Queue)
	if err := raw(t, d, `DELETE FROM outbox WHERE submission = ?`, n.ID.String()); err != nil {
		t.Fatal(err)
	}
	before, err := d.Submission(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, neighbour := ledgertest.Taking(n, 0), ledgertest.Taking(other, 0)
	errs := together(t, d, func() error { _, err := d.Take(context.Background(), c); return err }, func() error {
		_, err := d.Take(context.Background(), neighbour)
		return err
	})
	if !errors.Is(errs[0], ledger.ErrNoWords) || errs[1] != nil {
		t.Errorf("%v", errs)
	}
	if row, err := d.Submission(t.Context(), n.ID); err != nil || row != before {
		t.Errorf("the row is %+v, %v", row, err)
	}
	if !isThere(t, d, neighbour) {
		t.Error("another one's claim is lost with it")
	}
}

// Whoever counted, a row at its cap is not sent.
func TestARowAtItsCapIsNotTaken(t *testing.T) {
	for _, count := range []string{"attempts = attempt_cap", "claims = claim_cap", "claims = claim_cap + 1"} {
		d := openTemp(t)
		n := stored(t, d, ledger.Retry)
		if err := raw(t, d, `UPDATE submissions SET `+count); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Take(t.Context(), ledgertest.Taking(n, 0)); err != nil || got.Owned {
			t.Errorf("%s: %+v, %v", count, got, err)
		}
		if due, err := d.Due(t.Context(), ledger.Due{Policy: ledger.Retry, At: n.Due}); err != nil || len(due) != 0 {
			t.Errorf("%s: due: %+v, %v", count, due, err)
		}
	}
}

// refusing makes SQLite refuse a change of the outbox.
func refusing(t *testing.T, d *DB, change string) {
	t.Helper()
	if err := raw(t, d, `CREATE TRIGGER refuse BEFORE `+change+` ON outbox BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`); err != nil {
		t.Fatal(err)
	}
}

func isRefused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "refused by a test")
}

func TestARowIsStoredWithItsWordsOrNotAtAll(t *testing.T) {
	d := openTemp(t)
	refusing(t, d, "INSERT")
	n := ledgertest.NewEntry(ledger.Queue)
	if got, err := d.Store(t.Context(), n); !isRefused(err) || got.Fresh {
		t.Errorf("%+v, %v", got, err)
	}
	if row, err := d.Submission(t.Context(), n.ID); !errors.Is(err, ledger.ErrUnseen) {
		t.Errorf("%+v, %v", row, err)
	}
}

// Whatever makes a row accepted or closed wipes its words or does nothing.
func TestPromise8_NothingIsAcceptedWhoseWordsStay(t *testing.T) {
	d := openTemp(t)
	own, late, received, closed := stored(t, d, ledger.Queue), stored(t, d, ledger.Retry), stored(t, d, ledger.Queue), stored(t, d, ledger.Queue)
	claim := ledgertest.Taking(own, 0)
	if _, err := d.Take(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	refusing(t, d, "DELETE")
	for what, try := range map[string]func() error{
		"settle": func() error { _, err := d.Settle(t.Context(), ledgertest.Ack(claim, 0)); return err },
		"late": func() error {
			_, err := d.Settle(t.Context(), ledgertest.Ack(ledgertest.Taking(late, 0), 0))
			return err
		},
		"received": func() error { return decideNow(t, d, received, ledger.Received) },
		"close":    func() error { return decideNow(t, d, closed, ledger.Close) },
	} {
		if err := try(); !isRefused(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range []ledger.NewEntry{own, late, received, closed} {
		row, err := d.Submission(t.Context(), n.ID)
		if err != nil || !row.Open() {
			t.Errorf("%+v, %v", row, err)
		}
		if events, err := d.Events(t.Context(), n.ID); err != nil || len(events) != 0 {
			t.Errorf("%+v, %v", events, err)
		}
	}
}

func decideNow(t *testing.T, d *DB, n ledger.NewEntry, kind ledger.DecisionKind) error {
	t.Helper()
	row, err := d.Submission(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	return d.Decide(t.Context(), ledger.Decision{Seen: row, Kind: kind, By: "ada", At: ledgertest.At(time.Hour)})
}

// Under hold, nothing is paid for the words of others.
func TestUnderHoldNobodyLooksForWords(t *testing.T) {
	d := openTemp(t)
	refusing(t, d, "DELETE")
	if err := raw(t, d, `ALTER TABLE outbox RENAME TO elsewhere`); err != nil {
		t.Fatal(err)
	}
	c := claimed(t, d)
	ended := ledgertest.End(c, "refused/rcpt", time.Second)
	ended.Next = ledgertest.At(time.Hour)
	if released, err := d.Release(t.Context(), ended); err != nil || !released {
		t.Errorf("%v, %v", released, err)
	}
	c = claimed(t, d)
	a := ledgertest.Ack(c, 0)
	a.Policy = ledger.Hold
	if settled, err := d.Settle(t.Context(), a); err != nil || !settled {
		t.Errorf("%v, %v", settled, err)
	}
}

func TestPromise2_OfTakesFromTwoHandlesOneIsOwned(t *testing.T) {
	file := tempFile(t)
	handles := []*DB{openFile(t, file, Options{}), openFile(t, file, Options{})}
	for range 5 {
		n := stored(t, handles[0], ledger.Retry)
		owned := make(chan ledger.Token, 32)
		var all sync.WaitGroup
		for i := range cap(owned) {
			all.Go(func() {
				mine := ledgertest.Taking(n, 0)
				got, err := handles[i%2].Take(context.Background(), mine)
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
			t.Fatalf("%d takes are owned", len(owned))
		}
		winner := <-owned
		if row, err := handles[1].Submission(t.Context(), n.ID); err != nil || row.Claim != winner || row.Claims != 1 {
			t.Errorf("%+v, %v", row, err)
		}
	}
}

func TestPromise1_WhatWasStoredSurvivesAKill(t *testing.T) {
	d := openTemp(t)
	n := stored(t, d, ledger.Queue)
	killed := openFile(t, copyAsKilled(t, fileOf(t, d)), Options{})
	due, err := killed.Due(t.Context(), ledger.Due{Policy: ledger.Queue, At: n.Due, Horizon: time.Hour})
	if err != nil || len(due) != 1 || !due[0].Claim.IsZero() {
		t.Errorf("%+v, %v", due, err)
	}
	if words, err := killed.Outbox(t.Context(), n.ID); err != nil || words.Words != n.Words {
		t.Errorf("%+v, %v", words, err)
	}
}

// The table of submissions grows for ever, so nothing that runs again and again
// reads it from end to end.
func TestWhatTheCourierAsksReadsNoWholeTable(t *testing.T) {
	d := openTemp(t)
	for name, query := range map[string]string{
		"due": due, "unalerted": unalerted, "kept": kept, "lapsed": statements[lapsedRows],
		"take": statements[takeWaiting], "end": statements[endCall], "wipe": statements[wipeWords],
	} {
		plan := strings.Join(table(t, lookAt(t, fileOf(t, d)), `EXPLAIN QUERY PLAN `+parameter.ReplaceAllString(query, "1")), "\n")
		for _, line := range strings.Split(plan, "\n") {
			if strings.Contains(line, "SCAN") && !(name == "kept" && strings.Contains(line, "SCAN outbox")) {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
		if name == "due" && !strings.Contains(plan, "outbox_next") || name == "unalerted" && !strings.Contains(plan, "submissions_needs") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
