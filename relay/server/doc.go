// Package server is the far end of a signed relay call: it verifies the call,
// sends its message at most once, and remembers for ever what became of it.
// call.go reads as the journey of a call from top to bottom.
//
// What it knows of a claim is in the table of calls.sql, and is there durably
// before it is said. Refused and sealed are proof that nothing was sent under a
// claim, and hold only because a claim whose row has become so is never sent
// any more. An answer that is not signed says nothing about the message.
package server
