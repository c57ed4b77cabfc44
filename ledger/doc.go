// Package ledger holds the contract of formledger's ledger: what is recorded of
// an enquiry, and what every engine that records it has to keep. These are the
// promises; each has a test that carries its number.
//
//  1. Recorded first. Nothing is sent that is not durably in the ledger before.
//  2. One claim, one call. A claim causes at most one relay call; a relay call
//     causes at most one SMTP transaction.
//  3. One ID, one content, for ever. The same ID with the same content gets the
//     recorded outcome. With other content it gets a conflict, and nothing is
//     sent.
//  4. Accepted means somebody vouches. It is recorded only on an acknowledgment
//     bound to this ID, this content and a claim of this row, or on an
//     operator's recorded word, and says which. It is final. It means that the
//     configured mail path took the message, not that a person read it or that
//     it missed the spam folder.
//  5. Unknown is called uncertain. Neither time nor a repeat nor a restart turns
//     uncertain into something else: only evidence or an operator does, on
//     record.
//  6. "Not sent" is proven too. It is said only if no byte of the call left this
//     machine, or the receiving side refused in a way that excludes acceptance,
//     or the relay sealed the claim against late arrival.
//  7. Somebody is told. No row ends where neither the visitor, who got a true
//     answer, nor the operator's queue knows of it.
//  8. Minimal by default. Under policy hold the ledger holds no word of the
//     enquiry, no address and no IP. Under queue and retry it holds the words
//     sealed, and wipes them when the message is accepted or the case is closed.
//
// They hold while the disk keeps what it reported as synced, and the database is
// not replaced by an older copy behind formledger's back.
package ledger
