package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Reference is the short form of a submission ID that people read out, such as
// YYH9-FP7R-Y5A9: 55 bits as 11 Crockford base-32 symbols, and a check symbol.
// It is shown and stored with its hyphens.
type Reference string

// ErrReference says that a text cannot be a reference.
var ErrReference = errors.New("not a reference")

const (
	crockford      = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // no I, L, O, U: https://www.crockford.com/base32.html
	referenceLabel = "formledger reference v1"
	symbols        = 12
)

// ReferenceOf computes the reference of a submission ID. Anybody who holds the
// ID can do so; it keeps no secret.
func ReferenceOf(id uuid.UUID) Reference {
	sum := sha256.Sum256(append([]byte(referenceLabel), id[:]...))
	bits := binary.BigEndian.Uint64(sum[:8]) >> 9 // the first 55 bits
	var s [symbols]byte
	for i := symbols - 2; i >= 0; i-- {
		s[i] = byte(bits & 31)
		bits >>= 5
	}
	s[symbols-1] = checkSymbol(s[:symbols-1])
	return spell(s[:])
}

// ParseReference reads a reference as people write it: in any case, with O for
// 0, I and L for 1, with or without hyphens and spaces. A single mistyped
// symbol is recognised by the check symbol and gives ErrReference.
func ParseReference(text string) (Reference, error) {
	s, err := readSymbols(text)
	if err != nil {
		return "", err
	}
	if checkSymbol(s[:symbols-1]) != s[symbols-1] {
		return "", fmt.Errorf("%w: a symbol of %q is mistyped; please compare it with the original", ErrReference, text)
	}
	return spell(s), nil
}

// readSymbols reads the values of twelve symbols, whatever the last one checks.
func readSymbols(text string) ([]byte, error) {
	var s []byte
	for _, r := range strings.ToUpper(text) {
		if r == '-' || r == ' ' {
			continue
		}
		v := symbolValue(r)
		if v < 0 {
			return nil, fmt.Errorf("%w: %q has the character %q; a reference looks like YYH9-FP7R-Y5A9", ErrReference, text, r)
		}
		s = append(s, byte(v))
	}
	if len(s) != symbols {
		return nil, fmt.Errorf("%w: %q has %d symbols instead of %d", ErrReference, text, len(s), symbols)
	}
	return s, nil
}

func symbolValue(r rune) int {
	switch r {
	case 'O':
		r = '0'
	case 'I', 'L':
		r = '1'
	}
	return strings.IndexRune(crockford, r)
}

// checkSymbol is Luhn's algorithm modulo 32: it catches every single wrong
// symbol and nearly every swap of two neighbours.
// Source: https://en.wikipedia.org/wiki/Luhn_mod_N_algorithm
func checkSymbol(values []byte) byte {
	sum, factor := 0, 2
	for i := len(values) - 1; i >= 0; i-- {
		addend := factor * int(values[i])
		sum += addend/32 + addend%32
		factor = 3 - factor
	}
	return byte((32 - sum%32) % 32)
}

func spell(values []byte) Reference {
	var b strings.Builder
	for i, v := range values {
		if i > 0 && i%4 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(crockford[v])
	}
	return Reference(b.String())
}
