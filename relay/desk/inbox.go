package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"formledger/ledger"
	"formledger/relay/mailbox"
)

// causeFound is the cause of the note that a search has found the mail.
const causeFound = "mailbox_found"

func found(e ledger.Event) bool { return e.Kind == ledger.EventNoted && e.Cause == causeFound }

// searched looks for the mail of a message whose send may have been begun. What it
// finds goes on record.
func (d *Desk) searched(ctx context.Context, k Case) ([]Evidence, error) {
	if d.Mailbox == nil || neverBegun(k.Row) {
		return nil, nil
	}
	result, err := d.search(ctx, k.Row)
	all := make([]Evidence, 0, len(result.Found)+1)
	for _, m := range result.Found {
		if err := d.noteFound(ctx, k, m); err != nil {
			return nil, fmt.Errorf("the mail of %s was found, but that could not be put on record: %w", k.Row.Reference, err)
		}
		all = append(all, Evidence{Source: FromMailbox, At: m.Arrived, Says: "The mail is there: " + place(m) + ".", Proves: ProvesPresence})
	}
	if err != nil {
		return append(all, d.nothing("The mailbox could not be searched whole, so this proves nothing: "+err.Error())), nil
	}
	if len(all) == 0 {
		all = append(all, d.nothing(absence(result)))
	}
	return all, nil
}

func (d *Desk) search(ctx context.Context, row ledger.Submission) (mailbox.Result, error) {
	id, err := d.MessageID(row)
	if err != nil {
		return mailbox.Result{}, fmt.Errorf("its Message-ID is not known: %w", err)
	}
	d.searching.Lock()
	defer d.searching.Unlock()
	return d.Mailbox.Search(ctx, id)
}

func (d *Desk) nothing(says string) Evidence {
	return Evidence{Source: FromMailbox, At: d.Now(), Says: says, Proves: ProvesNothing}
}

// noteFound puts a find on record once.
func (d *Desk) noteFound(ctx context.Context, k Case, m mailbox.Mail) error {
	e := ledger.Event{Submission: k.Row.ID, At: d.Now(), Kind: ledger.EventNoted, Actor: ledger.ActorSystem, Cause: causeFound, Note: place(m)}
	if slices.ContainsFunc(k.Events, func(known ledger.Event) bool { return found(known) && known.Note == e.Note }) {
		return nil
	}
	return d.Ledger.Record(ctx, e)
}

func place(m mailbox.Mail) string {
	return fmt.Sprintf("in the folder %s since %s", m.Folder, m.Arrived.UTC().Format(time.DateTime+"Z"))
}

// absence says what a search in vain is worth.
func absence(r mailbox.Result) string {
	says := "The mail is not in the folders that were searched (" + strings.Join(r.Searched, ", ") + "). That proves nothing: it may have been filed, forwarded or deleted, or be late."
	if len(r.Searched) == 0 {
		says = "No folder could be searched, so this proves nothing."
	}
	for _, s := range r.Skipped {
		says += fmt.Sprintf(" The folder %s was not searched: %s", s.Folder, s.Reason)
	}
	return says
}
