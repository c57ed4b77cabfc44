package ledgertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// Lease is how long the claims of NewClaim run.
const Lease = 5 * time.Minute

// At is a moment of the suite's clock, so long after its start. The start has
// digits below the millisecond, which a ledger does not keep.
func At(after time.Duration) time.Time {
	return time.Date(2026, time.March, 4, 5, 6, 7, 890_123_456, time.UTC).Add(after)
}

// NewClaim asks for a fresh UUIDv7 with a fresh token, under policy hold.
func NewClaim() ledger.NewClaim {
	id := uuid.Must(uuid.NewV7())
	return ledger.NewClaim{
		ID: id, Form: "contact", Policy: ledger.Hold, PayloadHash: Hash("words of " + id.String()),
		Token: NewToken(), LeaseUntil: At(Lease), RelayEpoch: "epoch-1", At: At(0),
	}
}

// Again is the claim of a repeat: the same content under a fresh token, so long
// after the suite's start.
func Again(c ledger.NewClaim, after time.Duration) ledger.NewClaim {
	c.Token, c.At, c.LeaseUntil = NewToken(), At(after), At(after+Lease)
	return c
}

// AttemptCap and ClaimCap are the caps of NewEntry.
const (
	AttemptCap = 8
	ClaimCap   = 16
)

// NewEntry is a message with a fresh UUIDv7 and words of its own, under a policy
// that keeps them; its first time is its own moment.
func NewEntry(p ledger.Policy) ledger.NewEntry {
	c := NewClaim()
	return ledger.NewEntry{
		ID: c.ID, Form: c.Form, Policy: p, PayloadHash: c.PayloadHash, AttemptCap: AttemptCap, ClaimCap: ClaimCap,
		Words: Words("words of " + c.ID.String()), Due: c.At, At: c.At,
	}
}

// Words look like sealed ones, and are different for different words. No key
// opens them.
func Words(words string) ledger.Sealed {
	return ledger.Sealed{Key: "seal-1", Box: "v1." + base64.StdEncoding.EncodeToString([]byte(words))}
}

// Taking is the courier's claim of an entry's row under a fresh token, so long
// after the suite's start.
func Taking(n ledger.NewEntry, after time.Duration) ledger.NewClaim {
	return ledger.NewClaim{
		ID: n.ID, Form: n.Form, Policy: n.Policy, PayloadHash: n.PayloadHash,
		Token: NewToken(), LeaseUntil: At(after + Lease), RelayEpoch: "epoch-1", At: At(after),
	}
}

// NewToken draws a token.
func NewToken() ledger.Token {
	t, err := ledger.NewToken(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return t
}

// Hash is a payload hash in the form that the ledger stores, different for
// different words.
func Hash(words string) string {
	sum := sha256.Sum256([]byte(words))
	return "v1.test." + hex.EncodeToString(sum[:])
}

// Ack is the relay's acknowledgment of a claim, so long after the suite's start.
func Ack(c ledger.NewClaim, after time.Duration) ledger.Acknowledgment {
	return ledger.Acknowledgment{
		ID: c.ID, PayloadHash: c.PayloadHash, Claim: c.Token, Receipt: "250 2.0.0 queued as " + c.Token.String(), At: At(after),
	}
}

// End is the end of a claim's call without an acknowledgment.
func End(c ledger.NewClaim, cause string, after time.Duration) ledger.Ended {
	return ledger.Ended{ID: c.ID, Claim: c.Token, Cause: cause, Attempted: true, At: At(after)}
}
