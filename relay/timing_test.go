package relay_test

import (
	"strings"
	"testing"
	"time"

	"formledger/relay"
)

func TestDeadlinesThatContradictEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*relay.Timing)
		says   string // empty: fine
	}{
		"default":               {func(*relay.Timing) {}, ""},
		"no answer":             {func(t *relay.Timing) { t.Answer = 0 }, "0s is no duration"},
		"no call":               {func(t *relay.Timing) { t.Call = 0 }, "0s is no duration"},
		"no settle":             {func(t *relay.Timing) { t.Settle = 0 }, "0s is no duration"},
		"no lease":              {func(t *relay.Timing) { t.Lease = 0 }, "0s is no duration"},
		"no sweep":              {func(t *relay.Timing) { t.Sweep = 0 }, "0s is no duration"},
		"unsent in the past":    {func(t *relay.Timing) { t.Unsent = -time.Second }, "-1s is no duration"},
		"the longest answer":    {func(t *relay.Timing) { t.Answer = 10 * time.Second }, ""},
		"an answer too late":    {func(t *relay.Timing) { t.Answer = 10*time.Second + 1 }, "visitors wait 10s at most"},
		"a lease as long":       {func(t *relay.Timing) { t.Lease = t.Answer + t.Call + t.Settle }, "it has to be longer than answer, call and settle together (49s)"},
		"a lease barely long":   {func(t *relay.Timing) { t.Lease = t.Answer + t.Call + t.Settle + 1 }, ""},
		"a call past the lease": {func(t *relay.Timing) { t.Call = t.Lease }, "two sends of one enquiry could overlap"},
	} {
		timing := relay.DefaultTiming()
		c.change(&timing)
		err := timing.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}
