package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

func introduce(out io.Writer, o options, m machine) {
	fmt.Fprintf(out, "formledger bench: what a submission costs, and what the ledger adds to it.\n\n%s\n", m)
	fmt.Fprintf(out, "Server and load share these cores, over loopback; the server logs to a null device.\n\nRows:\n")
	for _, r := range o.rows {
		fmt.Fprintf(out, "  %s  %-14s  %s\n", r.letter, r.name, r.meaning)
	}
	fmt.Fprintf(out, "\nEach cell has a fresh server and a fresh ledger, %s of warm-up, and %s that count.\n", o.warm, o.window)
	fmt.Fprintf(out, "Numbers are the median of %s; ratios compare cells of the same round.\n", rounds(o.rounds))
	fmt.Fprintln(out, "p50 and p99 are until the answer; each: per submission; CPU and peak are the server's alone.")
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d interleaved rounds", n)
}

// printTables prints a table for each number of connections.
func printTables(out io.Writer, o options, r results) {
	for _, conns := range o.conns {
		fmt.Fprintf(out, "\nAt %s:\n", connections(conns))
		t := newTable(out)
		printHead(t)
		for _, row := range o.visited() {
			printRow(t, row.letter+"  "+fmt.Sprintf("%-14s", row.name), place{row.letter, conns}, r)
		}
		t.Flush()
	}
}

func printHead(t io.Writer) {
	fmt.Fprintln(t, "\tper second\t(lowest – highest)\tp50 ms\tp99 ms\tfsyncs each\tCPU µs each\tpeak MiB\tsubmissions\t")
}

func printRow(t io.Writer, name string, at place, r results) {
	rates := numbers(r[at], rate)
	total := 0
	for _, s := range r[at] {
		total += s.submissions
	}
	fmt.Fprintf(t, "%s\t%.0f\t(%.0f – %.0f)\t%s\t%s\t%s\t%s\t%s\t%d\t\n", name,
		median(rates), slices.Min(rates), slices.Max(rates), answered(r.medianOf(at, p50)), answered(r.medianOf(at, p99)),
		known("%.3f", r.medianOf(at, synced), 0), known("%.0f", r.medianOf(at, cpu), 0), known("%.0f", r.medianOf(at, peak), 1), total)
}

// answered prints the time of an answer, if there were any.
func answered(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ms)
}

// known prints a number, unless this system did not tell it.
func known(format string, value, least float64) string {
	if math.IsNaN(value) || value < least {
		return "unknown"
	}
	return fmt.Sprintf(format, value)
}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

func newTable(out io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func printRatios(out io.Writer, o options, r results) {
	ratios := ratiosOf(o.visited())
	if len(ratios) == 0 {
		return
	}
	fmt.Fprintf(out, "\nRatios of submissions per second (lowest – highest round):\n")
	t := newTable(out)
	fmt.Fprint(t, "connections\t")
	for _, conns := range o.conns {
		fmt.Fprintf(t, "%d\t\t", conns)
	}
	fmt.Fprintln(t)
	for _, q := range ratios {
		fmt.Fprintf(t, "%s / %s\t", q.of, q.to)
		for _, conns := range o.conns {
			all := r.ratios(q, conns)
			fmt.Fprintf(t, "%.2f\t(%.2f – %.2f)\t", median(all), slices.Min(all), slices.Max(all))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// targetConns is where the targets apply.
const targetConns = 64

// target is what a number should be.
type target struct {
	what    string
	value   float64
	bound   float64
	atLeast bool // otherwise: at most
}

func (t target) String() string {
	relation, met := "at most ", t.value <= t.bound
	if t.atLeast {
		relation, met = "at least", t.value >= t.bound
	}
	verdict := "NOT MET"
	if met {
		verdict = "met"
	}
	return fmt.Sprintf("%-25s %s %4.2f   measured %6.3f   %s", t.what, relation, t.bound, t.value, verdict)
}

func targetsOf(r results) []target {
	ratio := func(of, to string) float64 { return median(r.ratios(ratio{of, to}, targetConns)) }
	return []target{
		{"b / a", ratio("b", "a"), 0.5, true},
		{"b / c", ratio("b", "c"), 7, true},
		{"d / a", ratio("d", "a"), 0.8, true},
		{"m / w", ratio("m", "w"), 0.8, true},
		{"fsyncs per submission, b", r.medianOf(place{"b", targetConns}, synced), 0.1, false},
	}
}

func printTargets(out io.Writer, r results) {
	fmt.Fprintf(out, "\nTargets at %s:\n", connections(targetConns))
	for _, t := range targetsOf(r) {
		if math.IsNaN(t.value) || t.value < 0 {
			fmt.Fprintf(out, "  %-25s not measured\n", t.what)
			continue
		}
		fmt.Fprintf(out, "  %s\n", t)
	}
}
