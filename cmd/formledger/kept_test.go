//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay"
)

// shop is a site whose ledger keeps words, without a server that sends them.
type shop struct {
	*site
	seals *ledger.Seals
}

func (s *site) outboxFile() string { return filepath.Join(s.data, "keys", "outbox") }

// inPolicy puts the site's form under a policy.
func (s *site) inPolicy(policy string) {
	s.t.Helper()
	s.form = strings.Replace(s.form, "name = \"contact\"", "name = \"contact\"\npolicy = \""+policy+"\"", 1)
	s.configure(patient)
}

func newShop(t *testing.T, policy ledger.Policy) *shop {
	t.Helper()
	s := &shop{site: newSite(t, patient)}
	s.inPolicy(string(policy))
	_, err := s.loaded().firstKeys()
	must(t, err)
	s.seals, err = s.loaded().firstSeals(nil)
	must(t, err)
	return s
}

// inLedger works on the ledger as a server would.
func (s *site) inLedger(work func(context.Context, *sqlledger.DB)) {
	s.t.Helper()
	ctx := context.Background()
	db, err := sqlledger.Open(ctx, s.ledgerFile(), sqlledger.Options{})
	must(s.t, err)
	work(ctx, db)
	must(s.t, db.Close())
}

// stores keeps a message that nobody has tried to send; 2 failures end it.
func (s *shop) stores(policy ledger.Policy) (row ledger.Submission) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		n := ledger.NewEntry{ID: uuid.Must(uuid.NewV7()), Form: "contact", Policy: policy, PayloadHash: "v1.k.00",
			AttemptCap: 2, ClaimCap: 4, Due: time.Now().Add(time.Hour), At: time.Now()}
		letter := relay.Letter{Subject: "Enquiry", ReplyTo: "ann@example.com", To: []string{"owner@shop.example"}, Text: "Message: confidential\x1b[2J\n\nReference\n", MessageID: "m@x"}
		words, err := relay.SealLetter(s.seals, ledger.Submission{ID: n.ID, PayloadHash: n.PayloadHash}, letter, rand.Reader)
		must(s.t, err)
		n.Words = words
		stored, err := db.Store(ctx, n)
		must(s.t, err)
		row = stored.Row
	})
	return row
}

// tries makes one attempt that ends without an acknowledgment.
func (s *shop) tries(row ledger.Submission, cause string, proven bool) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		token, err := ledger.NewToken(rand.Reader)
		must(s.t, err)
		_, err = db.Take(ctx, ledger.NewClaim{ID: row.ID, PayloadHash: row.PayloadHash, Token: token, LeaseUntil: time.Now().Add(time.Minute), At: time.Now()})
		must(s.t, err)
		end := db.Doubt
		if proven {
			end = db.Release
		}
		_, err = end(ctx, ledger.Ended{ID: row.ID, Claim: token, Cause: cause, Attempted: true, Next: time.Now().Add(time.Hour), At: time.Now()})
		must(s.t, err)
	})
}

// squeezed is a result without the widths of its columns.
func (r result) squeezed() result {
	r.out = strings.Join(strings.Fields(r.out), " ")
	return r
}

func TestAWaitingMessageIsListedAndShown(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	row := s.stores(ledger.Queue)
	ref := string(row.Reference)
	s.command("queue").check(t, exitDone, "Nothing needs you.")
	s.command("list", "--waiting").check(t, exitDone, ref, "processing")
	s.command("list", "--waiting", "--form", "other").check(t, exitDone, "Nothing waits to be sent.")
	s.command("list", "--form", "contact", "--needs", "any").check(t, exitDone, "Nothing needs you.")
	s.command("show", ref).squeezed().check(t, exitDone, "is stored, and waits for the courier", "never sent again unless a person says so",
		"claims 0 of 4", "failures 0 of 2", "next attempt 20", "words kept, sealed")
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		since := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		must(t, db.SetRelayState(ctx, ledger.RelayState{FailingSince: since, NextTry: since.Add(time.Minute), Cause: "connect_refused@connect"}))
	})
	failing := "The relay is failing since 2026-05-04 03:02:01Z, next try 2026-05-04 03:03:01Z: connect_refused@connect"
	s.command("show", ref).check(t, exitDone, failing)
	s.command("list", "--waiting").check(t, exitDone, failing)
}

func TestAStoppedMessageIsSentAgainOnceByTheOperator(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	row := s.stores(ledger.Queue)
	ref := string(row.Reference)
	s.command("resolve", ref, "--send-again", "--note", "impatient").check(t, exitFailed, "has not stopped: the courier sends it without you")
	s.tries(row, ledger.ForGood("smtp_550@rcpt"), true)
	s.needs(ref, ledger.NeedsStopped)
	s.command("resolve", ref, "--send-again").check(t, exitFailed, "needs a note")
	s.command("resolve", ref, "--send-again", "--note", "x", "--seen", "other").check(t, exitFailed, "changed while you decided")
	r := s.command("resolve", ref, "--send-again", "--note", "the mailbox is there now", "--by", "eve")
	r.squeezed().check(t, exitDone, "refused for good (for_good:smtp_550@rcpt)", "failures 1 of 2", "send_again by operator:eve", "The courier of the running server sends it")
	if before, after := strings.Index(r.out, "sending has stopped"), strings.Index(r.out, "the mailbox is there now"); before < 0 || after < before {
		t.Errorf("what is known is not printed first:\n%s", r.out)
	}
	s.needsNobody()
	s.command("resolve", ref, "--close", "--note", "they called").check(t, exitFailed, "--wipe-words")
	s.command("resolve", ref, "--close", "--wipe-words", "--note", "they called").check(t, exitDone, "the case is closed", "wiped")
	s.command("resolve", ref, "--send-again", "--note", "no").check(t, exitFailed, "the words of "+ref+" are not kept here")
}

func TestAnUncertainMessageUnderRetry(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Retry)
	row := s.stores(ledger.Retry)
	ref := string(row.Reference)
	s.tries(row, "closed@dot", false)
	s.command("show", ref).squeezed().check(t, exitDone, "an earlier attempt may have gone through, so a second copy is possible", "duplicates are possible", "failures 1 of 2")
	s.tries(row, "closed@dot", false)
	s.needs(ref, ledger.NeedsUncertain)
	s.command("resolve", ref, "--send-again", "--note", "x").check(t, exitFailed, "may have been sent already", "formledger resolve "+ref+" --not-received")
	s.command("resolve", ref, "--not-received", "--note", "looked").squeezed().check(t, exitDone, "failures 2 of 3", "The courier of the running server sends it")
	s.command("list", "--waiting").check(t, exitDone, ref)
}

func TestWordsAreShownForTheAskingAndOnRecord(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	row := s.stores(ledger.Queue)
	ref := string(row.Reference)
	plain := s.command("show", ref)
	plain.check(t, exitDone)
	s.command("show", ref, "--words", "--by", "eve").check(t, exitDone, "subject   Enquiry", "to        owner@shop.example", "reply to  ann@example.com", "Message: confidential\uFFFD[2J")
	if again := s.command("show", ref); strings.Contains(plain.out+again.out, "confidential") || !strings.Contains(again.out, "words_shown by operator:eve") {
		t.Errorf("%s\n%s", plain.out, again.out)
	}
	for file, text := range files(t, filepath.Join(s.data, "ledger")) {
		if strings.Contains(text, "confidential") {
			t.Errorf("%s holds the words", file)
		}
	}
	must(t, os.Rename(s.outboxFile(), s.outboxFile()+".away"))
	s.command("show", ref, "--words").check(t, exitFailed, "sealed under a key that is not here", s.outboxFile())
	s.command("show", ref).check(t, exitDone)
	must(t, os.Rename(s.outboxFile()+".away", s.outboxFile()))
	s.command("resolve", ref, "--received").check(t, exitDone, "wiped")
	s.command("show", ref, "--words").check(t, exitFailed, "are not kept here")
}

func TestWrongCommandLinesAboutWords(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"list", "--needs", "any", "--waiting"}, {"list", "--all"}, {"resolve", "YYH9-FP7R-Y5A9", "--send-again", "--close"}, {"show", "--words"},
		{"keys", "rotate"}, {"keys", "rotate", "--payload", "--outbox"}, {"keys", "rotate", "--prepare"}, {"keys", "list", "x"}, {"keys", "x"},
	} {
		if r := command(nil, args...); r.code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.err)
		}
	}
}
