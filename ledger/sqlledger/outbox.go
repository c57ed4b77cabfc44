package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"formledger/ledger"
)

// Store inserts an unclaimed row with its words; see ledger.Ledger.
func (d *DB) Store(ctx context.Context, n ledger.NewEntry) (ledger.Stored, error) {
	if !n.Policy.KeepsWords() {
		return ledger.Stored{}, fmt.Errorf("policy %q keeps no words", n.Policy)
	}
	if n.Words.Key == "" || n.Words.Box == "" {
		return ledger.Stored{}, errNothingSealed
	}
	var stored ledger.Stored
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		stored, err = t.store(n)
		return err
	}})
	if err != nil {
		return ledger.Stored{}, err
	}
	return stored, nil
}

var errNothingSealed = errors.New("there are no sealed words to store")

func (t *transaction) store(n ledger.NewEntry) (ledger.Stored, error) {
	if !t.restored.IsZero() {
		if row, unsure, err := t.unsure(n); unsure || err != nil {
			return ledger.Stored{Row: row}, err
		}
	}
	inserted, err := t.exec(storeNew, n.ID.String(), string(ledger.ReferenceOf(n.ID)), n.Form, string(n.Policy),
		n.PayloadHash, millis(n.At), n.AttemptCap, n.ClaimCap)
	if err != nil {
		return ledger.Stored{}, err
	}
	if inserted == 1 {
		_, err := t.exec(keepWords, n.ID.String(), n.Words.Key, n.Words.Box, millis(n.Due))
		return ledger.Stored{Fresh: true, Row: storedRow(n)}, err
	}
	row, err := t.read(n.ID)
	if err == ledger.ErrUnseen {
		return ledger.Stored{}, errNoRow
	}
	return ledger.Stored{Row: row}, err
}

// storedRow is the row that storeNew has just inserted.
func storedRow(n ledger.NewEntry) ledger.Submission {
	at := n.At.UTC().Truncate(time.Millisecond)
	return ledger.Submission{
		ID: n.ID, Reference: ledger.ReferenceOf(n.ID), Form: n.Form, Policy: n.Policy,
		PayloadHash: n.PayloadHash, Status: ledger.Processing, CreatedAt: at, UpdatedAt: at,
		AttemptCap: n.AttemptCap, ClaimCap: n.ClaimCap,
	}
}

// Take is the courier's claim; see ledger.Ledger.
func (d *DB) Take(ctx context.Context, c ledger.NewClaim) (ledger.Taken, error) {
	if c.Token.IsZero() {
		return ledger.Taken{}, errNoClaim
	}
	var taken ledger.Taken
	err := d.writer.submit(ctx, &write{atomic: true, do: func(t *transaction) (err error) {
		taken, err = t.take(c)
		return err
	}})
	if err != nil {
		return ledger.Taken{}, err
	}
	return taken, nil
}

// take fails for a row that it would own but whose words are gone: the claim is
// undone with it, so that such a row is noticed and does not wait for a lease.
func (t *transaction) take(c ledger.NewClaim) (ledger.Taken, error) {
	_, err := t.exec(takeWaiting, c.Token.String(), millis(c.LeaseUntil), text(c.RelayEpoch), millis(c.At), c.ID.String(), c.PayloadHash)
	if err != nil {
		return ledger.Taken{}, err
	}
	row, err := t.read(c.ID)
	if err != nil || !row.Policy.KeepsWords() || !owns(c, row) {
		return ledger.Taken{Row: row}, err
	}
	kept, err := t.outbox(c.ID)
	if err != nil {
		return ledger.Taken{}, fmt.Errorf("taking %s: %w", row.Reference, err)
	}
	return ledger.Taken{Owned: true, Row: row, Words: kept.Words}, nil
}

// wipe deletes the words of a row, if there are any.
func (t *transaction) wipe(id string) error {
	n, err := t.exec(wipeWords, id)
	if n > 0 {
		t.untidy = true
	}
	return err
}

// postpone sets when the courier tries next, and reports whether the words are
// still there to send.
func (t *transaction) postpone(id string, next time.Time) (bool, error) {
	n, err := t.exec(postpone, millis(next), id)
	return n == 1, err
}
