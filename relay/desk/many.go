package desk

import (
	"context"
	"strings"
	"sync"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Outcome is what became of one of many references.
type Outcome struct {
	Text string // as it was given
	Resolution
	Err error // nil: decided, or settled by evidence
}

// atOnce is how many decisions are under way at a time: the ledger commits those
// that come together in one transaction.
const atOnce = 32

// ResolveMany records one decision about each of many cases, each with an event of
// its own, and goes on after errors. A reference that is named twice is decided
// once. progress is told after each one, never twice at a time. Once the context
// ends, what is left fails with its error.
func (d *Desk) ResolveMany(ctx context.Context, texts []string, r Ruling, progress func(done, total int)) []Outcome {
	texts = distinct(texts)
	all := make([]Outcome, len(texts))
	next := make(chan int)
	var workers sync.WaitGroup
	var counted sync.Mutex
	done := 0
	for range min(atOnce, len(texts)) {
		workers.Go(func() {
			for i := range next {
				all[i] = d.outcome(ctx, texts[i], r)
				counted.Lock()
				done++
				progress(done, len(texts))
				counted.Unlock()
			}
		})
	}
	for i := range texts {
		next <- i
	}
	close(next)
	workers.Wait()
	return all
}

func (d *Desk) outcome(ctx context.Context, text string, r Ruling) Outcome {
	o := Outcome{Text: text, Err: ctx.Err()}
	if o.Err == nil {
		o.Resolution, o.Err = d.Resolve(ctx, text, r)
	}
	return o
}

// distinct leaves the first of the texts that name the same.
func distinct(texts []string) []string {
	known := map[string]bool{}
	var kept []string
	for _, text := range texts {
		name := strings.ToUpper(text)
		if id, err := uuid.Parse(text); err == nil {
			name = id.String()
		} else if ref, err := ledger.ParseReference(text); err == nil {
			name = string(ref)
		}
		if !known[name] {
			known[name] = true
			kept = append(kept, text)
		}
	}
	return kept
}
