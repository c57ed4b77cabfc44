// Package ledgertest holds what tests need of a ledger: the conformance suite
// that every engine runs (Run), a wrapper that makes chosen calls fail before or
// after they took effect (Faulty), and builders for what a ledger takes. Only
// tests import it.
package ledgertest
