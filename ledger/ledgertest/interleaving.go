package ledgertest

import (
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

// tally is what the parties of a random run were told, for each row.
type tally struct {
	mu      sync.Mutex
	owned   map[uuid.UUID]map[ledger.Token]string // to the payload hash
	events  map[uuid.UUID]map[ledger.EventKind]int
	settled map[uuid.UUID]bool
}

func newTally(ids []uuid.UUID) *tally {
	t := &tally{
		owned:   map[uuid.UUID]map[ledger.Token]string{},
		events:  map[uuid.UUID]map[ledger.EventKind]int{},
		settled: map[uuid.UUID]bool{},
	}
	for _, id := range ids {
		t.owned[id], t.events[id] = map[ledger.Token]string{}, map[ledger.EventKind]int{}
	}
	return t
}

func (t *tally) count(id uuid.UUID, kind ledger.EventKind, happened bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if happened {
		t.events[id][kind]++
	}
}

func (t *tally) own(c ledger.NewClaim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owned[c.ID][c.Token] = c.PayloadHash
}

func (t *tally) settle(id uuid.UUID, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled[id] = t.settled[id] || settled
}

// randomInterleaving lets parties do as they like at once, and then compares
// what they were told with what is recorded.
func randomInterleaving(f *fixture, p ledger.Policy) {
	seed := f.seed()
	const each = 150
	shared := newDice(seed, 3)
	told := newTally(shared.ids())
	parties(8, func(party int) {
		d := newDice(seed+uint64(party), 0)
		d.claims = shared.claims
		for range each {
			if err := f.anyCall(d, told, p); err != nil {
				f.Errorf("seed %d: %v", seed, err)
				return
			}
		}
	})
	for _, id := range shared.ids() {
		row, err := f.ledger.Submission(f.ctx, id)
		if errors.Is(err, ledger.ErrUnseen) {
			continue
		}
		f.must(err)
		f.invariants(row, told)
	}
}

// anyCall makes one call. Tokens are fresh for each claim, or ones that another
// party may hold.
func (f *fixture) anyCall(d *dice, told *tally, p ledger.Policy) error {
	i, c := d.draw()
	if row, err := f.ledger.Submission(f.ctx, c.ID); err == nil && d.IntN(3) > 0 && !row.Claim.IsZero() {
		c.Token = row.Claim // the holder's own calls
	}
	switch d.IntN(8) {
	case 0, 1:
		fresh := Again(d.claims[i][d.IntN(4)], d.clock)
		owned, err := f.anyClaim(d, fresh, p)
		if owned {
			told.own(fresh)
		}
		return err
	case 2:
		settled, err := f.ledger.Settle(f.ctx, Ack(c, d.clock))
		told.settle(c.ID, settled)
		return err
	case 3:
		changed, err := f.ledger.Doubt(f.ctx, d.ended(c))
		told.count(c.ID, ledger.EventDoubted, changed)
		return err
	case 4:
		changed, err := f.ledger.Release(f.ctx, d.ended(c))
		told.count(c.ID, ledger.EventReleased, changed)
		return err
	case 5:
		n, err := f.ledger.LapseClaims(f.ctx, []ledger.OpenClaim{{ID: c.ID, Claim: c.Token}}, c.At)
		told.count(c.ID, ledger.EventLapsed, n == 1)
		return err
	default:
		return f.anyDecision(d, told, c)
	}
}

// anyClaim is a request's under hold. Else it is the courier's, beside the
// request that stores.
func (f *fixture) anyClaim(d *dice, c ledger.NewClaim, p ledger.Policy) (bool, error) {
	if p == ledger.Hold {
		got, err := f.ledger.Claim(f.ctx, c)
		return got.Owned, err
	}
	if _, err := f.ledger.Store(f.ctx, d.entry(c, p)); err != nil {
		return false, err
	}
	got, err := f.ledger.Take(f.ctx, c)
	if got.Owned == (got.Words == ledger.Sealed{}) {
		f.Errorf("owned: %v, with the words %+v", got.Owned, got.Words)
	}
	return got.Owned, err
}

func (f *fixture) anyDecision(d *dice, told *tally, c ledger.NewClaim) error {
	row, err := f.ledger.Submission(f.ctx, c.ID)
	if errors.Is(err, ledger.ErrUnseen) {
		return nil
	}
	if err != nil {
		return err
	}
	kind := []ledger.DecisionKind{ledger.NotReceived, ledger.SendAgain}[d.IntN(2)]
	switch d.IntN(40) { // seldom, because they end the row's story
	case 0:
		kind = ledger.Received
	case 1:
		kind = ledger.Close
	}
	err = f.ledger.Decide(f.ctx, ledger.Decision{Seen: row, Kind: kind, By: "ada", At: At(d.clock + time.Second)})
	told.count(c.ID, decisionEvents[kind], err == nil)
	for _, refused := range []error{ledger.ErrStale, ledger.ErrClaimed, ledger.ErrFinal, ledger.ErrNoWords, ledger.ErrNotStopped} {
		if errors.Is(err, refused) {
			return nil
		}
	}
	return err
}

// invariants hold of every row, whatever was done.
func (f *fixture) invariants(row ledger.Submission, told *tally) {
	f.Helper()
	recorded, ended := map[ledger.EventKind]int{}, map[ledger.Token]bool{}
	for _, e := range f.events(row.ID) {
		recorded[e.Kind]++
		if givesBack(e.Kind, row.Policy) && !e.Claim.IsZero() {
			ended[e.Claim] = true
		}
	}
	for _, kind := range []ledger.EventKind{ledger.EventDoubted, ledger.EventReleased, ledger.EventLapsed,
		ledger.EventReceived, ledger.EventNotReceived, ledger.EventClosed, ledger.EventSendAgain} {
		if recorded[kind] != told.events[row.ID][kind] {
			f.Errorf("%d %s events, %d such changes", recorded[kind], kind, told.events[row.ID][kind])
		}
	}
	f.claimsAreAccountedFor(row, ended, told.owned[row.ID])
	if words := f.words(row.ID) != nil; words != (row.Policy.KeepsWords() && row.Open()) {
		f.Errorf("words are kept: %v; the row: %+v", words, row)
	}
	switch {
	case row.Needs == ledger.NeedsStopped && recorded[ledger.EventStopped] == 0:
		f.Error("stopped without an event")
	case row.Status == ledger.Uncertain && row.Needs == ledger.NeedsNobody && row.ClosedAt.IsZero():
		f.Error("uncertain, and nobody is told")
	case row.Status == ledger.Accepted && row.AcceptedBy == ledger.AcceptedByRelay && !told.settled[row.ID]:
		f.Error("accepted by the relay, and no acknowledgment settled it")
	case row.Status == ledger.Accepted && row.AcceptedBy != ledger.AcceptedByRelay && recorded[ledger.EventReceived] == 0:
		f.Errorf("accepted by %q without a decision", row.AcceptedBy)
	case row.Needs == ledger.NeedsDisputed && recorded[ledger.EventDisputed] == 0:
		f.Error("disputed without an event")
	case row.Doubted != (recorded[ledger.EventDoubted]+recorded[ledger.EventLapsed] > 0):
		f.Errorf("doubted: %v; events: %v", row.Doubted, recorded)
	}
}

// givesBack: after such an event the claim may not stand any more. (Under retry a
// doubted one stands on only at the cap.)
func givesBack(kind ledger.EventKind, p ledger.Policy) bool {
	switch kind {
	case ledger.EventReleased, ledger.EventNotReceived:
		return true
	case ledger.EventDoubted, ledger.EventLapsed:
		return p == ledger.Retry
	}
	return false
}

// Every claim that was owned ended by a release or a decision, or is the one
// that stands; and all were for one content.
func (f *fixture) claimsAreAccountedFor(row ledger.Submission, ended map[ledger.Token]bool, owned map[ledger.Token]string) {
	f.Helper()
	if int64(len(owned)) != row.Claims {
		f.Errorf("%d claims were granted, and %d owned", row.Claims, len(owned))
	}
	standing := 0
	for token, hash := range owned {
		if hash != row.PayloadHash {
			f.Errorf("a claim for %s is owned, the row is of %s", hash, row.PayloadHash)
		}
		if !ended[token] {
			standing++
		}
	}
	if standing > 1 {
		f.Errorf("%d claims stand at once", standing)
	}
}
