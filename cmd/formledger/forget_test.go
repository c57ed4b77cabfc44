package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
)

// inRecord fills a site's ledger with accepted rows that nothing has happened to
// for so long, and leaves a canary in each.
func (s *site) inRecord(n int, age time.Duration) (ids []uuid.UUID) {
	s.t.Helper()
	ctx := context.Background()
	db, err := sqlledger.Open(ctx, s.ledgerFile(), sqlledger.Options{})
	must(s.t, err)
	defer func() { must(s.t, db.Close()) }()
	for range n {
		c := ledgertest.NewClaim()
		c.At, c.LeaseUntil = time.Now().Add(-age), time.Now().Add(-age+time.Minute)
		_, err := db.Claim(ctx, c)
		must(s.t, err)
		a := ledgertest.Ack(c, 0)
		a.Receipt, a.Note, a.At = "canary-receipt", "canary-note", c.At
		_, err = db.Settle(ctx, a)
		must(s.t, err)
		ids = append(ids, c.ID)
	}
	return ids
}

const day = 24 * time.Hour

func TestOldCasesAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	old, young := s.inRecord(3, 500*day), s.inRecord(2, 100*day)
	s.command("forget", "--older-than", "400d", "--dry-run").check(t, exitDone, "3 cases would be forgotten", "Nothing is changed.")
	if row := s.row(old[0]); row.Receipt == "" {
		t.Error("a dry run has wiped")
	}
	s.command("forget", "--older-than", "400d", "--by", "eve").check(t, exitDone, "3 cases forgotten", "never sent again")
	for _, id := range old {
		if row := s.row(id); !row.Forgotten() || row.Status != ledger.Accepted {
			t.Errorf("%+v", row)
		}
	}
	if row := s.row(young[0]); row.Receipt == "" {
		t.Error("a young row is forgotten")
	}
	s.command("forget", "--older-than", "400d").check(t, exitDone, "Nothing is to be forgotten")
	s.command("show", old[0].String()).check(t, exitDone, "forgotten")
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		events, err := db.Events(ctx, uuid.Nil)
		must(t, err)
		if len(events) != 1 || events[0].Times != 3 || events[0].Actor != "operator:eve" {
			t.Errorf("%+v", events)
		}
	})
}

func TestForgettingInJSONAndInNoFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	s.inRecord(40, 500*day)
	for _, dry := range []bool{true, false} {
		r := s.command("forget", "--older-than", "400d", "--json", fmt.Sprintf("--dry-run=%v", dry))
		var got forgottenJSON
		must(t, json.Unmarshal([]byte(r.out), &got))
		if r.code != exitDone || got.Forgotten != 40 || got.DryRun != dry || got.OlderThan != "400d" || time.Since(got.Before) < 399*day {
			t.Errorf("%+v", got)
		}
	}
	for file, text := range files(t, filepath.Join(s.data, "ledger")) {
		if strings.Contains(text, "canary") {
			t.Errorf("%s still holds what was forgotten", file)
		}
	}
}

func TestAnAgeHasToBeMeant(t *testing.T) {
	t.Parallel()
	for _, age := range []string{"", "400", "d", "-400d", "29d", "1.5d", "400h", "400dd", "99999999d"} {
		if r := command(nil, "forget", "--older-than", age); r.code != exitUsage || !strings.Contains(r.err, "--older-than") {
			t.Errorf("%q: %d %s", age, r.code, r.err)
		}
	}
	command(nil, "forget").check(t, exitFailed, "older-than")
}
