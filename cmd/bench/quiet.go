package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// usage is who used the processors until a moment.
type usage struct {
	at        time.Time
	all, ours time.Duration
}

func usageNow() usage {
	return usage{at: time.Now(), all: busyTime(), ours: cpuTime() + childrenTime()}
}

// busyTime is how long all processors together were busy since the machine
// started; 0 where the kernel does not tell. The fields are user, nice, system,
// idle, iowait, irq, softirq and steal, in hundredths of a second.
// Source: proc_stat(5)
func busyTime() time.Duration {
	fields := strings.Fields(lineOf("/proc/stat", "cpu "))
	total := int64(0)
	for i, f := range fields[:min(len(fields), 8)] {
		if i != 3 && i != 4 {
			total += firstNumber(f)
		}
	}
	return time.Duration(total) * 10 * time.Millisecond
}

// others is the share of the processors that was used since an earlier moment,
// and not by the bench or its servers; negative if that is not known.
func (u usage) others(since usage) float64 {
	if u.all == 0 {
		return -1
	}
	foreign := (u.all - since.all) - (u.ours - since.ours)
	return max(0, foreign.Seconds()/(u.at.Sub(since.at).Seconds()*float64(runtime.NumCPU())))
}

// disturbance tells the reader how far to trust the numbers.
func disturbance(share float64) string {
	switch {
	case share < 0:
		return ""
	case share > 0.05:
		return fmt.Sprintf("Other programs used %.0f %% of the processors meanwhile: please measure again when they rest.", 100*share)
	default:
		return fmt.Sprintf("Other programs used %.0f %% of the processors meanwhile.", 100*share)
	}
}
