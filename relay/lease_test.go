package relay_test

import (
	"testing"
	"time"
	"unsafe"

	"formledger/relay"
)

// wallSet is a time of time.Now as it would read had the wall clock been set by
// so many seconds: the monotonic reading stays. The layout is that of package
// time, where the seconds stand in bits 30 to 62 of the first word.
func wallSet(t time.Time, seconds int64) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << 30
	return t
}

func TestWallSetMovesTheWallClockAlone(t *testing.T) {
	now := time.Now()
	for _, s := range []int64{3600, -3600} {
		moved := wallSet(now, s)
		if moved.Sub(now) != 0 || moved.Round(0).Sub(now.Round(0)) != time.Duration(s)*time.Second {
			t.Fatalf("the helper does not fit this version of Go: %v became %v", now, moved)
		}
	}
}

func TestALeaseIsHeldByBothClocks(t *testing.T) {
	start := time.Now()
	until := start.Add(time.Minute)
	for name, c := range map[string]struct {
		now  time.Time
		held bool
	}{
		"at once":                   {start, true},
		"just before its end":       {until.Add(-1), true},
		"at its end":                {until, false},
		"past its end":              {until.Add(time.Hour), false},
		"wall clock set back":       {wallSet(start.Add(2*time.Minute), -3600), false},
		"wall clock set ahead":      {wallSet(start, 3600), false},
		"asleep, then awake":        {wallSet(start.Add(time.Second), 90), false},
		"set back within the lease": {wallSet(start.Add(time.Second), -3600), true},
		"past its end, wall alone":  {until.Add(time.Second).Round(0), false},
		"in time, wall alone":       {start.Round(0), true},
	} {
		lease := relay.NewLease(until, func() time.Time { return c.now })
		if lease.Held() != c.held {
			t.Errorf("%s: held is %v, want %v", name, !c.held, c.held)
		}
		if !lease.Until().Equal(until.Round(0)) {
			t.Errorf("%s: ends %v, want %v", name, lease.Until(), until)
		}
	}
}
