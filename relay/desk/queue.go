package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"formledger/ledger"
)

// Queue is all that needs somebody.
type Queue struct {
	Groups []Group // the one with the oldest row first
	Total  int
	Oldest time.Time         // when the oldest was submitted
	Relay  ledger.RelayState // a relay that fails is the cause of many
}

// Group is what needs somebody for one reason.
type Group struct {
	Needs  ledger.Need
	Cause  string              // the cause's code, without the stage; empty: none is known
	Says   string              // a sentence: what there is to do
	Rows   []ledger.Submission // oldest first
	Oldest time.Time
	Forms  []FormCount // the form with most rows first
}

// FormCount is how many rows of a group one form has.
type FormCount struct {
	Form string
	Rows int
}

// Queue gathers what needs somebody, by reason.
func (d *Desk) Queue(ctx context.Context) (Queue, error) {
	rows, err := d.Ledger.List(ctx, ledger.Filter{NeedsSomebody: true})
	if err != nil {
		return Queue{}, err
	}
	state, err := d.Ledger.RelayState(ctx)
	return inGroups(rows, state), err
}

// inGroups takes rows oldest first, and keeps that order.
func inGroups(rows []ledger.Submission, state ledger.RelayState) Queue {
	type reason struct {
		needs ledger.Need
		cause string
	}
	q, place := Queue{Total: len(rows), Relay: state}, map[reason]int{}
	for _, row := range rows {
		why := reason{row.Needs, CauseCode(row.LastError)}
		i, known := place[why]
		if !known {
			i = len(q.Groups)
			place[why] = i
			q.Groups = append(q.Groups, Group{Needs: why.needs, Cause: why.cause, Says: toDo(row), Oldest: row.CreatedAt})
		}
		q.Groups[i].Rows = append(q.Groups[i].Rows, row)
	}
	for i := range q.Groups {
		q.Groups[i].Forms = countForms(q.Groups[i].Rows)
	}
	if len(rows) > 0 {
		q.Oldest = rows[0].CreatedAt
	}
	return q
}

// CauseCode is a cause without the stage: rows that ended for one reason at
// several stages belong together.
func CauseCode(cause string) string {
	code, _, _ := strings.Cut(cause, "@")
	return code
}

func countForms(rows []ledger.Submission) []FormCount {
	n := map[string]int{}
	for _, row := range rows {
		n[row.Form]++
	}
	var forms []FormCount
	for form, rows := range n {
		forms = append(forms, FormCount{form, rows})
	}
	slices.SortFunc(forms, func(a, b FormCount) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Form, b.Form))
	})
	return forms
}

// toDo says what a row, and those that need the same, ask of their operator.
func toDo(row ledger.Submission) string {
	if row.InDoubtByRestore() {
		return "A backup was restored that does not know whether these were sent. Look for each in the mailbox, then decide: received, or not received."
	}
	switch row.Needs {
	case ledger.NeedsUncertain:
		return "These may or may not have been sent. Look for each in the mailbox, then decide: received, or not received."
	case ledger.NeedsStopped:
		return "Sending has stopped, and nothing goes on by itself. Put right what is wrong, then send them again, or close them."
	case ledger.NeedsDisputed:
		return "Two sources contradict each other. Look at the evidence of each, then decide."
	case ledger.NeedsUnsent:
		return "Nothing was sent, and the visitors have not come back to send them again. Close them once you know, or the visitor has reached you otherwise."
	}
	return ""
}
