package main

import (
	"regexp"
	"slices"
	"testing"
	"time"
)

// A kind that is new in the ledger can be chosen too.
func TestEveryKindOfEventCanBeChosen(t *testing.T) {
	declared := regexp.MustCompile(`EventKind += "([a-z_]+)"`).FindAllStringSubmatch(readTop(t, "ledger/submission.go"), -1)
	if len(declared) < 18 {
		t.Fatalf("only %d kinds were found", len(declared))
	}
	for _, d := range declared {
		if !slices.Contains(eventKinds(), d[1]) {
			t.Errorf("%s cannot be chosen", d[1])
		}
	}
}

func TestSinceWhen(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2026-05-01": time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), "2026-05-01 10:00:00": time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
		"2026-05-01 10:00:00Z": time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), "2026-05-01T10:00:00+02:00": time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC),
		"90m": now.Add(-90 * time.Minute), "24h": now.Add(-24 * time.Hour), "7d": now.AddDate(0, 0, -7),
	} {
		if got, err := sinceWhen(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "-1h", "d", "-1d", "2026-13-01", "99999999d"} {
		if got, err := sinceWhen(text, now); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "a minute", time.Second: "a minute", 2 * time.Minute: "2 minutes", 119 * time.Minute: "119 minutes",
		2 * time.Hour: "2 hours", 47 * time.Hour: "47 hours", 48 * time.Hour: "2 days", 500 * time.Hour: "20 days",
	} {
		if got := age(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
