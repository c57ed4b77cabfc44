package ledger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// idOf is a UUIDv7 of a moment.
func idOf(at time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id
}

func TestMayPredate(t *testing.T) {
	restored := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for name, c := range map[string]struct {
		made, now time.Duration // since the restore
		want      bool
	}{
		"a year before":                       {-365 * 24 * time.Hour, 2 * time.Hour, true},
		"just before":                         {-time.Millisecond, 2 * time.Hour, true},
		"at the restore":                      {0, 2 * time.Hour, true},
		"within the margin":                   {time.Hour, 2 * time.Hour, true},
		"past the margin":                     {time.Hour + time.Millisecond, 2 * time.Hour, false},
		"now":                                 {48 * time.Hour, 48 * time.Hour, false},
		"by a clock that is a little ahead":   {48*time.Hour + 9*time.Minute, 48 * time.Hour, false},
		"by a clock that is far ahead":        {5 * time.Hour, 3 * time.Minute, true},
		"a year ahead":                        {365 * 24 * time.Hour, 48 * time.Hour, true},
		"seen by a clock that was set back":   {2 * time.Hour, -time.Hour, true},
		"ahead, and the time has caught up":   {5 * time.Hour, 5 * time.Hour, false},
		"past the margin, and this very hour": {61 * time.Minute, 61 * time.Minute, false},
	} {
		if got := ledger.MayPredate(idOf(restored.Add(c.made)), restored, restored.Add(c.now)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIDsWithoutATimeMayPredateEverything(t *testing.T) {
	now := time.Now()
	strange := idOf(now)
	strange[8] = 0 // a version 7 of another variant
	for _, id := range []uuid.UUID{uuid.Nil, uuid.Max, uuid.New(), uuid.Must(uuid.NewV6()), uuid.Must(uuid.NewUUID()), strange,
		ring(t, ledger.Key{ID: "k", Secret: secret(1)}).DeriveID(0, 0)} {
		if !ledger.MayPredate(id, now.Add(-1000*time.Hour), now) {
			t.Errorf("%s is taken for new", id)
		}
	}
}
