package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"formledger/ledger"
)

// Whatever symbol was mistyped, and as what, the original is among the twelve.
func TestTheOriginalOfAMistypedReferenceIsAmongTwelve(t *testing.T) {
	const original, alphabet = "YYH9-FP7R-Y5A9", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	for i, symbol := range original {
		for _, typed := range alphabet {
			if symbol == '-' || typed == symbol {
				continue
			}
			text := strings.ToLower(original[:i] + string(typed) + original[i+1:])
			near := ledger.Mistyped(text)
			if len(near) > 12 || !slices.Contains(near, original) {
				t.Errorf("%s: %v", text, near)
			}
			for _, n := range near {
				if read, err := ledger.ParseReference(string(n)); err != nil || read != n {
					t.Errorf("%s suggests %s: %v", text, n, err)
				}
			}
		}
	}
}

func TestNothingIsSuggestedForWhatIsNoMistypedReference(t *testing.T) {
	for _, text := range []string{"YYH9-FP7R-Y5A9", "", "YYH9", "YYH9-FP7R-Y5A!", "YYH9-FP7R-Y5A9-0"} {
		if near := ledger.Mistyped(text); near != nil {
			t.Errorf("%q: %v", text, near)
		}
	}
}
