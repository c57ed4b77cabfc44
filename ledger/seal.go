package ledger

import (
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"golang.org/x/crypto/chacha20poly1305"
)

// Sealed are words that nobody can read without the key that they name.
type Sealed struct {
	Key string // the ID of the key
	Box string // v1.<base64 of nonce and ciphertext>
}

// Seals seals and opens the words of the outbox, under keys of a ring of their
// own: the one in use seals, all of them open. Immutable and safe for concurrent
// use.
type Seals struct{ ring *KeyRing }

// NewSeals makes the seals of a ring.
func NewSeals(ring *KeyRing) *Seals { return &Seals{ring} }

// Holds reports whether words that were sealed under this key can be opened.
func (s *Seals) Holds(key string) bool { return s.ring.Holds(key) }

const sealVersion = "v1."

// Seal seals words with XChaCha20-Poly1305. They open again only beside the same
// ID and payload hash, so that no entry can be put under another row. random
// fails only if the machine has none.
func (s *Seals) Seal(id uuid.UUID, payloadHash string, words []byte, random io.Reader) (Sealed, error) {
	box, err := cipherOf(s.ring.inUse)
	if err != nil {
		return Sealed{}, err
	}
	nonce := make([]byte, box.NonceSize(), box.NonceSize()+len(words)+box.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return Sealed{}, fmt.Errorf("drawing a nonce: %w", err)
	}
	text := box.Seal(nonce, nonce, words, boundTo(id, payloadHash))
	return Sealed{Key: s.ring.inUse.ID, Box: sealVersion + base64.StdEncoding.EncodeToString(text)}, nil
}

// Open is the reverse of Seal. It fails with ErrUnknownKey if the ring does not
// hold the key or the version.
func (s *Seals) Open(id uuid.UUID, payloadHash string, w Sealed) ([]byte, error) {
	key, ok := s.ring.byID[w.Key]
	if !ok || len(w.Box) < len(sealVersion) || w.Box[:len(sealVersion)] != sealVersion {
		return nil, fmt.Errorf("the sealed words are under key %q: %w", w.Key, ErrUnknownKey)
	}
	box, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	text, err := base64.StdEncoding.DecodeString(w.Box[len(sealVersion):])
	if err != nil || len(text) < box.NonceSize() {
		return nil, errSealBroken
	}
	words, err := box.Open(nil, text[:box.NonceSize()], text[box.NonceSize():], boundTo(id, payloadHash))
	if err != nil {
		return nil, errSealBroken
	}
	return words, nil
}

var errSealBroken = errors.New("the sealed words cannot be opened: they were changed, or belong to another message")

func cipherOf(k Key) (cipher.AEAD, error) {
	return chacha20poly1305.NewX(derive(k, "formledger seal v1"))
}

func boundTo(id uuid.UUID, payloadHash string) []byte {
	return []byte("formledger seal v1\n" + id.String() + "\n" + payloadHash)
}
