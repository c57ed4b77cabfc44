package maildir

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"formledger/ledger"
	"formledger/relay"
)

// TestMain lets the test binary run itself as the process that a fail point
// hits.
func TestMain(m *testing.M) {
	if dir := os.Getenv("MAILDIR_TEST_CHILD"); dir != "" {
		sendAsChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// mailWith is a rendered message under the given claim.
func mailWith(claim byte) relay.Mail {
	m := relay.Message{
		Claim: ledger.Token{claim}, To: []string{"owner@shop.example"},
		Date: time.Date(2025, 3, 1, 12, 30, 5, 0, time.UTC),
	}
	return relay.Mail{Message: m, Bytes: []byte(
		"From: <form@shop.example>\r\nTo: <owner@shop.example>\r\nSubject: Enquiry\r\n\r\nName: Anna\r\n\r\n.\r\n")}
}

const mailText = "From: <form@shop.example>\nTo: <owner@shop.example>\nSubject: Enquiry\n\nName: Anna\n\n.\n"

// clock is a hand-moved time; a lease of one minute hangs on it.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Now()} }

func (c *clock) lease() relay.Lease {
	return relay.NewLease(c.now.Add(time.Minute), func() time.Time { return c.now })
}

func (c *clock) lapse() { c.now = c.now.Add(time.Hour) }

func newSender(t *testing.T) *Sender {
	t.Helper()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(s *Sender, claim byte) relay.Verdict {
	return s.Send(context.Background(), mailWith(claim), newClock().lease())
}

// files lists one of the three folders.
func files(t *testing.T, dir, sub string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir + "/" + sub)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// counts asserts how many files are in tmp and in new.
func counts(t *testing.T, dir string, tmp, new int) {
	t.Helper()
	if got := files(t, dir, "tmp"); len(got) != tmp {
		t.Errorf("tmp holds %v, want %d", got, tmp)
	}
	if got := files(t, dir, "new"); len(got) != new {
		t.Errorf("new holds %v, want %d", got, new)
	}
}
