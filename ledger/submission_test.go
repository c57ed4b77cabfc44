package ledger_test

import (
	"testing"
	"time"

	"formledger/ledger"
)

func TestFreeAndOpen(t *testing.T) {
	closed, claim := time.Unix(1, 0), ledger.Token{1}
	for name, c := range map[string]struct {
		row        ledger.Submission
		free, open bool
	}{
		"released":               {ledger.Submission{Status: ledger.Processing}, true, true},
		"unsent":                 {ledger.Submission{Status: ledger.Processing, Needs: ledger.NeedsUnsent}, true, true},
		"claimed":                {ledger.Submission{Status: ledger.Processing, Claim: claim}, false, true},
		"stopped":                {ledger.Submission{Status: ledger.Processing, Needs: ledger.NeedsStopped}, false, true},
		"disputed":               {ledger.Submission{Status: ledger.Processing, Needs: ledger.NeedsDisputed}, false, true},
		"closed":                 {ledger.Submission{Status: ledger.Processing, ClosedAt: closed}, false, false},
		"uncertain":              {ledger.Submission{Status: ledger.Uncertain, Needs: ledger.NeedsUncertain}, false, true},
		"uncertain, closed":      {ledger.Submission{Status: ledger.Uncertain, ClosedAt: closed}, false, false},
		"accepted":               {ledger.Submission{Status: ledger.Accepted, Claim: claim}, false, false},
		"accepted and unclaimed": {ledger.Submission{Status: ledger.Accepted}, false, false},
	} {
		c.row.Policy = ledger.Hold
		if c.row.Free() != c.free || c.row.Open() != c.open {
			t.Errorf("%s: free %v, open %v", name, c.row.Free(), c.row.Open())
		}
	}
	if (ledger.Submission{Policy: ledger.Queue, Status: ledger.Processing}).Free() {
		t.Error("what waits for the courier is free")
	}
	if ledger.Operator("ada") != "operator:ada" {
		t.Error("Operator")
	}
}

func TestForGood(t *testing.T) {
	marked := ledger.ForGood("refused/rcpt")
	for cause, want := range map[string]bool{marked: true, "refused/rcpt": false, "": false, "x" + marked: false} {
		if ledger.IsForGood(cause) != want || (ledger.Submission{LastError: cause}).RefusedForGood() != want {
			t.Errorf("%q: for good %v", cause, !want)
		}
	}
}
