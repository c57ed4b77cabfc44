package desk_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/desk"
)

// shelf is a ledger that keeps words, and a desk on it. The far end is not asked.
type shelf struct {
	t      *testing.T
	ledger *ledgertest.Faulty
	seals  *ledger.Seals
	desk   *desk.Desk
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	db, err := sqlledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), sqlledger.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	s := &shelf{t: t, ledger: ledgertest.NewFaulty(db), seals: newSeals(t)}
	s.desk = &desk.Desk{Ledger: s.ledger, Seals: s.seals, Now: time.Now}
	return s
}

func newSeals(t *testing.T) *ledger.Seals {
	t.Helper()
	k, err := ledger.NewKey(rand.Reader)
	must(t, err)
	ring, err := ledger.NewKeyRing([]ledger.Key{k})
	must(t, err)
	return ledger.NewSeals(ring)
}

var secretWords = relay.Letter{Subject: "Enquiry", Text: "Message: something confidential\n", ReplyTo: "ann@example.com", MessageID: "m@shop.example"}

// stores keeps a message; with caps of 2 failures and 3 claims.
func (s *shelf) stores(p ledger.Policy) ledger.Submission {
	s.t.Helper()
	n := ledgertest.NewEntry(p)
	n.AttemptCap, n.ClaimCap, n.At, n.Due = 2, 3, time.Now(), time.Now().Add(time.Minute)
	var err error
	n.Words, err = relay.SealLetter(s.seals, ledger.Submission{ID: n.ID, PayloadHash: n.PayloadHash}, secretWords, rand.Reader)
	must(s.t, err)
	stored, err := s.ledger.Store(context.Background(), n)
	must(s.t, err)
	return stored.Row
}

func (s *shelf) takes(row ledger.Submission) ledger.Submission {
	s.t.Helper()
	taken, err := s.ledger.Take(context.Background(), ledger.NewClaim{ID: row.ID, PayloadHash: row.PayloadHash,
		Token: ledgertest.NewToken(), LeaseUntil: time.Now().Add(time.Minute), At: time.Now()})
	must(s.t, err)
	if !taken.Owned {
		s.t.Fatalf("the row was not taken: %+v", taken.Row)
	}
	return taken.Row
}

// fails takes a row and lets its call end without an acknowledgment: as a proof
// that nothing was sent, or without one.
func (s *shelf) fails(row ledger.Submission, cause string, proven bool) ledger.Submission {
	s.t.Helper()
	row = s.takes(row)
	e := ledger.Ended{ID: row.ID, Claim: row.Claim, Cause: cause, Attempted: true, Next: time.Now().Add(time.Minute), At: time.Now()}
	end := s.ledger.Doubt
	if proven {
		end = s.ledger.Release
	}
	changed, err := end(context.Background(), e)
	must(s.t, err)
	if !changed {
		s.t.Fatalf("the row was not changed: %+v", row)
	}
	return s.row(row)
}

// stops lets a message be refused for good.
func (s *shelf) stops(p ledger.Policy) ledger.Submission {
	s.t.Helper()
	return s.fails(s.stores(p), ledger.ForGood("smtp_550@rcpt"), true)
}

func (s *shelf) accepts(row ledger.Submission) ledger.Submission {
	s.t.Helper()
	row = s.takes(row)
	_, err := s.ledger.Settle(context.Background(), ledger.Acknowledgment{ID: row.ID, PayloadHash: row.PayloadHash, Claim: row.Claim, Receipt: "250", At: time.Now()})
	must(s.t, err)
	return s.row(row)
}

func (s *shelf) row(row ledger.Submission) ledger.Submission {
	s.t.Helper()
	row, err := s.ledger.Submission(context.Background(), row.ID)
	must(s.t, err)
	return row
}

// finds is the case of a row.
func (s *shelf) finds(row ledger.Submission) desk.Case {
	s.t.Helper()
	cases, err := s.desk.Find(context.Background(), row.ID.String())
	must(s.t, err)
	if len(cases) != 1 {
		s.t.Fatalf("%d cases", len(cases))
	}
	return cases[0]
}

func (s *shelf) decides(row ledger.Submission, kind ledger.DecisionKind) (desk.Resolution, error) {
	return s.desk.Resolve(context.Background(), row.ID.String(), desk.Ruling{Kind: kind, By: "ada", Note: "looked"})
}

// story is the kinds of a row's events that are about alerts and words.
func (s *shelf) story(row ledger.Submission, kinds ...ledger.EventKind) []ledger.Event {
	s.t.Helper()
	var found []ledger.Event
	for _, e := range s.finds(row).Events {
		for _, k := range kinds {
			if e.Kind == k {
				found = append(found, e)
			}
		}
	}
	return found
}
