package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlfile"
)

// versionOne makes a database as the first version left it.
func versionOne(t *testing.T, file string) { oldVersion(t, file, 1) }

// oldVersion makes a database as a version left it, with a row of every status
// and need, and their events; if it has an outbox, also with words.
func oldVersion(t *testing.T, file string, version int) {
	t.Helper()
	schema, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema-%d.sql", version)))
	if err != nil {
		t.Fatal(err)
	}
	hash := ledgertest.Hash("words")
	insert := `INSERT INTO submissions (id, reference, form, policy, payload_hash, status, created_at, claim, lease_until,
 claims, attempts, doubted, last_error, accepted_by, receipt, updated_at, closed_at, needs) VALUES `
	claim := ledgertest.NewToken().String()
	rows := []string{
		`'019424f0-0000-7000-8000-000000000001', 'A', 'contact', 'hold', '` + hash + `', 'processing', 1, '` + claim + `', 9, 1, 0, 0, NULL, NULL, NULL, 1, NULL, NULL`,
		`'019424f0-0000-7000-8000-000000000002', 'B', 'contact', 'hold', '` + hash + `', 'processing', 2, NULL, NULL, 1, 1, 0, 'refused/rcpt', NULL, NULL, 3, NULL, 'unsent'`,
		`'019424f0-0000-7000-8000-000000000003', 'C', 'jobs', 'hold', '` + hash + `', 'accepted', 4, '` + claim + `', 9, 1, 0, 0, NULL, 'relay', '250 ok', 5, NULL, NULL`,
		`'019424f0-0000-7000-8000-000000000004', 'D', 'jobs', 'hold', '` + hash + `', 'uncertain', 6, '` + claim + `', 9, 1, 1, 1, 'timeout/dot', NULL, NULL, 7, NULL, 'uncertain'`,
		`'019424f0-0000-7000-8000-000000000005', 'E', 'jobs', 'hold', '` + hash + `', 'uncertain', 8, '` + claim + `', 9, 1, 1, 1, 'timeout/dot', NULL, NULL, 9, 9, NULL`,
	}
	statements := []string{`PRAGMA journal_mode = WAL`, string(schema), fmt.Sprintf(`INSERT INTO meta VALUES ('schema_version', '%d'), ('epoch', 'an epoch')`, version)}
	if version >= firstWithOutbox {
		rows = append(rows, `'019424f0-0000-7000-8000-000000000006', 'F', 'jobs', 'queue', '`+hash+`', 'processing', 10, NULL, NULL, 8, 8, 0, 'refused/rcpt', NULL, NULL, 11, NULL, 'stopped'`)
		statements = append(statements, `INSERT INTO outbox VALUES ('019424f0-0000-7000-8000-000000000006', 'seal-1', 'v1.c2VhbGVk', 12)`)
	}
	for _, r := range rows {
		statements = append(statements, insert+`(`+r+`)`)
	}
	statements = append(statements, `INSERT INTO events (id, submission, at, kind, actor, cause, claim, note, times, last_at) VALUES
 ('019424f0-0000-7000-8000-0000000000e1', '019424f0-0000-7000-8000-000000000004', 7, 'doubted', 'system', 'timeout/dot', '`+claim+`', NULL, 1, 7),
 ('019424f0-0000-7000-8000-0000000000e2', '019424f0-0000-7000-8000-000000000004', 7, 'conflict', 'system', NULL, NULL, NULL, 12, 8)`)
	plainConn(t, file, statements...)
}

// look opens a database beside the ledger, as it stands.
func lookAt(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, leave := lookIn(file)
	t.Cleanup(leave)
	return db
}

// lookIn is lookAt for as long as the caller wants it.
func lookIn(file string) (db *sql.DB, leave func()) {
	db = sql.OpenDB(sqlfile.NewConnector(file, []sqlfile.Pragma{sqlfile.Busy, sqlfile.ReadOnly}))
	return db, func() { db.Close() }
}

// table reads a whole query as text.
func table(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	all, err := collect(rows, func(rows *sql.Rows) (string, error) {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		err := rows.Scan(values...)
		var line strings.Builder
		for i, v := range values {
			fmt.Fprintf(&line, "%s=%v ", columns[i], *v.(*any))
		}
		return line.String(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var comment = regexp.MustCompile(`--[^\n]*`)
var space = regexp.MustCompile(`\s+`)

// schemaOf is what SQLite keeps of a schema, but for comments and spaces.
func schemaOf(t *testing.T, file string) []string {
	t.Helper()
	all := table(t, lookAt(t, file), `SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name`)
	for i, line := range all {
		all[i] = space.ReplaceAllString(comment.ReplaceAllString(line, ""), " ")
	}
	return all
}

func contentOf(t *testing.T, file string) [][]string {
	t.Helper()
	db, leave := lookIn(file)
	defer leave()
	return [][]string{
		table(t, db, `SELECT * FROM submissions ORDER BY id`), table(t, db, `SELECT * FROM events ORDER BY id`),
		table(t, db, `SELECT * FROM meta WHERE name <> 'schema_version' ORDER BY name`), outboxOf(t, db),
	}
}

// outboxOf is empty where there is none yet.
func outboxOf(t *testing.T, db *sql.DB) []string {
	t.Helper()
	if len(table(t, db, `SELECT 1 FROM sqlite_schema WHERE name = 'outbox'`)) == 0 {
		return nil
	}
	return table(t, db, `SELECT * FROM outbox ORDER BY submission`)
}

func TestADatabaseOfAnOlderVersionIsBroughtUpToDate(t *testing.T) {
	for version := 1; version < schemaVersion; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) { broughtUpToDate(t, version) })
	}
}

func broughtUpToDate(t *testing.T, version int) {
	old, fresh := tempFile(t), tempFile(t)
	oldVersion(t, old, version)
	before := contentOf(t, old)
	if len(before[0]) < 5 || len(before[1]) != 2 {
		t.Fatalf("%d rows and %d events", len(before[0]), len(before[1]))
	}
	if made, err := Examine(t.Context(), old); !made || err != nil {
		t.Errorf("Examine: %v, %v", made, err)
	}
	d := openFile(t, old, Options{})
	openFile(t, fresh, Options{})
	if diff := cmp.Diff(schemaOf(t, fresh), schemaOf(t, old)); diff != "" {
		t.Errorf("the schema (-fresh +brought up to date):\n%s", diff)
	}
	if diff := cmp.Diff(before, contentOf(t, old)); diff != "" {
		t.Errorf("the content (-before +after):\n%s", diff)
	}
	if version := table(t, lookAt(t, old), `SELECT value FROM meta WHERE name = 'schema_version'`); version[0] != fmt.Sprintf("value=%d ", schemaVersion) {
		t.Errorf("it says %v", version)
	}
	goesOn(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	goesOn(t, openFile(t, old, Options{})) // once is enough
}

// goesOn uses the ledger under hold and under queue.
func goesOn(t *testing.T, d *DB) {
	t.Helper()
	if c := claimed(t, d); !isThere(t, d, c) {
		t.Error("a claim is lost")
	}
	n := ledgertest.NewEntry(ledger.Queue)
	if got, err := d.Store(t.Context(), n); err != nil || !got.Fresh {
		t.Errorf("%+v, %v", got, err)
	}
	if rows, err := d.List(t.Context(), ledger.Filter{}); err != nil || len(rows) < 7 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestProcessesThatStartAtOnceBringItUpToDateOnce(t *testing.T) {
	file := tempFile(t)
	versionOne(t, file)
	var errs [6]error
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			d, err := Open(context.Background(), file, Options{})
			if errs[i] = err; err == nil {
				errs[i] = d.Close()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Error(err)
	}
}

// A step that fails leaves the database as it was, and the older program can go
// on with it.
func TestAFailedUpgradeChangesNothing(t *testing.T) {
	file := tempFile(t)
	versionOne(t, file)
	plainConn(t, file, `CREATE TABLE other (x TEXT); CREATE INDEX outbox_next ON other (x)`)
	schema, content := schemaOf(t, file), contentOf(t, file)
	d, err := Open(t.Context(), file, Options{})
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", schemaVersion)) {
		t.Errorf("Open: %v", err)
	}
	if diff := cmp.Diff(schema, schemaOf(t, file)) + cmp.Diff(content, contentOf(t, file)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if version := table(t, lookAt(t, file), `SELECT value FROM meta WHERE name = 'schema_version'`); version[0] != "value=1 " {
		t.Errorf("it says %v", version)
	}
}

func TestThereIsAStepForEachVersion(t *testing.T) {
	if len(upgrades) != schemaVersion-1 {
		t.Errorf("%d steps to version %d", len(upgrades), schemaVersion)
	}
}

func TestAVersionThatIsNoneIsRefused(t *testing.T) {
	for _, version := range []string{"0", "-1", "two", ""} {
		file := tempFile(t)
		versionOne(t, file)
		plainConn(t, file, `UPDATE meta SET value = '`+version+`' WHERE name = 'schema_version'`)
		if d, err := Open(t.Context(), file, Options{}); err == nil {
			d.Close()
			t.Errorf("%q was taken", version)
		}
	}
}
