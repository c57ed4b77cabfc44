package main

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const exportHelp = `Export submissions, for a spreadsheet or another program. No word of a message is
in it: only what formledger list knows.

A spreadsheet takes a cell that begins with = + - or @ for a formula, and what mail
servers say comes from strangers. So in CSV every cell is written like this:

  - a backslash is written as \\, a line feed as \n, a carriage return as \r, a
    tab as \t, and any other control character as \u and four hexadecimal
    digits, so that each submission is one line
  - an apostrophe is put before = + - @ and before an apostrophe, where one of
    them begins the cell, or follows a comma, a semicolon, a bar or a quote,
    with or without spaces between

To read it back, take away one apostrophe at each of these places, and then read the
backslashes. JSON is written as it is.`

func newExport(s streams, p *places) *cobra.Command {
	f, asJSON := selection{}, false
	c := &cobra.Command{
		Use:   "export",
		Short: "Export submissions as CSV or JSON, without any word of them",
		Long:  exportHelp,
		Args:  groupedUsage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			chosen, err := f.filter()
			if err != nil {
				return err
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				rows, err := d.List(c.Context(), chosen)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(s.out, inJSON(rows, rowJSON))
				}
				return writeCSV(s.out, rows)
			})
		},
	}
	f.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON instead of CSV")
	return c
}

// column is one of the table's; its name is that of the JSON.
type column struct {
	name string
	of   func(submissionJSON) string
}

func columns() []column {
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []column{
		{"reference", func(r submissionJSON) string { return r.Reference }},
		{"id", func(r submissionJSON) string { return r.ID }},
		{"form", func(r submissionJSON) string { return r.Form }},
		{"policy", func(r submissionJSON) string { return r.Policy }},
		{"status", func(r submissionJSON) string { return r.Status }},
		{"needs", func(r submissionJSON) string { return r.Needs }},
		{"cause", func(r submissionJSON) string { return r.Cause }},
		{"submitted_at", func(r submissionJSON) string { return stamp(r.Submitted) }},
		{"updated_at", func(r submissionJSON) string { return stamp(r.Changed) }},
		{"lease_until", func(r submissionJSON) string { return stamp(r.LeaseUntil) }},
		{"closed_at", func(r submissionJSON) string { return stamp(r.Closed) }},
		{"claims", func(r submissionJSON) string { return count(r.Claims) }},
		{"claim_cap", func(r submissionJSON) string { return count(r.ClaimCap) }},
		{"attempts", func(r submissionJSON) string { return count(r.Attempts) }},
		{"attempt_cap", func(r submissionJSON) string { return count(r.AttemptCap) }},
		{"doubted", func(r submissionJSON) string { return strconv.FormatBool(r.Doubted) }},
		{"accepted_by", func(r submissionJSON) string { return r.AcceptedBy }},
		{"receipt", func(r submissionJSON) string { return r.Receipt }},
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func writeCSV(w io.Writer, rows []ledger.Submission) error {
	table, cells := csv.NewWriter(w), columns()
	line := make([]string, len(cells))
	for i, c := range cells {
		line[i] = c.name
	}
	if err := table.Write(line); err != nil {
		return err
	}
	for _, row := range rows {
		r := rowJSON(row)
		for i, c := range cells {
			line[i] = harmless(c.of(r))
		}
		if err := table.Write(line); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}
