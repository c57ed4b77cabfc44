package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"formledger/relay/desk"
)

// references are the references of the arguments, or those on the standard input.
func references(args []string, in io.Reader) ([]string, error) {
	if !slices.Contains(args, "-") {
		return args, nil
	}
	if len(args) > 1 || in == nil {
		return nil, usageError{errors.New("- stands for all references, on the standard input; please leave the others out")}
	}
	var texts []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" && !strings.HasPrefix(text, "#") {
			texts = append(texts, text)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the references: %w", err)
	}
	return texts, nil
}

// decideAll settles several references, and fails unless all could be.
func decideAll(ctx context.Context, s streams, d *desk.Desk, texts []string, r desk.Ruling, asJSON bool) error {
	bar := newBar(s.err, len(texts))
	all := d.ResolveMany(ctx, texts, r, bar.show)
	bar.end()
	if asJSON {
		return errors.Join(printJSON(s.out, inJSON(all, outcomeOf)), unsettled(all))
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.out, "No reference was named.")
		return err
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REFERENCE\tNOW\tWHAT HAPPENED")
	for _, o := range all {
		line := outcomeOf(o)
		fmt.Fprintf(t, "%s\t%s\t%s\n", inLine(firstOf(line.Reference, o.Text)), dash(line.Status), inLine(firstOf(line.Error, line.Said, "recorded")))
	}
	return errors.Join(t.Flush(), unsettled(all))
}

// outcomeJSON is what became of one of several references.
type outcomeJSON struct {
	Named     string `json:"named"`
	Reference string `json:"reference"`
	ID        string `json:"id"`
	Done      bool   `json:"done"`
	Status    string `json:"status"`
	Needs     string `json:"needs"`
	Said      string `json:"said,omitempty"`
	Error     string `json:"error,omitempty"`
}

func outcomeOf(o desk.Outcome) outcomeJSON {
	row := o.Case.Row
	line := outcomeJSON{Named: o.Text, Done: o.Err == nil, Said: o.Said}
	if row.Reference != "" {
		line.Reference, line.ID, line.Status, line.Needs = string(row.Reference), row.ID.String(), string(row.Status), string(row.Needs)
	}
	if o.Err != nil {
		line.Error = unresolved(o.Case, o.Err).Error()
	}
	return line
}

// unsettled is an error if some could not be settled: that of the one, if there
// is but one reference.
func unsettled(all []desk.Outcome) error {
	var failed []desk.Outcome
	for _, o := range all {
		if o.Err != nil {
			failed = append(failed, o)
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(all) == 1:
		return unresolved(all[0].Case, all[0].Err)
	}
	return fmt.Errorf("%d of %d references were not settled; the table says why", len(failed), len(all))
}
