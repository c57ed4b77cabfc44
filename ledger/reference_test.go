package ledger_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"formledger/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// readVectors reads what another program, in another language, has computed.
func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type referenceVector struct {
	ID        uuid.UUID
	Reference ledger.Reference
}

func referenceVectors(t *testing.T) []referenceVector {
	t.Helper()
	var vectors []referenceVector
	readVectors(t, "references.json", &vectors)
	if len(vectors) < 8 {
		t.Fatalf("%d vectors", len(vectors))
	}
	return vectors
}

func TestReferenceVectors(t *testing.T) {
	for _, v := range referenceVectors(t) {
		if got := ledger.ReferenceOf(v.ID); got != v.Reference {
			t.Errorf("%s: %s, want %s", v.ID, got, v.Reference)
		}
		if got, err := ledger.ParseReference(string(v.Reference)); err != nil || got != v.Reference {
			t.Errorf("%s is read as %s, %v", v.Reference, got, err)
		}
	}
}

func TestReferenceIsReadAsPeopleWriteIt(t *testing.T) {
	vectors := referenceVectors(t)
	spellings := []func(string) string{
		strings.ToLower,
		func(s string) string { return strings.ReplaceAll(s, "-", "") },
		func(s string) string { return "  " + strings.ReplaceAll(s, "-", " ") + " " },
		func(s string) string { return strings.Join(strings.Split(s, ""), "-") },
		func(s string) string { return strings.ReplaceAll(s, "0", "O") },
		func(s string) string { return strings.ReplaceAll(s, "0", "o") },
		func(s string) string { return strings.ReplaceAll(s, "1", "I") },
		func(s string) string { return strings.ReplaceAll(s, "1", "l") },
	}
	var all strings.Builder
	for _, v := range vectors {
		all.WriteString(string(v.Reference))
		for i, spell := range spellings {
			text := spell(string(v.Reference))
			if got, err := ledger.ParseReference(text); err != nil || got != v.Reference {
				t.Errorf("spelling %d, %q, is read as %q, %v", i, text, got, err)
			}
		}
	}
	if !strings.Contains(all.String(), "0") || !strings.Contains(all.String(), "1") {
		t.Error("no vector holds 0 and 1, so O, I and L were not tried")
	}
}

func TestEverySingleMistypedSymbolIsCaught(t *testing.T) {
	for _, v := range referenceVectors(t) {
		for i, right := range v.Reference {
			if right == '-' {
				continue
			}
			for _, wrong := range alphabet {
				text := string(v.Reference[:i]) + string(wrong) + string(v.Reference[i+1:])
				got, err := ledger.ParseReference(text)
				if wrong != right && !errors.Is(err, ledger.ErrReference) {
					t.Errorf("%s for %s is read as %s, %v", text, v.Reference, got, err)
				}
			}
		}
	}
}

func TestWhatIsNoReferenceIsRefused(t *testing.T) {
	good := string(referenceVectors(t)[0].Reference)
	for _, text := range []string{
		"", "-", good[1:], good + "0", "0" + good, good[:len(good)-1] + "U", good[:len(good)-1] + "*", good + "\n",
		strings.Replace(good, "-", "–", 1), "\xff" + good, good[:len(good)-1] + "É", uuid.NewString(), strings.Repeat("0", 1000),
	} {
		if got, err := ledger.ParseReference(text); !errors.Is(err, ledger.ErrReference) || got != "" {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"", "YYH9-FP7R-Y5A9", "7k3m q9px 2dht", "OIL0-OIL0-OIL0", "0000-0000-0000", "ıIſ-\xff"} {
		f.Add(text)
	}
	f.Add(string(ledger.ReferenceOf(uuid.Max)))
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ledger.ParseReference(text)
		if err != nil {
			if !errors.Is(err, ledger.ErrReference) || ref != "" {
				t.Errorf("%q with %v", ref, err)
			}
			return
		}
		if again, err := ledger.ParseReference(string(ref)); err != nil || again != ref || len(ref) != 14 {
			t.Errorf("%q is read as %q, and that as %q, %v", text, ref, again, err)
		}
	})
}

func FuzzReferenceOf(f *testing.F) {
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, err := uuid.FromBytes(raw)
		if err != nil {
			return
		}
		ref := ledger.ReferenceOf(id)
		if got, err := ledger.ParseReference(strings.ToLower(string(ref))); err != nil || got != ref {
			t.Errorf("%s has %s, which is read as %s, %v", id, ref, got, err)
		}
	})
}
