package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger"
)

// fate is what becomes of a row, in the words of the table of policies.
type fate string

const (
	freed        fate = "released"
	held         fate = "uncertain, held"
	stopped      fate = "stopped"
	freedOrStops fate = "released, and stopped at a cap"
	againOrHeld  fate = "released as doubted, and held at a cap"
)

// fates is the table, by policy and end, of rows that the end changes.
var fates = map[ledger.Policy]map[ledger.End]fate{
	ledger.Hold: {
		ledger.EndNotSent: freed, ledger.EndRefused: freed, ledger.EndUnreached: freed,
		ledger.EndDoubted: held, ledger.EndLapsed: held,
	},
	ledger.Queue: {
		ledger.EndNotSent: freedOrStops, ledger.EndRefused: stopped, ledger.EndUnreached: freedOrStops,
		ledger.EndDoubted: held, ledger.EndLapsed: held,
	},
	ledger.Retry: {
		ledger.EndNotSent: freedOrStops, ledger.EndRefused: stopped, ledger.EndUnreached: freedOrStops,
		ledger.EndDoubted: againOrHeld, ledger.EndLapsed: againOrHeld,
	},
}

var (
	// failures are the ends that count as a failure.
	failures = map[ledger.End]bool{ledger.EndNotSent: true, ledger.EndRefused: true, ledger.EndDoubted: true}
	// unknowns leave it open whether the message arrived.
	unknowns = map[ledger.End]bool{ledger.EndDoubted: true, ledger.EndLapsed: true}
)

// changes says which rows an end changes: those under its own claim that are not
// final and not a person's; the unknown changes nothing of what is unknown.
func changes(s ledger.Submission, end ledger.End) bool {
	open := s.Claim != (ledger.Token{}) && s.Status != ledger.Accepted
	if s.Needs == ledger.NeedsDisputed {
		return open && end == ledger.EndLapsed && s.Status == ledger.Processing
	}
	return open && !(unknowns[end] && s.Status == ledger.Uncertain)
}

func expected(s ledger.Submission, end ledger.End) ledger.Standing {
	want := ledger.Standing{Status: ledger.Processing, Doubted: s.Doubted || unknowns[end], Attempts: s.Attempts, ClaimCap: s.ClaimCap}
	if end == ledger.EndAccepted {
		want.Status, want.KeepsClaim = ledger.Accepted, true
		return want
	}
	if failures[end] {
		want.Attempts = s.Attempts + 1
	}
	if end == ledger.EndUnreached && s.ClaimCap != 0 {
		want.ClaimCap = s.ClaimCap + 1
	}
	if s.Needs == ledger.NeedsDisputed { // a person can decide it now
		want.Status, want.Needs, want.KeepsClaim = ledger.Uncertain, ledger.NeedsDisputed, true
		return want
	}
	what := fates[s.Policy][end]
	capped := s.AttemptCap != 0 && want.Attempts >= s.AttemptCap || s.ClaimCap != 0 && s.Claims >= want.ClaimCap
	switch {
	case what == freedOrStops && capped:
		what = stopped
	case what == againOrHeld && capped:
		what = held
	}
	switch what {
	case held:
		want.Status, want.Needs, want.KeepsClaim = ledger.Uncertain, ledger.NeedsUncertain, true
	case stopped:
		want.Needs = ledger.NeedsStopped
		if s.Policy == ledger.Retry && want.Doubted { // it may have arrived in an earlier attempt
			want.Status, want.Needs = ledger.Uncertain, ledger.NeedsUncertain
		}
	}
	if s.ClosedAt.IsZero() {
		want.Stopped = want.Needs != ledger.NeedsNobody && s.Policy != ledger.Hold
	} else {
		want.Needs = ledger.NeedsNobody
	}
	return want
}

// eachRow is called with all rows that can matter to a policy.
func eachRow(try func(ledger.Submission)) {
	row := ledger.Submission{}
	for _, row.Policy = range []ledger.Policy{ledger.Hold, ledger.Queue, ledger.Retry} {
		for _, row.Status = range []ledger.Status{ledger.Processing, ledger.Uncertain, ledger.Accepted} {
			for _, row.Needs = range []ledger.Need{"", ledger.NeedsUncertain, ledger.NeedsStopped, ledger.NeedsDisputed, ledger.NeedsUnsent} {
				for _, row.Claim = range []ledger.Token{{}, {1}} {
					for _, row.ClosedAt = range []time.Time{{}, time.Unix(1, 0)} {
						eachCount(row, try)
					}
				}
			}
		}
	}
}

func eachCount(row ledger.Submission, try func(ledger.Submission)) {
	for _, row.AttemptCap = range []int64{0, 1, 8} {
		for _, row.Attempts = range []int64{0, 1, 6, 7, 8, 9} {
			for _, row.ClaimCap = range []int64{0, 1, 16} {
				for _, row.Claims = range []int64{1, 14, 15, 16, 17} {
					for _, row.Doubted = range []bool{false, true} {
						try(row)
					}
				}
			}
		}
	}
}

var allEnds = []ledger.End{ledger.EndAccepted, ledger.EndNotSent, ledger.EndRefused, ledger.EndUnreached, ledger.EndDoubted, ledger.EndLapsed}

func TestAfterIsTheTableOfPolicies(t *testing.T) {
	rows := 0
	eachRow(func(s ledger.Submission) {
		for _, end := range allEnds {
			rows++
			got, changed := s.After(end)
			want := ledger.Standing{}
			if changes(s, end) {
				want = expected(s, end)
			}
			if changed != changes(s, end) || got != want {
				t.Fatalf("end %d of %+v: changed %v (-want +got):\n%s", end, s, changed, cmp.Diff(want, got))
			}
		}
	})
	if rows < 500_000 {
		t.Errorf("only %d cases", rows)
	}
}

// Whatever ends, these hold of what the row becomes.
func TestPromise7_WhatAfterLeavesBehindIsTold(t *testing.T) {
	eachRow(func(s ledger.Submission) {
		for _, end := range allEnds {
			n, changed := s.After(end)
			fail := func(what string) { t.Fatalf("%s: end %d of %+v becomes %+v", what, end, s, n) }
			switch {
			case !changed:
			case n.Status == ledger.Uncertain && n.Needs == ledger.NeedsNobody && s.ClosedAt.IsZero():
				fail("uncertain, and nobody is told")
			case s.Policy.KeepsWords() && n.Status == ledger.Processing && n.Needs == ledger.NeedsNobody && s.ClosedAt.IsZero() && !becomes(s, n).Waiting():
				fail("neither waiting nor told")
			case n.Stopped && !s.ClosedAt.IsZero():
				fail("a closed case comes back")
			case s.Doubted && !n.Doubted:
				fail("the doubt is forgotten")
			case n.Attempts < s.Attempts || n.ClaimCap < s.ClaimCap:
				fail("a count goes back")
			case end == ledger.EndAccepted != (n.Status == ledger.Accepted):
				fail("accepted without a word, or not with one")
			}
		}
	})
}

// becomes is the row as it stands then.
func becomes(s ledger.Submission, n ledger.Standing) ledger.Submission {
	s.Status, s.Needs, s.Attempts, s.ClaimCap, s.Doubted = n.Status, n.Needs, n.Attempts, n.ClaimCap, n.Doubted
	if !n.KeepsClaim {
		s.Claim = ledger.Token{}
	}
	return s
}

// firstClaim is a row whose first send is under way, edited.
func firstClaim(p ledger.Policy, edit func(*ledger.Submission)) ledger.Submission {
	s := ledger.Submission{Policy: p, Status: ledger.Processing, Claim: ledger.Token{1}, Claims: 1, AttemptCap: 8, ClaimCap: 16}
	edit(&s)
	return s
}

// The sentences of the table, one by one.
func TestAfterInWords(t *testing.T) {
	none := func(*ledger.Submission) {}
	row := firstClaim
	for name, c := range map[string]struct {
		row  ledger.Submission
		end  ledger.End
		want string
	}{
		"queue waits after a failure":           {row(ledger.Queue, none), ledger.EndNotSent, "processing  free 1"},
		"queue stops at the eighth":             {row(ledger.Queue, func(s *ledger.Submission) { s.Attempts = 7 }), ledger.EndNotSent, "processing stopped free 8 told"},
		"queue holds what is unknown":           {row(ledger.Queue, none), ledger.EndDoubted, "uncertain uncertain claimed 1 told doubted"},
		"queue holds what lapsed":               {row(ledger.Queue, none), ledger.EndLapsed, "uncertain uncertain claimed 0 told doubted"},
		"queue stops what is refused for good":  {row(ledger.Queue, none), ledger.EndRefused, "processing stopped free 1 told"},
		"retry goes on after a doubt":           {row(ledger.Retry, none), ledger.EndDoubted, "processing  free 1 doubted"},
		"retry goes on after a lapse":           {row(ledger.Retry, none), ledger.EndLapsed, "processing  free 0 doubted"},
		"retry holds the eighth doubt":          {row(ledger.Retry, func(s *ledger.Submission) { s.Attempts = 7 }), ledger.EndDoubted, "uncertain uncertain claimed 8 told doubted"},
		"retry holds after the sixteenth claim": {row(ledger.Retry, func(s *ledger.Submission) { s.Claims = 16 }), ledger.EndLapsed, "uncertain uncertain claimed 0 told doubted"},
		"retry stops, never doubted":            {row(ledger.Retry, func(s *ledger.Submission) { s.Attempts = 7 }), ledger.EndNotSent, "processing stopped free 8 told"},
		"retry stops, once doubted":             {row(ledger.Retry, func(s *ledger.Submission) { s.Attempts, s.Doubted = 7, true }), ledger.EndNotSent, "uncertain uncertain free 8 told doubted"},
		"retry is refused for good":             {row(ledger.Retry, none), ledger.EndRefused, "processing stopped free 1 told"},
		"hold is released":                      {row(ledger.Hold, none), ledger.EndRefused, "processing  free 1"},
		"hold is held":                          {row(ledger.Hold, none), ledger.EndDoubted, "uncertain uncertain claimed 1 doubted"},
		"unreached at the last claim":           {row(ledger.Queue, func(s *ledger.Submission) { s.Claims = 16 }), ledger.EndUnreached, "processing  free 0"},
	} {
		n, changed := c.row.After(c.end)
		got := fmt.Sprintf("%s %s %s %d", n.Status, n.Needs, map[bool]string{true: "claimed", false: "free"}[n.KeepsClaim], n.Attempts)
		if n.Stopped {
			got += " told"
		}
		if n.Doubted {
			got += " doubted"
		}
		if !changed || got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWaitingAndAtCap(t *testing.T) {
	eachRow(func(s ledger.Submission) {
		capped := s.AttemptCap > 0 && s.AttemptCap <= s.Attempts || s.ClaimCap > 0 && s.ClaimCap <= s.Claims
		unclaimed := s.Status == ledger.Processing && s.Claim == ledger.Token{} && s.ClosedAt.IsZero()
		waiting := unclaimed && s.Policy != ledger.Hold && s.Needs == "" && !capped
		free := unclaimed && s.Policy == ledger.Hold && (s.Needs == "" || s.Needs == ledger.NeedsUnsent)
		if s.AtCap() != capped || s.Waiting() != waiting || s.Free() != free {
			t.Fatalf("at a cap %v, waiting %v, free %v: %+v", s.AtCap(), s.Waiting(), s.Free(), s)
		}
	})
}
