package desk

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"formledger/ledger"
)

// MistypedError: one symbol of a reference is wrong. Near are the references of
// the ledger that were most likely meant.
type MistypedError struct {
	Err  error
	Near []ledger.Reference
}

func (e *MistypedError) Error() string {
	if len(e.Near) == 0 {
		return e.Err.Error() + ". The ledger has none that differs from it in one symbol"
	}
	names := make([]string, len(e.Near))
	for i, ref := range e.Near {
		names[i] = string(ref)
	}
	return e.Err.Error() + ". Did you mean " + strings.Join(names, " or ") + "?"
}

// Unwrap is ledger.ErrReference, with what is wrong.
func (e *MistypedError) Unwrap() error { return e.Err }

// rows finds what a text names.
func (d *Desk) rows(ctx context.Context, text string) ([]ledger.Submission, error) {
	if id, err := uuid.Parse(text); err == nil {
		row, err := d.Ledger.Submission(ctx, id)
		if errors.Is(err, ledger.ErrUnseen) {
			return nil, ErrNotFound
		}
		return []ledger.Submission{row}, err
	}
	ref, err := ledger.ParseReference(text)
	if err != nil {
		return nil, d.mistyped(ctx, text, err)
	}
	rows, err := d.Ledger.ByReference(ctx, ref)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	return rows, err
}

// mistyped looks which of the references that differ in one symbol are here.
func (d *Desk) mistyped(ctx context.Context, text string, wrong error) error {
	near := ledger.Mistyped(text)
	if near == nil {
		return wrong
	}
	e := &MistypedError{Err: wrong}
	for _, ref := range near {
		rows, err := d.Ledger.ByReference(ctx, ref)
		if err != nil {
			return errors.Join(wrong, err)
		}
		if len(rows) > 0 {
			e.Near = append(e.Near, ref)
		}
	}
	return e
}
