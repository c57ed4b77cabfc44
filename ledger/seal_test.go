package ledger_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"

	"formledger/ledger"
)

// sealVector is one of testdata/seals.json, which another program computed, one
// that agrees with draft-irtf-cfrg-xchacha-03, appendix A.3.1.
type sealVector struct {
	Key           string
	Secret, Nonce []byte
	ID            uuid.UUID
	PayloadHash   string `json:"payload_hash"`
	Words, Box    string
}

func TestSealVectors(t *testing.T) {
	var vectors []sealVector
	readVectors(t, "seals.json", &vectors)
	if len(vectors) == 0 {
		t.Fatal("vectors are missing")
	}
	for _, v := range vectors {
		seals := ledger.NewSeals(ring(t, ledger.Key{ID: v.Key, Secret: v.Secret}))
		got, err := seals.Seal(v.ID, v.PayloadHash, []byte(v.Words), bytes.NewReader(v.Nonce))
		if want := (ledger.Sealed{Key: v.Key, Box: v.Box}); err != nil || got != want {
			t.Errorf("sealed as %+v, %v; want %+v", got, err, want)
		}
		words, err := seals.Open(v.ID, v.PayloadHash, ledger.Sealed{Key: v.Key, Box: v.Box})
		if err != nil || string(words) != v.Words {
			t.Errorf("opened as %q, %v; want %q", words, err, v.Words)
		}
	}
}

// sealer holds one key, and has sealed words with it.
func sealer(t testing.TB, words string) (s *ledger.Seals, id uuid.UUID, payloadHash string, w ledger.Sealed) {
	t.Helper()
	r, err := ledger.NewKeyRing([]ledger.Key{{ID: "seal-1", Secret: secret(1)}})
	if err != nil {
		t.Fatal(err)
	}
	s, id, payloadHash = ledger.NewSeals(r), uuid.Must(uuid.NewV7()), "v1.k1.abcdef"
	if w, err = s.Seal(id, payloadHash, []byte(words), rand.Reader); err != nil {
		t.Fatal(err)
	}
	return s, id, payloadHash, w
}

func TestWhatIsSealedOpensAgain(t *testing.T) {
	for _, words := range []string{"", "x", "zwölf Wörter\r\n\x00", strings.Repeat("long ", 20_000)} {
		s, id, payloadHash, w := sealer(t, words)
		got, err := s.Open(id, payloadHash, w)
		if err != nil || string(got) != words {
			t.Errorf("%.20q, %v; want %.20q", got, err, words)
		}
		if w.Key != "seal-1" || !strings.HasPrefix(w.Box, "v1.") || len(words) > 8 && strings.Contains(w.Box, words) {
			t.Errorf("%.60q under %s", w.Box, w.Key)
		}
	}
}

func TestPromise8_SealsOfTheSameWordsAreDifferent(t *testing.T) {
	s, id, payloadHash, first := sealer(t, "the same words")
	second, err := s.Seal(id, payloadHash, []byte("the same words"), rand.Reader)
	if err != nil || first.Box == second.Box {
		t.Errorf("%+v, %v", second, err)
	}
}

// No entry can be put under another row, or be changed.
func TestSealedWordsOpenNowhereElse(t *testing.T) {
	s, id, payloadHash, w := sealer(t, "words")
	changed := func(at int) ledger.Sealed {
		raw, err := base64.StdEncoding.DecodeString(w.Box[3:])
		if err != nil {
			t.Fatal(err)
		}
		raw[(at+len(raw))%len(raw)] ^= 1
		return ledger.Sealed{Key: w.Key, Box: "v1." + base64.StdEncoding.EncodeToString(raw)}
	}
	for name, try := range map[string]func() ([]byte, error){
		"another ID":            func() ([]byte, error) { return s.Open(uuid.New(), payloadHash, w) },
		"another hash":          func() ([]byte, error) { return s.Open(id, "v1.k1.abcdee", w) },
		"a changed nonce":       func() ([]byte, error) { return s.Open(id, payloadHash, changed(0)) },
		"changed words":         func() ([]byte, error) { return s.Open(id, payloadHash, changed(25)) },
		"a changed tag":         func() ([]byte, error) { return s.Open(id, payloadHash, changed(-1)) },
		"cut off":               func() ([]byte, error) { return s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: w.Box[:40]}) },
		"cut off in the nonce":  func() ([]byte, error) { return s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: w.Box[:19]}) },
		"nothing but a version": func() ([]byte, error) { return s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: "v1."}) },
		"no base64":             func() ([]byte, error) { return s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: "v1.§"}) },
	} {
		got, err := try()
		if err == nil || got != nil || errors.Is(err, ledger.ErrUnknownKey) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestSealsUnderAnUnknownKey(t *testing.T) {
	s, id, payloadHash, w := sealer(t, "words")
	for name, w := range map[string]ledger.Sealed{
		"another key":     {Key: "seal-2", Box: w.Box},
		"no key":          {Box: w.Box},
		"another version": {Key: w.Key, Box: "v2." + w.Box[3:]},
		"no version":      {Key: w.Key, Box: w.Box[3:]},
		"nothing":         {Key: w.Key},
	} {
		if got, err := s.Open(id, payloadHash, w); !errors.Is(err, ledger.ErrUnknownKey) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// of the same name, and another installation's
	other := ledger.NewSeals(ring(t, ledger.Key{ID: "seal-1", Secret: secret(2)}))
	if got, err := other.Open(id, payloadHash, w); err == nil {
		t.Errorf("another secret opens it: %q", got)
	}
}

func TestAnOldKeyStillOpensAfterARotation(t *testing.T) {
	_, id, payloadHash, old := sealer(t, "words")
	rotated := ledger.NewSeals(ring(t, ledger.Key{ID: "seal-2", Secret: secret(2)}, ledger.Key{ID: "seal-1", Secret: secret(1), VerifyOnly: true}))
	if got, err := rotated.Open(id, payloadHash, old); err != nil || string(got) != "words" {
		t.Errorf("%q, %v", got, err)
	}
	fresh, err := rotated.Seal(id, payloadHash, []byte("words"), rand.Reader)
	if err != nil || fresh.Key != "seal-2" {
		t.Errorf("%+v, %v", fresh, err)
	}
	if !rotated.Holds("seal-1") || !rotated.Holds("seal-2") || rotated.Holds("seal-3") {
		t.Error("Holds")
	}
}

func TestASealWithoutRandomnessIsAnError(t *testing.T) {
	s, id, payloadHash, _ := sealer(t, "words")
	for _, random := range []io.Reader{strings.NewReader(""), strings.NewReader("too short")} {
		if w, err := s.Seal(id, payloadHash, []byte("words"), random); err == nil || w != (ledger.Sealed{}) {
			t.Errorf("%+v, %v", w, err)
		}
	}
}

// Whatever stands in the outbox, it opens as what was sealed or not at all.
func FuzzSeal(f *testing.F) {
	f.Add([]byte("words"), "v1.k1.abcdef", "v1.AAAA", uint16(0), byte(0))
	f.Add([]byte(""), "", "", uint16(30), byte(1))
	f.Add([]byte("zwölf"), "v1.k1.abcdef\nv1", "v2.", uint16(7), byte(255))
	f.Fuzz(func(t *testing.T, words []byte, payloadHash, anything string, at uint16, flip byte) {
		s, id, _, _ := sealer(t, "")
		w, err := s.Seal(id, payloadHash, words, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Open(id, payloadHash, w); err != nil || !bytes.Equal(got, words) {
			t.Errorf("%q, %v; want %q", got, err, words)
		}
		raw, err := base64.StdEncoding.DecodeString(w.Box[3:])
		if err != nil {
			t.Fatal(err)
		}
		raw[int(at)%len(raw)] ^= flip
		got, err := s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: "v1." + base64.StdEncoding.EncodeToString(raw)})
		if (err == nil) != (flip == 0) || err == nil && !bytes.Equal(got, words) {
			t.Errorf("flipped by %d: %q, %v", flip, got, err)
		}
		if got, err := s.Open(id, payloadHash, ledger.Sealed{Key: w.Key, Box: anything}); err == nil {
			t.Errorf("%q opens as %q", anything, got)
		}
	})
}
