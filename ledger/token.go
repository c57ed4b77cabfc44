package ledger

import (
	"encoding/base64"
	"fmt"
	"io"
)

// Token is a claim: a random 128-bit right to make one relay call for one
// submission. Its text form is unpadded URL-safe base64.
type Token [16]byte

// NewToken draws a token from a source of randomness such as crypto/rand.
func NewToken(random io.Reader) (Token, error) {
	var t Token
	if _, err := io.ReadFull(random, t[:]); err != nil {
		return Token{}, fmt.Errorf("drawing a claim: %w", err)
	}
	return t, nil
}

// ParseToken reads the text form of a token.
func ParseToken(text string) (Token, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(Token{}) {
		return Token{}, fmt.Errorf("%q is not a claim", text)
	}
	if t := Token(raw); t.String() == text { // the decoder skips line ends
		return t, nil
	}
	return Token{}, fmt.Errorf("%q is not a claim", text)
}

// String is the text form that the ledger stores.
func (t Token) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// IsZero reports whether there is no claim.
func (t Token) IsZero() bool { return t == Token{} }
