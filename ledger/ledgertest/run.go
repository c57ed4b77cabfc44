package ledgertest

import (
	"context"
	"testing"

	"formledger/ledger"
)

// Run is the conformance suite: every engine keeps what it checks. open makes
// an empty ledger that the test's cleanup closes; every subtest has one of its
// own. The promises of the package ledger carry their number.
func Run(t *testing.T, open func(t *testing.T) ledger.Ledger) {
	t.Helper()
	for _, group := range [][]check{
		claimChecks(), settleChecks(), lateChecks(), endChecks(), disputeChecks(),
		decisionChecks(), raceChecks(), sweepChecks(), recordChecks(), contextChecks(),
		storeChecks(), takeChecks(), policyChecks(), wipeChecks(), allowanceChecks(), courierChecks(), randomChecks(),
		forgetChecks(), restoreChecks(),
	} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				c.run(&fixture{T: t, ledger: open(t), ctx: t.Context()})
			})
		}
	}
}

// check is one subtest; its name says what is promised.
type check struct {
	name string
	run  func(*fixture)
}

// fixture is a ledger under test. Its methods fail the test at any error.
type fixture struct {
	*testing.T
	ledger ledger.Ledger
	ctx    context.Context
}
