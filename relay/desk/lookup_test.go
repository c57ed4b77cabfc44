package desk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"formledger/ledger"
	"formledger/relay/desk"
)

func TestAMistypedReferenceIsSuggested(t *testing.T) {
	s := newShelf(t)
	ref := string(s.stores(ledger.Queue).Reference)
	s.stores(ledger.Queue)
	for i := range ref {
		if ref[i] == '-' {
			continue
		}
		typed := "0"
		if ref[i] == '0' {
			typed = "Z"
		}
		text := strings.ToLower(ref[:i] + typed + ref[i+1:])
		_, err := s.desk.Find(context.Background(), text)
		var mistyped *desk.MistypedError
		if !errors.As(err, &mistyped) || len(mistyped.Near) != 1 || string(mistyped.Near[0]) != ref || !errors.Is(err, ledger.ErrReference) ||
			!strings.Contains(err.Error(), "mistyped") || !strings.HasSuffix(err.Error(), "Did you mean "+ref+"?") {
			t.Errorf("%s for %s: %v", text, ref, err)
		}
	}
}

func TestAReferenceThatIsLikeNoneIsNotSuggested(t *testing.T) {
	s := newShelf(t)
	s.stores(ledger.Queue)
	_, err := s.desk.Find(context.Background(), "YYH9-FP7R-Y5A8")
	if !errors.Is(err, ledger.ErrReference) || !strings.Contains(err.Error(), "compare") || !strings.Contains(err.Error(), "none that differs from it in one symbol") {
		t.Errorf("%v", err)
	}
	if _, err = s.desk.Find(context.Background(), "YYH9"); errors.As(err, new(*desk.MistypedError)) || !errors.Is(err, ledger.ErrReference) {
		t.Errorf("too short: %v", err)
	}
}

// The visitor's page can show a reference that never arrived.
func TestAReferenceThatWasNeverSeenSaysWhatThatMeans(t *testing.T) {
	s := newShelf(t)
	for _, text := range []string{"YYH9-FP7R-Y5A9", fresh().String()} {
		_, err := s.desk.Find(context.Background(), text)
		if !errors.Is(err, desk.ErrNotFound) || !strings.Contains(err.Error(), "ever reached this ledger") || !strings.Contains(err.Error(), "nothing was sent, and they may send it again") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
