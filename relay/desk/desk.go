// Package desk holds the operator's operations, one set for the command line
// and whatever else an operator works with: what needs somebody, what is known
// of a reference, and a decision about it, on record. It prints nothing: all it
// gives is data, with plain sentences in it.
package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/mailbox"
)

// Desk works on a ledger, also while a server works on the same one.
type Desk struct {
	Ledger ledger.Ledger
	Relay  relay.Remembering // nil: there is none that could be asked
	Seals  *ledger.Seals     // nil: the words that are kept cannot be opened here
	Now    func() time.Time

	// Mailbox is where a mail is looked for by its Message-ID, which MessageID
	// gives; nil: there is none that could be searched.
	Mailbox   Mailbox
	MessageID func(row ledger.Submission) (string, error)

	searching sync.Mutex // mail servers allow few logins at once
}

// Mailbox is where mails arrive.
type Mailbox interface {
	Search(ctx context.Context, messageID string) (mailbox.Result, error)
}

// Case is all that is known of one submission.
type Case struct {
	Row    ledger.Submission
	Events []ledger.Event // oldest first
	Kept   bool           // the message's words are kept, sealed
	Next   time.Time      // of kept words: when the courier tries next, if the row waits for it
	// Relay is how the relay does, if the courier sends this message.
	Relay ledger.RelayState
}

var (
	// ErrNotFound: no submission has this reference or ID.
	ErrNotFound = errors.New("the ledger has no submission with this reference: no enquiry with it ever reached this ledger. The visitor's page shows a reference even if nothing arrived here. So, if this is the ledger of their form, nothing was sent, and they may send it again")
	// ErrAmbiguous: several submissions share the reference; the ID decides.
	ErrAmbiguous = errors.New("several submissions share this reference; please give the full ID of one of them")
)

// List lists submissions, oldest first.
func (d *Desk) List(ctx context.Context, f ledger.Filter) ([]ledger.Submission, error) {
	return d.Ledger.List(ctx, f)
}

// Version names the state of a row that an operator looked at.
func Version(row ledger.Submission) string { return strconv.FormatInt(row.UpdatedAt.UnixMilli(), 36) }

// Find opens every case that a text names: a reference as people write it, or
// a submission's full ID. It fails with ErrNotFound, or ledger.ErrReference: a
// *MistypedError, if one symbol is wrong.
func (d *Desk) Find(ctx context.Context, text string) ([]Case, error) {
	rows, err := d.rows(ctx, text)
	if err != nil {
		return nil, err
	}
	cases := make([]Case, 0, len(rows))
	for _, row := range rows {
		k, err := d.caseOf(ctx, row)
		if err != nil {
			return nil, fmt.Errorf("reading the record of %s: %w", row.Reference, err)
		}
		cases = append(cases, k)
	}
	return cases, nil
}

func (d *Desk) caseOf(ctx context.Context, row ledger.Submission) (Case, error) {
	k := Case{Row: row}
	var err error
	if k.Events, err = d.Ledger.Events(ctx, row.ID); err != nil || !row.Policy.KeepsWords() {
		return k, err
	}
	entry, err := d.Ledger.Outbox(ctx, row.ID)
	if errors.Is(err, ledger.ErrNoWords) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	k.Kept, k.Next = true, entry.Next
	k.Relay, err = d.Ledger.RelayState(ctx)
	if k.Relay.NextTry.After(k.Next) { // while the relay cannot be reached, everything waits for it
		k.Next = k.Relay.NextTry
	}
	return k, err
}

// one finds the case that a text names alone.
func (d *Desk) one(ctx context.Context, text string) (Case, error) {
	cases, err := d.Find(ctx, text)
	if err != nil {
		return Case{}, err
	}
	if len(cases) > 1 {
		return Case{}, ErrAmbiguous
	}
	return cases[0], nil
}
