package sqlledger

import (
	"testing"
	"testing/synctest"
	"time"
)

// gathered is what a batch of one becomes when another write comes after a
// millisecond, and how long that took.
func gathered(t *testing.T, crowd float64) (writes int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(nil, Options{MaxBatch: 256})
		w.crowd = crowd
		late := time.AfterFunc(time.Millisecond, func() { w.queue <- &write{} })
		defer late.Stop()
		start := time.Now()
		writes = len(w.gather([]*write{{}}))
		took = time.Since(start)
	})
	return writes, took
}

func TestFewCallersAreNotKeptWaiting(t *testing.T) {
	if n, took := gathered(t, crowdFrom-1); n != 1 || took != 0 {
		t.Errorf("%d writes after %s, want the one at once", n, took)
	}
}

func TestACrowdSharesACommit(t *testing.T) {
	if n, took := gathered(t, crowdFrom); n != 2 || took != crowdWait {
		t.Errorf("%d writes after %s, want both, after %s", n, took, crowdWait)
	}
}

// A crowd that has gone is forgotten, and whoever stays does not wait any more.
func TestACrowdIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(nil, Options{MaxBatch: 256})
		w.crowd = 256
		for range 256 {
			w.gather([]*write{{}})
		}
		start := time.Now()
		w.gather([]*write{{}})
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %s after 256 small batches", took)
		}
	})
}

func TestAFullBatchIsNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(nil, Options{MaxBatch: 256})
		w.crowd = 256
		start := time.Now()
		if n := len(w.gather(make([]*write, crowdFull))); n != crowdFull || time.Since(start) != 0 {
			t.Errorf("%d writes after %s", n, time.Since(start))
		}
	})
}
