package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// courierRow is the row that nobody posts for.
const courierRow = "s"

// visited are the rows that visitors post for.
func (o options) visited() []row {
	return slices.DeleteFunc(slices.Clone(o.rows), func(r row) bool { return r.drains })
}

// drained reports whether the courier is measured alone.
func (o options) drained() bool {
	return slices.ContainsFunc(o.rows, func(r row) bool { return r.drains })
}

func rowOf(letter string) row {
	return allRows[slices.IndexFunc(allRows, func(r row) bool { return r.letter == letter })]
}

// backlogRate makes the backlog of a cell: so many mails for a second that is
// measured.
const backlogRate = 2000

// backlog is how many mails wait for the courier.
func (o options) backlog() int {
	return min(o.most, max(20, int(backlogRate*o.window.Seconds())))
}

// drain measures how long the courier takes for the backlog, from its start until
// the last mail is on record as accepted.
func (b *bench) drain(p *process) (sample, error) {
	before, err := p.ask(askMark)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	if _, err := p.ask(askDrain); err != nil {
		return sample{}, err
	}
	elapsed := time.Since(start)
	after, err := p.ask(askRead)
	if err != nil {
		return sample{}, err
	}
	if calls := after.Calls - before.Calls; calls != int64(b.backlog()) {
		return sample{}, fmt.Errorf("%d mails made %d relay calls", b.backlog(), calls)
	}
	return counted(b.backlog(), elapsed, before, after), nil
}

// printCourier prints the table of the courier alone, and what more senders gain.
func printCourier(out io.Writer, o options, r results) {
	if !o.drained() {
		return
	}
	fmt.Fprintf(out, "\nThe courier alone, from a backlog of %d mails:\n", o.backlog())
	t := newTable(out)
	printHead(t)
	for _, senders := range o.senders {
		printRow(t, courierRow+"  "+fmt.Sprintf("%-14s", sendersOf(senders)), place{courierRow, senders}, r)
	}
	t.Flush()
	fmt.Fprintln(out, "\nRatios of mails per second (lowest – highest round):")
	t = newTable(out)
	least := place{courierRow, o.senders[0]}
	for _, senders := range o.senders[1:] {
		printCompared(t, fmt.Sprintf("%s / %d", sendersOf(senders), least.n), r.compared(place{courierRow, senders}, least))
	}
	most := place{courierRow, o.senders[len(o.senders)-1]}
	printCompared(t, fmt.Sprintf("%s / m at %s", sendersOf(most.n), connections(targetConns)), r.compared(most, place{"m", targetConns}))
	t.Flush()
}

// printCompared prints ratios, if both were measured.
func printCompared(t io.Writer, what string, ratios []float64) {
	if len(ratios) > 0 {
		fmt.Fprintf(t, "%s\t%.2f\t(%.2f – %.2f)\t\n", what, median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
}

func sendersOf(n int) string {
	if n == 1 {
		return "1 sender"
	}
	return fmt.Sprintf("%d senders", n)
}
