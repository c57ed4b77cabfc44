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

// sqliteTriggers make the events append-only. The one UPDATE they let through
// is a conflict's counter, which only goes up.
const sqliteTriggers = `
CREATE TRIGGER events_keep_rows BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_keep_words
BEFORE UPDATE OF id, submission, at, kind, actor, cause, claim, note ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_count_up BEFORE UPDATE OF times, last_at ON events
WHEN OLD.kind <> 'conflict' OR NEW.times <= OLD.times OR NEW.last_at < OLD.last_at
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
`
