// Package sqlledger keeps the ledger's contract over database/sql. Now there is
// one engine, SQLite; the SQL is written so that PostgreSQL takes it too, and
// what differs stands in dialect.go.
//
// One goroutine does all the writing (writer.go): it drains a channel of writes
// and commits many callers' work in one transaction, so that one fsync serves
// them all. Each caller is answered only after COMMIT, and an error of the
// commit is every caller's. Readers have a pool of their own.
//
// Where the end of a call changes a row, the row is read inside the writer's
// transaction, ledger.Submission.After says what it becomes, and one conditional
// update carries that out.
package sqlledger
