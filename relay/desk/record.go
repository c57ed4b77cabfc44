package desk

import (
	"context"
	"errors"
	"strings"
	"time"

	"formledger/ledger"
)

// ErrNoteEmpty: there is nothing in the note.
var ErrNoteEmpty = errors.New("the note is empty")

// Note puts a note on the record of the one case that a text names, and changes
// nothing else. It fails with ErrNotFound, ErrAmbiguous or ErrNoteEmpty.
func (d *Desk) Note(ctx context.Context, text, by, note string) (Case, error) {
	if strings.TrimSpace(note) == "" {
		return Case{}, ErrNoteEmpty
	}
	k, err := d.one(ctx, text)
	if err != nil {
		return Case{}, err
	}
	e := ledger.Event{Submission: k.Row.ID, At: d.Now(), Kind: ledger.EventNoted, Actor: ledger.Operator(by), Note: note}
	if err := d.Ledger.Record(ctx, e); err != nil {
		return k, err
	}
	return d.caseOf(ctx, k.Row)
}

// EventFilter chooses events.
type EventFilter struct {
	Since     time.Time        // those that happened then or later; zero: all
	Kind      ledger.EventKind // only this one; empty: any
	Reference string           // only those of what this names; empty: of all submissions
	Limit     int              // the newest of them; 0: all
}

// Events reads the record, oldest first. A reference that names nothing fails as
// Find does.
func (d *Desk) Events(ctx context.Context, f EventFilter) ([]ledger.Event, error) {
	if f.Reference == "" {
		return d.Ledger.EventsSince(ctx, ledger.EventFilter{Since: f.Since, Kind: f.Kind, Limit: f.Limit})
	}
	rows, err := d.rows(ctx, f.Reference)
	if err != nil {
		return nil, err
	}
	var chosen []ledger.Event
	for _, row := range rows {
		events, err := d.Ledger.Events(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if (f.Kind == "" || e.Kind == f.Kind) && !e.LastAt.Before(f.Since) {
				chosen = append(chosen, e)
			}
		}
	}
	if f.Limit > 0 && len(chosen) > f.Limit {
		chosen = chosen[len(chosen)-f.Limit:]
	}
	return chosen, nil
}
