package desk

import (
	"context"
	"errors"
	"fmt"

	"formledger/ledger"
	"formledger/relay"
)

// ErrSealed: there is no key here that opens the words.
var ErrSealed = errors.New("the words of this message are sealed under a key that is not here")

// Words opens the words of the one message that a text names. That somebody looks
// at them is put on record first, or they are not shown. It fails with ErrNotFound,
// ErrAmbiguous, ledger.ErrNoWords or ErrSealed.
func (d *Desk) Words(ctx context.Context, text, by string) (relay.Letter, error) {
	k, err := d.one(ctx, text)
	if err != nil {
		return relay.Letter{}, err
	}
	entry, err := d.Ledger.Outbox(ctx, k.Row.ID)
	if err != nil {
		return relay.Letter{}, err
	}
	if d.Seals == nil || !d.Seals.Holds(entry.Words.Key) {
		return relay.Letter{}, fmt.Errorf("%w: %s", ErrSealed, entry.Words.Key)
	}
	shown := ledger.Event{Submission: k.Row.ID, At: d.Now(), Kind: ledger.EventWordsShown, Actor: ledger.Operator(by)}
	if err := d.Ledger.Record(ctx, shown); err != nil {
		return relay.Letter{}, fmt.Errorf("the words are not shown, because that could not be put on record: %w", err)
	}
	return relay.OpenLetter(d.Seals, k.Row, entry.Words)
}
