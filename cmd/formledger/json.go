package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func printJSON(w io.Writer, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// inJSON makes one entry of each, and an empty list of none.
func inJSON[T, E any](all []T, entry func(T) E) []E {
	entries := make([]E, 0, len(all))
	for _, one := range all {
		entries = append(entries, entry(one))
	}
	return entries
}

// submissionJSON is a row, without the claim and the payload hash, which are
// nobody's business. Times that are not set are left out.
type submissionJSON struct {
	Reference  string    `json:"reference"`
	ID         string    `json:"id"`
	Form       string    `json:"form"`
	Policy     string    `json:"policy"`
	Status     string    `json:"status"`
	Needs      string    `json:"needs"`
	Cause      string    `json:"cause"`
	Submitted  time.Time `json:"submitted_at"`
	Changed    time.Time `json:"updated_at"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	Closed     time.Time `json:"closed_at,omitzero"`
	Claims     int64     `json:"claims"`
	ClaimCap   int64     `json:"claim_cap"`
	Attempts   int64     `json:"attempts"`
	AttemptCap int64     `json:"attempt_cap"`
	Doubted    bool      `json:"doubted"`
	AcceptedBy string    `json:"accepted_by"`
	Receipt    string    `json:"receipt"`
}

func rowJSON(r ledger.Submission) submissionJSON {
	return submissionJSON{
		Reference: string(r.Reference), ID: r.ID.String(), Form: r.Form, Policy: string(r.Policy), Status: string(r.Status), Needs: string(r.Needs),
		Cause: r.LastError, Submitted: r.CreatedAt, Changed: r.UpdatedAt, LeaseUntil: r.LeaseUntil, Closed: r.ClosedAt, Claims: r.Claims,
		ClaimCap: r.ClaimCap, Attempts: r.Attempts, AttemptCap: r.AttemptCap, Doubted: r.Doubted, AcceptedBy: r.AcceptedBy, Receipt: r.Receipt,
	}
}

// eventJSON is one entry of the record.
type eventJSON struct {
	ID        string    `json:"id"`
	Reference string    `json:"reference"` // empty: of the ledger itself
	Of        string    `json:"submission_id"`
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"`
	Actor     string    `json:"actor"`
	Cause     string    `json:"cause,omitempty"`
	Note      string    `json:"note,omitempty"`
	Times     int64     `json:"times"`
	LastAt    time.Time `json:"last_at"`
}

func entryJSON(e ledger.Event) eventJSON {
	return eventJSON{ID: e.ID.String(), Reference: ownerOf(e), Of: e.Submission.String(), At: e.At,
		Kind: string(e.Kind), Actor: e.Actor, Cause: e.Cause, Note: e.Note, Times: e.Times, LastAt: e.LastAt}
}

// caseJSON is all that is known of a row.
type caseJSON struct {
	submissionJSON
	Version  string      `json:"version"`
	Says     string      `json:"says"`
	OfPolicy string      `json:"of_policy"`
	Kept     bool        `json:"words_kept"`
	Next     time.Time   `json:"next_attempt_at,omitzero"`
	Events   []eventJSON `json:"events"`
	Words    *wordsJSON  `json:"words,omitempty"`
}

func knownJSON(k desk.Case) caseJSON {
	c := caseJSON{submissionJSON: rowJSON(k.Row), Version: desk.Version(k.Row), Says: desk.Sentence(k.Row), OfPolicy: desk.PolicySentence(k.Row),
		Kept: k.Kept, Events: inJSON(k.Events, entryJSON)}
	if k.Kept && k.Row.Waiting() {
		c.Next = k.Next
	}
	return c
}
