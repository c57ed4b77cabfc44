package ledger_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"formledger/ledger"
)

func secret(fill byte) []byte { return bytes.Repeat([]byte{fill}, 32) }

func ring(t *testing.T, keys ...ledger.Key) *ledger.KeyRing {
	t.Helper()
	r, err := ledger.NewKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keyRingVectors is the form of testdata/keyring.json.
type keyRingVectors struct {
	Hashes []struct {
		Key, Canonical, Hash string
		Secret               []byte
	}
	MessageIDs []struct {
		Secret      []byte
		Key         string
		ID          uuid.UUID
		PayloadHash string `json:"payload_hash"`
		MessageID   string `json:"message_id"`
	} `json:"message_ids"`
	DerivedIDs []struct {
		Secret  []byte
		Counter uint64
		Parts   []string
		ID      uuid.UUID
	} `json:"derived_ids"`
}

func TestKeyRingVectors(t *testing.T) {
	var v keyRingVectors
	readVectors(t, "keyring.json", &v)
	if len(v.Hashes) == 0 || len(v.MessageIDs) == 0 || len(v.DerivedIDs) == 0 {
		t.Fatal("vectors are missing")
	}
	for _, h := range v.Hashes {
		if got := ring(t, ledger.Key{ID: h.Key, Secret: h.Secret}).Hash([]byte(h.Canonical)); got != h.Hash {
			t.Errorf("%q under %s: %s, want %s", h.Canonical, h.Key, got, h.Hash)
		}
	}
	for _, m := range v.MessageIDs {
		got, err := ring(t, ledger.Key{ID: m.Key, Secret: m.Secret}).MessageID(m.ID, m.PayloadHash)
		if err != nil || got != m.MessageID {
			t.Errorf("Message-ID of %s: %s, %v, want %s", m.ID, got, err, m.MessageID)
		}
	}
	for _, d := range v.DerivedIDs {
		if got := ring(t, ledger.Key{ID: "k", Secret: d.Secret}).DeriveID(0, d.Counter, parts(d.Parts...)...); got != d.ID {
			t.Errorf("%q, %d: %s, want %s", d.Parts, d.Counter, got, d.ID)
		}
	}
}

func parts(texts ...string) [][]byte {
	var all [][]byte
	for _, t := range texts {
		all = append(all, []byte(t))
	}
	return all
}

// First the new key only compares, then it is used; rows under the old one
// still replay, and still conflict.
func TestKeyRotation(t *testing.T) {
	old, fresh := ledger.Key{ID: "old", Secret: secret(1)}, ledger.Key{ID: "new", Secret: secret(2)}
	verify := func(k ledger.Key) ledger.Key { k.VerifyOnly = true; return k }
	before, distributed, rotated, done := ring(t, old), ring(t, old, verify(fresh)), ring(t, verify(old), fresh), ring(t, fresh)
	words, others := []byte("words"), []byte("other words")
	for _, c := range []struct {
		name       string
		hash, with *ledger.KeyRing
		err        error
	}{
		{"same ring", before, before, nil},
		{"new key not known yet", rotated, before, ledger.ErrUnknownKey},
		{"new key distributed", rotated, distributed, nil},
		{"old row, new key in use", before, rotated, nil},
		{"old key removed", before, done, ledger.ErrUnknownKey},
	} {
		stored := c.hash.Hash(words)
		if same, err := c.with.Same(stored, words); !errors.Is(err, c.err) || same != (c.err == nil) {
			t.Errorf("%s: same content: %v, %v", c.name, same, err)
		}
		if same, err := c.with.Same(stored, others); !errors.Is(err, c.err) || same {
			t.Errorf("%s: other content: %v, %v", c.name, same, err)
		}
	}
	if distributed.Hash(words) != before.Hash(words) || rotated.Hash(words) != done.Hash(words) || before.Hash(words) == done.Hash(words) {
		t.Error("a verify-only key hashes")
	}
	if distributed.Len() != 2 || done.Len() != 1 {
		t.Error("Len")
	}
	if !distributed.Holds("old") || !distributed.Holds("new") || done.Holds("old") || done.Holds("") {
		t.Error("Holds")
	}
}

// Never a conflict: the key may be on its way.
func TestAHashThatCannotBeReadIsUnderAnUnknownKey(t *testing.T) {
	r := ring(t, ledger.Key{ID: "k1", Secret: secret(1)})
	good := r.Hash(nil)
	for _, stored := range []string{"", "v1", "v1.k1", "v2" + good[2:], "v1.k2" + good[5:], good + ".", "v1..", strings.ToUpper(good)} {
		if same, err := r.Same(stored, nil); !errors.Is(err, ledger.ErrUnknownKey) || same {
			t.Errorf("%q: %v, %v", stored, same, err)
		}
		if id, err := r.MessageID(uuid.Max, stored); !errors.Is(err, ledger.ErrUnknownKey) || id != "" {
			t.Errorf("%q: %q, %v", stored, id, err)
		}
	}
	for _, stored := range []string{good[:len(good)-1], good + "0", "v1.k1."} {
		if same, err := r.Same(stored, nil); err != nil || same {
			t.Errorf("%q: %v, %v", stored, same, err)
		}
	}
}

func TestKeyRingIsImmutable(t *testing.T) {
	mine := secret(1)
	r := ring(t, ledger.Key{ID: "k1", Secret: mine})
	before := r.Hash([]byte("words"))
	mine[0]++
	if r.Hash([]byte("words")) != before {
		t.Error("the ring changes with its caller's bytes")
	}
}

func TestMessageIDFollowsIDAndContent(t *testing.T) {
	r := ring(t, ledger.Key{ID: "k1", Secret: secret(1)}, ledger.Key{ID: "k2", Secret: secret(2), VerifyOnly: true})
	k2 := ring(t, ledger.Key{ID: "k2", Secret: secret(2)})
	seen := map[string]string{}
	for _, id := range []uuid.UUID{uuid.Nil, uuid.Max} {
		for _, hash := range []string{r.Hash([]byte("a")), r.Hash([]byte("b")), k2.Hash([]byte("a"))} {
			first, err := r.MessageID(id, hash)
			again, err2 := r.MessageID(id, hash)
			if err != nil || err2 != nil || first != again || len(first) != 32 || first != strings.ToLower(first) {
				t.Errorf("%q, then %q: %v, %v", first, again, err, err2)
			}
			if other := seen[first]; other != "" {
				t.Errorf("%s %s has the Message-ID of %s", id, hash, other)
			}
			seen[first] = id.String() + hash
		}
	}
}

func TestDerivedIDs(t *testing.T) {
	r := ring(t, ledger.Key{ID: "old", Secret: secret(1), VerifyOnly: true}, ledger.Key{ID: "new", Secret: secret(2)})
	seen := map[uuid.UUID]string{}
	for _, p := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {"a", "b", "0"}, {"a", "1:b"}, {"a1:b"}, {"1:a"}} {
		for key := range r.Len() {
			for _, counter := range []uint64{0, 1, 10, 11} {
				id := r.DeriveID(key, counter, parts(p...)...)
				what := fmt.Sprintf("key %d, %d, %q", key, counter, p)
				if other := seen[id]; other != "" {
					t.Errorf("%s and %s have one ID", what, other)
				}
				seen[id] = what
				if id.Version() != 8 || id.Variant() != uuid.RFC4122 || id != r.DeriveID(key, counter, parts(p...)...) {
					t.Errorf("%s: %s", what, id)
				}
			}
		}
	}
	if r.DeriveID(0, 0) != ring(t, ledger.Key{ID: "x", Secret: secret(2)}).DeriveID(0, 0) {
		t.Error("the key in use is not the first")
	}
}

// Requests derive at once, from parts that may have room for more.
func TestDeriveIDLeavesItsPartsAlone(t *testing.T) {
	r := ring(t, ledger.Key{ID: "k1", Secret: secret(1)})
	room := append(make([][]byte, 0, 8), []byte("contact"))
	var all sync.WaitGroup
	for n := range uint64(8) {
		all.Go(func() { r.DeriveID(0, n, room...) })
	}
	all.Wait()
	if left := room[:2][1]; left != nil {
		t.Errorf("%q was written behind the parts", left)
	}
}

// idIn is the ID of the one key in a new key file.
func idIn(file string) string {
	lines := strings.Split(strings.TrimSpace(file), "\n")
	return strings.Fields(lines[len(lines)-1])[0]
}

func TestKeyFile(t *testing.T) {
	text, err := ledger.NewKeyFile(bytes.NewReader(secret(7)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ledger.ParseKeyRing(strings.ReplaceAll(text, "\n", "\r\n") + "\n  \n# more\nold\tverify " + base64.StdEncoding.EncodeToString(secret(8)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Len() != 2 || r.Hash(nil) != ring(t, ledger.Key{ID: idIn(text), Secret: secret(7)}).Hash(nil) {
		t.Error("the key file is not read as it was written")
	}
	if other, err := ledger.NewKeyFile(bytes.NewReader(secret(8))); err != nil || idIn(other) == idIn(text) {
		t.Errorf("two installations call their keys %q and %q", idIn(other), idIn(text))
	}
	if text, err := ledger.NewKeyFile(strings.NewReader("short")); err == nil || text != "" {
		t.Errorf("%q without randomness", text)
	}
}

// A key that is to be used next only verifies so far, in old words too.
func TestAPreparedKeyOnlyVerifies(t *testing.T) {
	b64 := func(i byte) string { return base64.StdEncoding.EncodeToString(secret(i)) }
	r, err := ledger.ParseKeyRing("old use " + b64(1) + "\nnew next " + b64(2))
	if err != nil {
		t.Fatal(err)
	}
	if r.Len() != 2 || r.Hash(nil) != ring(t, ledger.Key{ID: "old", Secret: secret(1)}).Hash(nil) {
		t.Error("the prepared key is in use")
	}
	if same, err := r.Same(ring(t, ledger.Key{ID: "new", Secret: secret(2)}).Hash(nil), nil); err != nil || !same {
		t.Errorf("the prepared key does not verify: %v", err)
	}
	if seals := ledger.NewSeals(r); !seals.Holds("old") || !seals.Holds("new") || seals.Holds("other") || seals.Holds("") {
		t.Error("Holds")
	}
	if _, err := ledger.ParseKeyRing("new next " + b64(2)); err == nil {
		t.Error("a ring without a key in use")
	}
}

func TestKeyFileErrorsNameTheLineAndNoSecret(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString(secret(0x5a))
	short := base64.StdEncoding.EncodeToString([]byte("short secret"))
	for name, c := range map[string]struct{ text, line string }{
		"no words":            {"k1", "line 1"},
		"a word too many":     {"# keys\nk1 use " + b64 + " x", "line 2"},
		"an unknown use":      {"\n\nk1 uses " + b64, "line 3"},
		"no base64":           {"k1 use " + b64[1:] + "!", "line 1"},
		"secret too short":    {"k1 use " + short, "line 1"},
		"columns swapped":     {"k0 verify " + b64 + "\n" + b64 + " use k1", "line 2"},
		"columns swapped, 4n": {b64 + " use key1", "line 1"},
		"an ID in capitals":   {"K1 use " + b64, "line 1"},
		"an ID too long":      {strings.Repeat("k", 33) + " use " + b64, "line 1"},
		"one ID twice":        {"k1 use " + b64 + "\nk1 verify " + b64, "line 2"},
		"two in use":          {"k1 use " + b64 + "\nk2 use " + b64, "line 2"},
		"none in use":         {"k1 verify " + b64, "in use"},
		"nothing":             {"", "in use"},
	} {
		r, err := ledger.ParseKeyRing(c.text)
		if err == nil || r != nil || !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{b64, b64[1:], short, "short secret", string(secret(0x5a))} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error holds a secret: %v", name, err)
			}
		}
	}
}

func TestKeyRingNeedsExactlyOneKeyInUse(t *testing.T) {
	verify := ledger.Key{ID: "k1", Secret: secret(1), VerifyOnly: true}
	for name, keys := range map[string][]ledger.Key{
		"none": nil, "verify only": {verify}, "a nil secret": {{ID: "k1"}}, "no ID": {{Secret: secret(1)}},
		"two in use": {{ID: "k1", Secret: secret(1)}, {ID: "k2", Secret: secret(2)}},
	} {
		if r, err := ledger.NewKeyRing(keys); err == nil || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

func FuzzParseKeyRing(f *testing.F) {
	f.Add("k1 use " + base64.StdEncoding.EncodeToString(secret(1)))
	f.Add("# c\r\nk1 verify AAAA\n\xff use")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ledger.ParseKeyRing(text)
		if err != nil {
			return
		}
		for i := range r.Len() {
			r.DeriveID(i, 0)
		}
		if same, err := r.Same(r.Hash([]byte(text)), []byte(text)); err != nil || !same {
			t.Errorf("its own hash is not the same: %v", err)
		}
	})
}
