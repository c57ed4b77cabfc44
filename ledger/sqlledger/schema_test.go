package sqlledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger"
	"formledger/ledger"
	"formledger/ledger/ledgertest"
)

// goodRow is a row that the schema takes.
func goodRow() map[string]any {
	return map[string]any{
		"id": ledgertest.NewClaim().ID.String(), "reference": "YYH9-FP7R-Y5A9", "form": "contact", "policy": "hold",
		"payload_hash": ledgertest.Hash("words"), "status": "processing", "created_at": 1, "claim": nil, "lease_until": nil,
		"claims": 0, "claim_cap": 0, "attempts": 0, "attempt_cap": 0, "doubted": 0, "accepted_by": nil, "updated_at": 1,
		"closed_at": nil, "needs": nil,
	}
}

func insertRow(t *testing.T, d *DB, change map[string]any) error {
	t.Helper()
	row := goodRow()
	maps.Copy(row, change)
	columns := slices.Sorted(maps.Keys(row))
	var values []any
	for _, c := range columns {
		values = append(values, row[c])
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	return raw(t, d, `INSERT INTO submissions (`+strings.Join(columns, ",")+`) VALUES (`+marks+`)`, values...)
}

func TestSchemaTakesGoodRows(t *testing.T) {
	d := openTemp(t)
	for name, change := range map[string]map[string]any{
		"free":             {},
		"claimed":          {"claim": "c", "lease_until": 2},
		"accepted":         {"status": "accepted", "accepted_by": "relay"},
		"uncertain":        {"status": "uncertain", "needs": "uncertain"},
		"closed uncertain": {"status": "uncertain", "closed_at": 3},
		"queue":            {"policy": "queue", "needs": "stopped"},
		"retry, doubted":   {"policy": "retry", "doubted": 1},
		"disputed":         {"needs": "disputed"},
		"unsent":           {"needs": "unsent"},
	} {
		if err := insertRow(t, d, change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every CHECK of the schema refuses at least one row.
func TestSchemaRefusesBadRows(t *testing.T) {
	d := openTemp(t)
	refused := map[string]bool{}
	for name, change := range map[string]map[string]any{
		"a fourth status":             {"status": "sent"},
		"a status in capitals":        {"status": "Processing"},
		"an unknown policy":           {"policy": "hope"},
		"an unknown need":             {"needs": "coffee"},
		"an empty need":               {"needs": ""},
		"a claim without a lease":     {"claim": "c"},
		"a lease without a claim":     {"lease_until": 2},
		"half a doubt":                {"doubted": 2},
		"nobody vouches":              {"status": "accepted"},
		"uncertain and nobody's task": {"status": "uncertain"},
	} {
		err := insertRow(t, d, change)
		if err == nil || !strings.Contains(err.Error(), "CHECK constraint failed") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		refused[err.Error()] = true
	}
	if want := strings.Count(formledger.Schema, "CHECK ("); len(refused) != want {
		t.Errorf("the schema has %d CHECKs, %d of them refused a row", want, len(refused))
	}
}

func TestSchemaRefusesNull(t *testing.T) {
	d := openTemp(t)
	for _, column := range []string{"id", "reference", "form", "policy", "payload_hash", "status", "created_at",
		"claims", "claim_cap", "attempts", "attempt_cap", "doubted", "updated_at"} {
		err := insertRow(t, d, map[string]any{column: nil})
		if err == nil || !strings.Contains(err.Error(), "NOT NULL constraint failed") {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// INSERT OR IGNORE swallows what a CHECK refuses; it must not look like a row
// that was there already.
func TestPromise1_WhatTheSchemaRefusedIsNeverAReplay(t *testing.T) {
	d := openTemp(t)
	for _, policy := range []ledger.Policy{"", "hope"} {
		c := ledgertest.NewClaim()
		c.Policy = policy
		if got, err := d.Claim(t.Context(), c); !errors.Is(err, errNoRow) || got != (ledger.Claimed{}) {
			t.Errorf("policy %q: %+v, %v", policy, got, err)
		}
	}
}

// A new column has to be weighed against the promise: words, addresses and IPs
// of an enquiry have no place here, but sealed in the outbox.
func TestPromise8_TheLedgerHoldsNoWordOfTheEnquiry(t *testing.T) {
	want := map[string]string{
		"submissions": "id reference form policy payload_hash status created_at claim lease_until relay_epoch claims claim_cap attempts attempt_cap doubted last_error accepted_by receipt updated_at closed_at needs",
		"outbox":      "submission seal_key sealed next_attempt",
		"events":      "id submission at kind actor cause claim note times last_at",
		"meta":        "name value",
	}
	d := openTemp(t)
	rows, err := d.reader.QueryContext(t.Context(), `SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' ORDER BY s.name, c.cid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := map[string]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		got[table] = strings.TrimSpace(got[table] + " " + column)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

func TestEventsAreAppendOnly(t *testing.T) {
	d := openTemp(t)
	c := claimed(t, d)
	ctx := context.Background()
	if _, err := d.Doubt(ctx, ledgertest.End(c, "timeout/dot", 0)); err != nil {
		t.Fatal(err)
	}
	if err := d.Conflict(ctx, c.ID, ledgertest.At(0)); err != nil {
		t.Fatal(err)
	}
	before, err := d.Events(ctx, c.ID)
	if err != nil || len(before) != 2 {
		t.Fatalf("%d events, %v", len(before), err)
	}
	for _, statement := range append(forgeries(),
		`INSERT OR REPLACE INTO events (id, submission, at, kind, actor, last_at) SELECT id, submission, at, 'closed', actor, last_at FROM events`,
		`INSERT OR REPLACE INTO events (id, submission, at, kind, actor, last_at) SELECT 'x', submission, at, kind, actor, last_at FROM events WHERE kind = 'conflict'`,
	) {
		err := raw(t, d, statement)
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	after, err := d.Events(ctx, c.ID)
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("%v (-before +after):\n%s", err, diff)
	}
	if err := raw(t, d, `UPDATE events SET times = times + 5, last_at = last_at + 1 WHERE kind = 'conflict'`); err != nil {
		t.Errorf("the counter does not go up: %v", err)
	}
}

// forgeries are the statements that would change what is on record.
func forgeries() []string {
	all := []string{
		`DELETE FROM events`,
		`DELETE FROM events WHERE kind = 'conflict'`,
		`UPDATE events SET times = times + 1 WHERE kind <> 'conflict'`,
		`UPDATE events SET last_at = last_at + 1 WHERE kind <> 'conflict'`,
		`UPDATE events SET times = times WHERE kind = 'conflict'`,
		`UPDATE events SET times = times - 1 WHERE kind = 'conflict'`,
		`UPDATE events SET times = times + 1, last_at = last_at - 1 WHERE kind = 'conflict'`,
		`UPDATE events SET times = times + 1, note = 'other'  WHERE kind = 'conflict'`,
	}
	for _, column := range []string{"id", "submission", "at", "kind", "actor", "cause", "claim", "note"} {
		all = append(all, `UPDATE events SET `+column+` = 'x'`)
	}
	return all
}
