package mailbox

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	user     = "owner@shop.example"
	password = "correct-horse-battery-staple"
	wanted   = "k1.0123abcd-ef@shop.example"
)

// look searches for the wanted ID, and looks that nothing secret gets out.
func look(t *testing.T, c Config) (Result, error) {
	t.Helper()
	return lookFor(t, c, wanted)
}

func lookFor(t *testing.T, c Config, id string) (Result, error) {
	t.Helper()
	r, err := c.Search(context.Background(), id)
	texts := []string{}
	if err != nil {
		texts = append(texts, err.Error())
	}
	for _, s := range r.Skipped {
		texts = append(texts, s.Reason)
	}
	for _, text := range texts {
		if c.Password != "" && strings.Contains(text, c.Password) || len(text) > 600 || strings.ContainsAny(text, "\r\n\x1b\x00") {
			t.Errorf("not for an operator's eyes: %q", text)
		}
	}
	return r, err
}

// found looks without an error.
func found(t *testing.T, c Config) Result {
	t.Helper()
	r, err := look(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fails looks, and wants this failure, whose sentence has all the words.
func fails(t *testing.T, c Config, code string, words ...string) Result {
	t.Helper()
	r, err := look(t, c)
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Code != code {
		t.Fatalf("got %#v, want %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(failure.Sentence, word) {
			t.Errorf("%q does not say %q", failure.Sentence, word)
		}
	}
	return r
}

// places are the folders of the mails, in order.
func places(mails []Mail) string {
	var all []string
	for _, m := range mails {
		all = append(all, m.Folder)
	}
	return strings.Join(all, " ")
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// await polls a condition; what never comes true fails the test.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
