package sqlledger

import "strings"

// sqlite turns the shared SQL, with its $1 parameters, into SQLite's. There,
// $1 is a name, numbered by first appearance; ?1 is the position we mean.
// Source: https://www.sqlite.org/lang_expr.html#varparam
func sqlite(statement string) string {
	return strings.ReplaceAll(statement, "$", "?")
}

// insertOrNothing begins an INSERT that does nothing if the ID is there.
// It also swallows NOT NULL and CHECK failures, so "nothing inserted, and no
// such row" is an internal error and never a replay.
const insertOrNothing = `INSERT OR IGNORE INTO`

// sqliteTriggers make the events append-only. The one UPDATE they let through is
// a counter that goes up: of conflicts, and of the rows that were forgotten. The
// one DELETE is that of the events of a row of which all else was wiped.
const sqliteTriggers = `
CREATE TRIGGER events_keep_rows BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM submissions WHERE id = OLD.submission AND created_at = 0 AND updated_at = 0)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_keep_words
BEFORE UPDATE OF id, submission, at, kind, actor, cause, claim, note ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_count_up BEFORE UPDATE OF times, last_at ON events
WHEN OLD.kind <> 'conflict' AND OLD.kind <> 'forgotten' OR NEW.times <= OLD.times OR NEW.last_at < OLD.last_at
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
`
