//go:build !failpoints

package failpoint_test

import (
	"testing"

	"formledger/ledger/failpoint"
)

// A binary for production must not be killed by a variable in its environment.
func TestWithoutTheTagNothingHappens(t *testing.T) {
	t.Setenv("FORMLEDGER_FAILPOINT", "a=kill,a=stop")
	failpoint.Hit("a")
}
