package ledger_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"formledger/ledger"
)

func TestTokenRoundTrip(t *testing.T) {
	seen := map[ledger.Token]bool{}
	for range 100 {
		token, err := ledger.NewToken(rand.Reader)
		if err != nil || token.IsZero() || seen[token] {
			t.Fatalf("%v, %v", token, err)
		}
		seen[token] = true
		if got, err := ledger.ParseToken(token.String()); err != nil || got != token {
			t.Errorf("%v is read as %v, %v", token, got, err)
		}
	}
}

func TestTokenText(t *testing.T) {
	token, err := ledger.NewToken(bytes.NewReader([]byte("\xfb\xff\xfe0123456789abc")))
	if err != nil || token.String() != "-__-MDEyMzQ1Njc4OWFiYw" {
		t.Errorf("%s, %v", token, err)
	}
	if !(ledger.Token{}).IsZero() || token.IsZero() {
		t.Error("IsZero")
	}
}

func TestTokenNeedsItsRandomness(t *testing.T) {
	token, err := ledger.NewToken(strings.NewReader("too short"))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !token.IsZero() {
		t.Errorf("%v, %v", token, err)
	}
}

func FuzzParseToken(f *testing.F) {
	const good = "-__-MDEyMzQ1Njc4OWFiYw"
	for _, text := range []string{"", good, good + "==", good[:20], good + "A", good[:21] + "x", good[:8] + "\n" + good[8:], strings.ReplaceAll(good, "_", "/")} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ledger.ParseToken(text)
		if err == nil && token.String() != text {
			t.Errorf("%q is read as %q: one token has one text", text, token)
		}
		if err != nil && !token.IsZero() {
			t.Errorf("%v with %v", token, err)
		}
	})
}
