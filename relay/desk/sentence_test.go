package desk_test

import (
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/relay/desk"
)

func TestSentencesOfWhatTheCourierSends(t *testing.T) {
	type row = ledger.Submission
	refused := ledger.ForGood("smtp_550@rcpt")
	for _, c := range []struct {
		name string
		row  row
		says []string
	}{
		{"stored", row{Policy: ledger.Queue}, []string{"is stored, and waits for the courier", "Nothing was sent yet"}},
		{"tried", row{Policy: ledger.Queue, Attempts: 1, Claims: 1}, []string{"Nothing was sent. The message waits for the courier, which sends it again"}},
		{"tried, retry", row{Policy: ledger.Retry, Attempts: 1, Claims: 1}, []string{"Nothing was sent. The message waits for the courier"}},
		{"doubted", row{Policy: ledger.Retry, Attempts: 1, Claims: 1, Doubted: true}, []string{"an earlier attempt may have gone through, so a second copy is possible"}},
		{"decided", row{Policy: ledger.Queue, Attempts: 1, Claims: 1, Doubted: true}, []string{"An operator recorded that the message had not arrived", "courier"}},
		{"at a cap", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, Attempts: 8, AttemptCap: 8, LastError: "smtp_451@rcpt"}, []string{"stopped because it has failed 8 times (last: smtp_451@rcpt)", "Find out why"}},
		{"begun too often", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, Claims: 16, ClaimCap: 16, LastError: "x@y"}, []string{"it was begun 16 times"}},
		{"refused", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, LastError: refused}, []string{"Nothing was sent", "refused for good", "smtp_550@rcpt", "Put right what"}},
		{"no key", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, LastError: ledger.ForGood("words_unreadable@letter")}, []string{"cannot be unsealed", "outbox keys"}},
		{"no form", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, LastError: ledger.ForGood("form_removed@letter")}, []string{"not in the configuration any more"}},
		{"stopped after a decision", row{Policy: ledger.Queue, Needs: ledger.NeedsStopped, Doubted: true, LastError: refused}, []string{"An operator recorded that the message had not arrived, nothing was sent since, and sending has stopped"}},
		{"uncertain", row{Policy: ledger.Queue, Status: ledger.Uncertain}, []string{"may or may not", "not sent again by itself", "the courier sends it again"}},
		{"uncertain at the cap", row{Policy: ledger.Retry, Status: ledger.Uncertain, Attempts: 8, AttemptCap: 8, LastError: "closed@dot"}, []string{"may or may not", "at least one attempt ended without proof", "failed 8 times (last: closed@dot)", "mailbox"}},
		{"under way", row{Policy: ledger.Retry, Claim: ledgertest.NewToken()}, []string{"being sent right now", "a second copy is possible"}},
		{"under way, queue", row{Policy: ledger.Queue, Claim: ledgertest.NewToken()}, []string{"being sent right now", "becomes uncertain"}},
		{"accepted after doubt", row{Policy: ledger.Retry, Status: ledger.Accepted, AcceptedBy: "relay", Doubted: true, Claims: 2}, []string{"there may be two copies"}},
		{"closed in doubt", row{Policy: ledger.Retry, Doubted: true, ClosedAt: time.Now()}, []string{"may have gone through", "closed"}},
		{"closed", row{Policy: ledger.Queue, ClosedAt: time.Now()}, []string{"was not sent", "closed"}},
		{"restored", row{Policy: ledger.Queue, Status: ledger.Uncertain, Needs: ledger.NeedsDisputed, LastError: ledger.CauseRestored}, []string{"backup was restored", "still to be sent", "the courier sends it"}},
		{"maybe a repeat", row{Policy: ledger.Hold, Status: ledger.Uncertain, Needs: ledger.NeedsDisputed, LastError: ledger.CauseMayBeRepeat}, []string{"may repeat a message", "not sent from here", "the visitor may send it again"}},
		{"forgotten", row{Policy: ledger.Hold, Status: ledger.Accepted, AcceptedBy: ledger.AcceptedAndForgotten}, []string{"was accepted", "wiped"}},
	} {
		if c.row.Status == "" {
			c.row.Status = ledger.Processing
		}
		for _, text := range c.says {
			if said := desk.Sentence(c.row); !strings.Contains(said, text) {
				t.Errorf("%s: %q is not in: %s", c.name, text, said)
			}
		}
	}
}

func TestAPolicyNamesItsPrice(t *testing.T) {
	for policy, says := range map[ledger.Policy]string{
		ledger.Hold:  "held until a person has looked",
		ledger.Queue: "After an unknown outcome it is never sent again unless a person says so",
		ledger.Retry: "so duplicates are possible, and it stops at its limits: this is neither at-least-once nor exactly-once",
	} {
		if said := desk.PolicySentence(ledger.Submission{Policy: policy}); !strings.Contains(said, says) {
			t.Errorf("%s: %s", policy, said)
		}
	}
}

// Whatever ends follow one another, a sentence never says that nothing was sent
// where an attempt may have gone through, and never that the courier will send
// what it does not.
func TestSentencesAreTrueOfEveryState(t *testing.T) {
	ends := []ledger.End{ledger.EndAccepted, ledger.EndNotSent, ledger.EndRefused, ledger.EndUnreached, ledger.EndDoubted, ledger.EndLapsed}
	seen := 0
	var walk func(ledger.Submission, int)
	walk = func(row ledger.Submission, steps int) {
		isTrue(t, row)
		seen++
		if steps == 0 || !row.Waiting() {
			return
		}
		row.Claim = ledgertest.NewToken()
		row.Claims++
		isTrue(t, row)
		for _, end := range ends {
			walk(after(row, end), steps-1)
		}
	}
	for _, policy := range []ledger.Policy{ledger.Queue, ledger.Retry} {
		walk(ledger.Submission{Policy: policy, Status: ledger.Processing, AttemptCap: 3, ClaimCap: 4}, 5)
	}
	if seen < 500 {
		t.Errorf("only %d states", seen)
	}
}

func after(row ledger.Submission, end ledger.End) ledger.Submission {
	now, _ := row.After(end)
	row.Status, row.Needs, row.Doubted, row.Attempts, row.ClaimCap = now.Status, now.Needs, now.Doubted, now.Attempts, now.ClaimCap
	row.LastError = "closed@dot"
	if end == ledger.EndAccepted {
		row.AcceptedBy = ledger.AcceptedByRelay
	}
	if end == ledger.EndRefused {
		row.LastError = ledger.ForGood("smtp_550@rcpt")
	}
	if !now.KeepsClaim {
		row.Claim = ledger.Token{}
	}
	return row
}

func isTrue(t *testing.T, row ledger.Submission) {
	t.Helper()
	said := desk.Sentence(row)
	nothing := strings.Contains(said, "Nothing was sent") || strings.Contains(said, "was not sent")
	waits := strings.Contains(said, "waits for the courier")
	switch {
	case nothing && (row.Doubted || row.Status != ledger.Processing || !row.Claim.IsZero()):
		t.Errorf("it may have been sent, and the sentence says %q: %+v", said, row)
	case waits != row.Waiting():
		t.Errorf("waiting is %v, and the sentence says %q: %+v", row.Waiting(), said, row)
	case row.Waiting() && row.Doubted && !strings.Contains(said, "a second copy is possible"):
		t.Errorf("the copy is not named: %q: %+v", said, row)
	}
}
