package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// place is a cell of the table.
type place struct {
	letter string
	n      int // connections, or the courier's senders
}

// results are the samples of every cell, in the order of the rounds.
type results map[place][]sample

// measure runs all rounds and prints what came out.
func measure(ctx context.Context, o options, out, log io.Writer) (err error) {
	folder, err := os.MkdirTemp(o.dir, "bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	m, err := describe(folder)
	if err != nil {
		return fmt.Errorf("looking at the disk: %w", err)
	}
	introduce(out, o, m)
	b := &bench{options: o, folder: folder, log: log}
	before := usageNow()
	r, err := b.rounds(ctx)
	if err != nil {
		return err
	}
	others := usageNow().others(before)
	printTables(out, o, r)
	printRatios(out, o, r)
	printCourier(out, o, r)
	printTargets(out, r)
	fmt.Fprintf(out, "\n%s\n", disturbance(others))
	return nil
}

// rounds interleaves the rows, so that what disturbs the machine for a while
// disturbs all of them.
func (b *bench) rounds(ctx context.Context) (results, error) {
	r := results{}
	start := time.Now()
	for round := range b.options.rounds {
		for _, at := range b.places() {
			s, err := b.cell(ctx, rowOf(at.letter), at.n)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			r[at] = append(r[at], s)
		}
		fmt.Fprintf(b.log, "round %d of %d done after %s\n", round+1, b.options.rounds, time.Since(start).Round(time.Second))
	}
	return r, nil
}

// places are the cells in the order in which a round measures them.
func (o options) places() []place {
	var all []place
	for _, conns := range o.conns {
		for _, row := range o.visited() {
			all = append(all, place{row.letter, conns})
		}
	}
	if o.drained() {
		for _, senders := range o.senders {
			all = append(all, place{courierRow, senders})
		}
	}
	return all
}

// medianOf is the median of one number of a cell.
func (r results) medianOf(at place, number func(sample) float64) float64 {
	return median(numbers(r[at], number))
}

func numbers(samples []sample, number func(sample) float64) []float64 {
	all := make([]float64, 0, len(samples))
	for _, s := range samples {
		all = append(all, number(s))
	}
	return all
}

func rate(s sample) float64   { return s.rate }
func peak(s sample) float64   { return s.peakKiB / 1024 }
func cpu(s sample) float64    { return s.cpu }
func synced(s sample) float64 { return s.syncs }
func p50(s sample) float64    { return millis(s.p50) }
func p99(s sample) float64    { return millis(s.p99) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r results) ratios(of ratio, conns int) []float64 {
	return r.compared(place{of.of, conns}, place{of.to, conns})
}

// compared are the ratios of the rounds: two cells are compared only with what ran
// beside them.
func (r results) compared(of, to place) []float64 {
	above, below := r[of], r[to]
	all := make([]float64, 0, len(above))
	for i := range min(len(above), len(below)) {
		all = append(all, above[i].rate/below[i].rate)
	}
	return all
}
