package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"formledger/relay"
)

// sample is one cell of one round.
type sample struct {
	submissions int
	rate        float64 // submissions per second
	p50, p99    time.Duration
	syncs       float64 // per submission; negative: not counted
	peakKiB     float64
	cpu         float64 // microseconds of the server, per submission; negative: not measured
}

// bench runs cells.
type bench struct {
	options
	folder string // for everybody's data
	log    io.Writer
}

// How the enquiries that replays choose from are posted.
const (
	fillTime   = 400 * time.Millisecond
	fillConns  = 64
	mostFilled = 20_000
)

// cell measures one row at one number of connections, or of senders, with a server
// and a ledger that nobody has used before.
func (b *bench) cell(ctx context.Context, r row, n int) (s sample, err error) {
	data := filepath.Join(b.folder, "cell")
	if err := os.Mkdir(data, 0o700); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	p, err := start(ctx, b.child(r, data, n), b.log)
	if err != nil {
		return s, err
	}
	if r.drains {
		s, err = b.drain(p)
	} else {
		s, err = b.drive(p, r, n)
	}
	if err = errors.Join(err, p.stop()); err != nil {
		return s, fmt.Errorf("row %s (%s) at %d: %w", r.letter, r.name, n, err)
	}
	return s, nil
}

// child is what the server of a cell is told.
func (b *bench) child(r row, data string, n int) options {
	o := options{server: r.server, data: data, profile: b.profile, senders: []int{relay.DefaultPatience().Senders}, most: b.most}
	if r.drains {
		o.senders, o.most = []int{n}, b.backlog()
	}
	return o
}

func (b *bench) drive(p *process, r row, conns int) (sample, error) {
	known, err := b.fill(p, r)
	if err != nil {
		return sample{}, fmt.Errorf("preparing: %w", err)
	}
	crowd, err := gather(p.address, conns, r, known)
	if err != nil {
		return sample{}, err
	}
	defer crowd.leave()
	if _, err := crowd.post(b.warm, b.most); err != nil {
		return sample{}, fmt.Errorf("warming up: %w", err)
	}
	before, err := p.ask(askMark)
	if err != nil {
		return sample{}, err
	}
	done, err := crowd.post(b.window, b.most)
	if err != nil {
		return sample{}, err
	}
	after, err := p.ask(askRead)
	if err != nil {
		return sample{}, err
	}
	return newSample(r, done, before, after)
}

// fill posts what replays repeat, and returns its IDs.
func (b *bench) fill(p *process, r row) ([]uuid.UUID, error) {
	if !r.replay {
		return nil, nil
	}
	crowd, err := gather(p.address, fillConns, row{}, nil)
	if err != nil {
		return nil, err
	}
	defer crowd.leave()
	crowd.remember()
	_, err = crowd.post(min(fillTime, 2*b.window), mostFilled)
	return crowd.sent(), err
}

func newSample(r row, done outcome, before, after counters) (sample, error) {
	n := len(done.times)
	if n == 0 {
		return sample{}, errors.New("nothing was submitted in the time that is measured")
	}
	if calls := after.Calls - before.Calls; !r.makes(calls, n) {
		return sample{}, fmt.Errorf("%d submissions made %d relay calls", n, calls)
	}
	s := counted(n, done.elapsed, before, after)
	s.p50, s.p99 = percentile(done.times, 50), percentile(done.times, 99)
	return s, nil
}

// counted is what the server's counters tell of submissions.
func counted(n int, elapsed time.Duration, before, after counters) sample {
	return sample{
		submissions: n, rate: float64(n) / elapsed.Seconds(), peakKiB: float64(after.PeakKiB),
		syncs: each(before.Syncs, after.Syncs, n),
		cpu:   each(before.CPU.Microseconds(), after.CPU.Microseconds(), n),
	}
}

// each is a counter's growth per submission, or -1 if there is no such counter.
func each(before, after int64, submissions int) float64 {
	if after < 0 {
		return -1
	}
	return float64(after-before) / float64(submissions)
}
