package maildir

import (
	"bytes"
	"context"
	"io"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"formledger/relay"
)

var _ relay.Sender = (*Sender)(nil)

func TestAMailProgramFindsTheMessage(t *testing.T) {
	s := newSender(t)
	v := send(s, 1)
	if v.Finding != relay.Accepted || v.Permanent {
		t.Fatalf("%+v", v)
	}
	counts(t, s.dir, 0, 1)
	name := files(t, s.dir, "new")[0]
	if v.Receipt != "maildir:"+name {
		t.Errorf("receipt %q for %q", v.Receipt, name)
	}
	if !regexp.MustCompile(`^1740832205\.[0-9a-f]{32}\.formledger$`).MatchString(name) {
		t.Errorf("name %q", name)
	}
	if claim := mailWith(1).Claim.String(); strings.Contains(name, claim) {
		t.Error("the name shows the claim")
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, "new", name))
	if err != nil || string(raw) != mailText {
		t.Fatalf("%v, file %q", err, raw)
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(m.Body)
	if m.Header.Get("Subject") != "Enquiry" || string(body) != "Name: Anna\n\n.\n" {
		t.Errorf("header %v, body %q", m.Header, body)
	}
}

func TestOnlyTheOwnerReadsEnquiries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "mail")
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	send(s, 1)
	err = filepath.Walk(filepath.Dir(dir), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(dir, "new", files(t, dir, "new")[0]))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
}

func TestARepeatedClaimGivesTheSameReceiptAndNoSecondFile(t *testing.T) {
	s := newSender(t)
	first := send(s, 1)
	c := newClock()
	lease := c.lease()
	c.lapse() // even then "not sent" would be untrue
	if again := s.Send(context.Background(), mailWith(1), lease); again != first {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if n := len(files(t, s.dir, "tmp")) + len(files(t, s.dir, "new")) + len(files(t, s.dir, "cur")); n != 1 {
		t.Errorf("%d files", n)
	}
}

func TestConcurrentClaimsEachGiveOneFile(t *testing.T) {
	s := newSender(t)
	concurrently(20, func(i int) {
		if v := send(s, byte(i+1)); v.Finding != relay.Accepted {
			t.Errorf("claim %d: %+v", i, v)
		}
	})
	counts(t, s.dir, 0, 20)
}

// The ledger rules this out; if it happened all the same, there is one file,
// and nobody says "not sent".
func TestConcurrentCallsUnderOneClaimGiveOneFile(t *testing.T) {
	s := newSender(t)
	var mu sync.Mutex
	found := map[relay.Finding]int{}
	concurrently(20, func(int) {
		v := send(s, 1)
		mu.Lock()
		defer mu.Unlock()
		found[v.Finding]++
	})
	if found[relay.NotSent] != 0 || found[relay.Accepted] == 0 {
		t.Errorf("verdicts %v", found)
	}
	counts(t, s.dir, 0, 1)
}

func concurrently(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func TestWithoutAClaimNothingIsSent(t *testing.T) {
	s := newSender(t)
	if v := send(s, 0); v != relay.ProvenNotSent("no_claim", "look") {
		t.Errorf("%+v", v)
	}
	counts(t, s.dir, 0, 0)
}
