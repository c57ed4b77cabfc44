package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// crowd is a number of visitors who post at the same time.
type crowd []*visitor

func gather(address string, n int, r row, known []uuid.UUID) (crowd, error) {
	var c crowd
	for range n {
		v, err := newVisitor(address, r, known)
		if err != nil {
			c.leave()
			return nil, err
		}
		c = append(c, v)
	}
	return c, nil
}

func (c crowd) leave() {
	for _, v := range c {
		v.conn.Close()
	}
}

// outcome is what a crowd has done.
type outcome struct {
	times   []time.Duration // of every submission
	elapsed time.Duration   // until the last answer
}

// post lets everybody post for a while, and waits for every answer. A single
// error ends it for all: what is measured then is not what was asked for.
func (c crowd) post(d time.Duration, most int) (outcome, error) {
	var failed atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, len(c))
	start := time.Now()
	for i, v := range c {
		v.times = v.times[:0]
		all.Go(func() {
			if errs[i] = v.post(start.Add(d), share(most, len(c), i), failed.Load); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	o := outcome{elapsed: time.Since(start)}
	for _, v := range c {
		o.times = append(o.times, v.times...)
	}
	return o, oneOf(errs)
}

// share deals a number out to visitors.
func share(most, visitors, i int) int {
	n := most / visitors
	if i < most%visitors {
		n++
	}
	return n
}

// oneOf shows the first of several errors, which mostly are alike, and how many
// there are.
func oneOf(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("connections that failed: %d; the first: %w", len(errs), errs[0])
}

// sent is what everybody has sent, if they kept it.
func (c crowd) sent() []uuid.UUID {
	var all []uuid.UUID
	for _, v := range c {
		all = append(all, v.sent...)
	}
	return all
}

func (c crowd) remember() {
	for _, v := range c {
		v.keep = true
	}
}
