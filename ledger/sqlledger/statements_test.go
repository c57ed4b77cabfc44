package sqlledger

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var parameter = regexp.MustCompile(`\$(\d+)`)

// PostgreSQL numbers parameters by their name, and refuses a gap.
func TestStatementsNumberTheirParametersWithoutGaps(t *testing.T) {
	for i, s := range statements {
		if strings.TrimSpace(s) == "" {
			t.Errorf("statement %d is empty", i)
		}
		if strings.Contains(s, "?") {
			t.Errorf("a parameter of one engine alone: %s", s)
		}
		used, highest := map[int]bool{}, 0
		for _, m := range parameter.FindAllStringSubmatch(s, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			used[n], highest = true, max(highest, n)
		}
		if len(used) != highest {
			t.Errorf("of $1 to $%d only %d are used: %s", highest, len(used), s)
		}
	}
}

// A disputed row is a person's. What else may write to it is listed here.
func TestStatementsOfMachinesLeaveDisputedRows(t *testing.T) {
	exempt := map[statement]string{
		endCall:        "as Submission.After says, of the row that was read: a lapse keeps the need",
		takeWaiting:    "takes rows in no need",
		decideReceived: "a person", decideNotReceived: "a person", decideClose: "a person", decideSendAgain: "a person",
		restoreRow: "a person, and it disputes", forgetRow: "a person; takes rows in no need",
		claimFree: "takes rows in no need or unsent", markUnsent: "takes rows in no need",
	}
	for i, s := range statements {
		updates := strings.HasPrefix(s, "UPDATE submissions")
		if updates && exempt[statement(i)] == "" && !strings.Contains(s, undisputed) {
			t.Errorf("not guarded: %s", s)
		}
	}
}
