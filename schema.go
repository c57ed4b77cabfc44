// Package formledger holds the ledger's schema, the one SQL text that both
// engines take.
package formledger

import _ "embed"

// Schema creates every table and index of the ledger. What SQLite and
// PostgreSQL spell differently (triggers) stands with the dialects in
// ledger/sqlledger.
//
//go:embed schema.sql
var Schema string
