package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ErrUnknownKey says that a row was hashed under a key that this ring does not
// hold, so that nobody can tell whether the content is the same. It is never a
// conflict: the key may be on its way.
var ErrUnknownKey = errors.New("the row's payload hash is under a key that is not in the key ring")

// Key is one secret of the payload hash.
type Key struct {
	ID     string // 1–32 of a–z, 0–9, hyphen
	Secret []byte // at least 32 bytes
	// VerifyOnly keys compare old rows and never hash new ones. A new key is
	// distributed verify-only first, so that every process knows it before any
	// process uses it.
	VerifyOnly bool
}

// KeyRing holds the keys of the payload hash: one in use, others that compare.
// It is immutable and safe for concurrent use.
type KeyRing struct {
	inUse Key
	byID  map[string]Key
	order []Key // the one in use first
}

const (
	hashVersion    = "v1"
	minSecretBytes = 32
)

var keyID = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// NewKeyRing makes a ring of keys of which exactly one is in use.
func NewKeyRing(keys []Key) (*KeyRing, error) {
	r := &KeyRing{byID: map[string]Key{}}
	for _, k := range keys {
		if err := r.add(k); err != nil {
			return nil, err
		}
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *KeyRing) complete() error {
	if r.inUse.ID == "" {
		return errors.New("no key is in use: mark one of them with \"use\"")
	}
	r.order = append([]Key{r.inUse}, r.order...)
	return nil
}

func (r *KeyRing) add(k Key) error {
	switch {
	case !keyID.MatchString(k.ID): // not quoted: it may be a secret in the wrong column
		return errors.New("a key's ID is 1–32 of a–z, 0–9 and hyphen")
	case len(k.Secret) < minSecretBytes:
		return fmt.Errorf("key %q is %d bytes long; it needs at least %d", k.ID, len(k.Secret), minSecretBytes)
	case r.byID[k.ID].ID != "":
		return fmt.Errorf("key %q stands in the ring twice", k.ID)
	case !k.VerifyOnly && r.inUse.ID != "":
		return fmt.Errorf("keys %q and %q are both in use; only one can be, mark the other with \"verify\"", r.inUse.ID, k.ID)
	}
	k.Secret = bytes.Clone(k.Secret)
	r.byID[k.ID] = k
	if k.VerifyOnly {
		r.order = append(r.order, k)
	} else {
		r.inUse = k
	}
	return nil
}

// ParseKeyRing reads a key file: a line for each key with its ID, "use",
// "verify" or "next", and its secret in base64. A key that is next only verifies
// so far, and whoever rotates the keys puts it in use. Empty lines and lines that
// begin with # are comments. Errors never contain a secret.
func ParseKeyRing(text string) (*KeyRing, error) {
	r := &KeyRing{byID: map[string]Key{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKey(line)
		if err == nil {
			err = r.add(k)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	return r, nil
}

func parseKey(line string) (Key, error) {
	parts := strings.Fields(line)
	if len(parts) != 3 || (parts[1] != "use" && parts[1] != "verify" && parts[1] != "next") {
		return Key{}, errors.New(`a line is: ID, then "use", "verify" or "next", then the secret in base64`)
	}
	secret, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return Key{}, errors.New("the third word, the secret, is not base64")
	}
	return Key{ID: parts[0], Secret: secret, VerifyOnly: parts[1] != "use"}, nil
}

// NewKeyFile is the text of a key file with one fresh key in use.
func NewKeyFile(random io.Reader) (string, error) {
	k, err := NewKey(random)
	if err != nil {
		return "", err
	}
	return "# Keys of formledger's payload hash: ID, state (use, verify or next), secret in base64.\n" +
		"# Keep this file apart from the database, and keep a copy: without it no\n" +
		"# repeat of an old enquiry can be recognised.\n" +
		k.ID + " use " + base64.StdEncoding.EncodeToString(k.Secret) + "\n", nil
}

// NewKey draws a fresh key. Its ID comes from its secret, so that a key of another
// installation is an unknown one, and no repeat is taken for a conflict.
func NewKey(random io.Reader) (Key, error) {
	secret := make([]byte, minSecretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return Key{}, fmt.Errorf("drawing a key: %w", err)
	}
	id := derive(Key{Secret: secret}, "formledger key id v1")[:4]
	return Key{ID: "k-" + hex.EncodeToString(id), Secret: secret}, nil
}

// Hash is the payload hash of an enquiry's canonical bytes under the key in
// use, as the ledger stores it: v1.<key id>.<hex of HMAC-SHA-256>. It is keyed,
// because names, addresses and stock phrases can be guessed.
func (r *KeyRing) Hash(canonical []byte) string {
	return hashUnder(r.inUse, canonical)
}

// Same reports whether a stored payload hash is that of the canonical bytes,
// compared under the row's own key and in constant time. It fails with
// ErrUnknownKey if the ring does not hold the key or the version.
func (r *KeyRing) Same(stored string, canonical []byte) (bool, error) {
	k, err := r.keyOf(stored)
	if err != nil {
		return false, err
	}
	return hmac.Equal([]byte(stored), []byte(hashUnder(k, canonical))), nil
}

func (r *KeyRing) keyOf(stored string) (Key, error) {
	parts := strings.Split(stored, ".")
	if len(parts) != 3 || parts[0] != hashVersion {
		return Key{}, ErrUnknownKey
	}
	k, ok := r.byID[parts[1]]
	if !ok {
		return Key{}, ErrUnknownKey
	}
	return k, nil
}

func hashUnder(k Key, canonical []byte) string {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write(canonical)
	return hashVersion + "." + k.ID + "." + hex.EncodeToString(mac.Sum(nil))
}

// MessageID is the Message-ID's left side for one content under one ID: the
// same on every attempt, so that a mailbox can recognise a duplicate, and keyed,
// so that nobody else can forge one. It fails with ErrUnknownKey.
func (r *KeyRing) MessageID(id uuid.UUID, payloadHash string) (string, error) {
	k, err := r.keyOf(payloadHash)
	if err != nil {
		return "", err
	}
	sum := derive(k, "formledger message-id v1", id[:], []byte(payloadHash))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])), nil
}

// DeriveID is the submission ID of an enquiry that came without one, for each
// key of the ring, the one in use first: from what makes two posts the same
// enquiry (form, content, sender), and a counter. It is a UUIDv8 (RFC 9562
// section 5.8), and keyed, so that it reveals nothing of its parts.
func (r *KeyRing) DeriveID(key int, counter uint64, parts ...[]byte) uuid.UUID {
	count := []byte(fmt.Sprint(counter))
	sum := derive(r.order[key], "formledger derived id v1", slices.Concat(parts, [][]byte{count})...)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Holds reports whether a key is in the ring.
func (r *KeyRing) Holds(key string) bool {
	_, ok := r.byID[key]
	return ok
}

// Len is the number of keys in the ring.
func (r *KeyRing) Len() int { return len(r.order) }

// derive makes a value for another purpose than the payload hash from the same
// secret. The label keeps the purposes apart; every part is length-prefixed.
func derive(k Key, label string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	fmt.Fprintf(mac, "%s\n", label)
	for _, p := range parts {
		fmt.Fprintf(mac, "%d:", len(p))
		mac.Write(p)
	}
	return mac.Sum(nil)
}
