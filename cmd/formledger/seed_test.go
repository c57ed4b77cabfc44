package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay"
)

// seedMonth begins each time in a seeded ledger.
const seedMonth = "2026-05-"

// seeder fills a ledger with one submission in each state, always the same. What
// it takes for granted panics.
type seeder struct {
	ctx   context.Context
	db    *sqlledger.DB
	seals *ledger.Seals
	hash  string // of every payload
	n     int
}

// seed makes a ledger where the script's commands look for it, and names each
// reference by what it needs: $UNCERTAIN, $ORDER, $STOPPED, $UNSENT, $WAITING,
// $ACCEPTED.
func seed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: seed")
	}
	cfg, err := load(places{config: ts.Getenv("FORMLEDGER_CONFIG"), data: ts.Getenv("FORMLEDGER_DATA")}, "", nil)
	ts.Check(err)
	keys, err := cfg.firstKeys()
	ts.Check(err)
	k, err := ledger.NewKey(rand.Reader)
	ts.Check(err)
	ts.Check(writeFirst(cfg.OutboxKeys, outboxHeader+keyLine(k, inUse)))
	s := &seeder{ctx: context.Background(), hash: keys.Hash([]byte("seed"))}
	s.seals, err = cfg.openSeals()
	ts.Check(err)
	s.db, err = sqlledger.Open(s.ctx, cfg.ledgerFile(), sqlledger.Options{})
	ts.Check(err)
	for name, ref := range s.all() {
		ts.Setenv(name, string(ref))
	}
	ts.Check(s.db.Close())
}

func (s *seeder) all() map[string]ledger.Reference {
	refs := map[string]ledger.Reference{
		"UNCERTAIN": s.held("contact", func(c ledger.NewClaim) { s.ends(s.db.Doubt, c, "closed@dot", "S: 354 go on\nC: .") }),
		"ORDER":     s.held("orders", func(c ledger.NewClaim) { s.ends(s.db.Doubt, c, "lease_lapsed", "") }),
		"UNSENT":    s.held("contact", s.unsent),
		"ACCEPTED":  s.held("contact", s.accepts),
		"STOPPED":   s.kept(),
	}
	stopped := s.lastClaim()
	s.ends(s.db.Release, stopped, ledger.ForGood("smtp_550@rcpt"), "S: 550 no such user")
	refs["WAITING"] = s.kept()
	return refs
}

// at is a time of the seed: the n-th submission came on the n-th of May.
func (s *seeder) at(after time.Duration) time.Time {
	return time.Date(2026, 5, s.n, 9, 30, 0, 0, time.UTC).Add(after)
}

func (s *seeder) id() uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("019de000-0000-7000-8000-%012d", s.n))
}

// held is a submission under hold, whose send ends in a way.
func (s *seeder) held(form string, end func(ledger.NewClaim)) ledger.Reference {
	s.n++
	c := ledger.NewClaim{ID: s.id(), Form: form, Policy: ledger.Hold, PayloadHash: s.hash, Token: s.token(), LeaseUntil: s.at(2 * time.Minute), At: s.at(0)}
	_, err := s.db.Claim(s.ctx, c)
	s.must(err)
	end(c)
	return ledger.ReferenceOf(c.ID)
}

// kept is a submission under queue that waits.
func (s *seeder) kept() ledger.Reference {
	s.n++
	n := ledger.NewEntry{ID: s.id(), Form: "contact", Policy: ledger.Queue, PayloadHash: s.hash, AttemptCap: 8, ClaimCap: 0, Due: s.at(time.Hour), At: s.at(0)}
	letter := relay.Letter{Subject: "Enquiry", To: []string{"office@shop.example"}, ReplyTo: "ann@example.com", Text: "Message: confidential\n", MessageID: "m@shop.example"}
	var err error
	n.Words, err = relay.SealLetter(s.seals, ledger.Submission{ID: n.ID, PayloadHash: n.PayloadHash}, letter, rand.Reader)
	s.must(err)
	_, err = s.db.Store(s.ctx, n)
	s.must(err)
	return ledger.ReferenceOf(n.ID)
}

// lastClaim begins the send of the last kept submission.
func (s *seeder) lastClaim() ledger.NewClaim {
	c := ledger.NewClaim{ID: s.id(), PayloadHash: s.hash, Token: s.token(), LeaseUntil: s.at(2 * time.Minute), At: s.at(time.Second)}
	_, err := s.db.Take(s.ctx, c)
	s.must(err)
	return c
}

func (s *seeder) ends(how func(context.Context, ledger.Ended) (bool, error), c ledger.NewClaim, cause, note string) {
	_, err := how(s.ctx, ledger.Ended{ID: c.ID, Claim: c.Token, Cause: cause, Note: note, Attempted: true, At: s.at(5 * time.Second)})
	s.must(err)
}

func (s *seeder) unsent(c ledger.NewClaim) {
	s.ends(s.db.Release, c, "connect_refused@connect", "")
	_, err := s.db.MarkUnsent(s.ctx, s.at(time.Minute), s.at(20*time.Minute))
	s.must(err)
}

// accepts has a receipt that a spreadsheet would take for a formula.
func (s *seeder) accepts(c ledger.NewClaim) {
	_, err := s.db.Settle(s.ctx, ledger.Acknowledgment{ID: c.ID, PayloadHash: c.PayloadHash, Claim: c.Token, Policy: ledger.Hold,
		Receipt: `=HYPERLINK("https://x.example","250 ok; queued")`, At: s.at(5 * time.Second)})
	s.must(err)
}

func (s *seeder) token() ledger.Token {
	token, err := ledger.NewToken(rand.Reader)
	s.must(err)
	return token
}

func (s *seeder) must(err error) {
	if err != nil {
		panic(strings.TrimSpace("seeding the ledger: " + err.Error()))
	}
}
