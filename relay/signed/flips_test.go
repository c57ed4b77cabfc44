package signed

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// flippable is an acknowledgment as its covered parts: every bit of them counts.
type flippable struct {
	status []byte // two bytes of a number
	values map[string][]byte
	body   []byte
}

func (f flippable) parts() [][]byte {
	return [][]byte{f.status, f.values["Content-Type"], f.values["Content-Digest"], f.values["Signature-Input"], f.values["Signature"], f.body}
}

func (f flippable) verify(keys *Keys, q Question, now time.Time) error {
	header := http.Header{}
	for name, v := range f.values {
		header[name] = []string{string(v)}
	}
	return keys.VerifyAnswer(int(f.status[0])<<8|int(f.status[1]), header, f.body, q, now)
}

func TestNoFlippedBitIsVerified(t *testing.T) {
	const rounds = 100_000
	seed := [2]uint64{2026, 9421}
	random := rand.New(rand.NewPCG(seed[0], seed[1]))
	w := newWire(t)
	f := flippable{status: []byte{0, 200}, values: map[string][]byte{}, body: bytes.Clone(w.body)}
	for name := range w.answer {
		f.values[name] = []byte(w.answer.Get(name))
	}
	if err := f.verify(w.keys, w.question, w.now); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, p := range f.parts() {
		total += 8 * len(p)
	}
	for range rounds {
		bit := random.IntN(total)
		part := 0
		for at := f.parts(); bit >= 8*len(at[part]); part++ {
			bit -= 8 * len(at[part])
		}
		flipped := &f.parts()[part][bit/8]
		*flipped ^= 1 << (bit % 8)
		if f.verify(w.keys, w.question, w.now) == nil {
			t.Errorf("seed %v: part %d with bit %d flipped is verified: %q", seed, part, bit, f.parts()[part])
		}
		*flipped ^= 1 << (bit % 8)
	}
	if err := f.verify(w.keys, w.question, w.now); err != nil {
		t.Errorf("in the end nothing is verified any more: %v", err)
	}
}
