package server

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

// truth is what a sender says, and the status that this makes.
type truth struct {
	verdict relay.Verdict
	status  signed.Status
}

func truths() map[string]truth {
	return map[string]truth{
		"accepted": {relay.AcceptedWith("250 taken"), signed.StatusAccepted},
		"not sent": {relay.ProvenNotSent("greylisted", "rcpt"), signed.StatusRefused},
		"unknown":  {relay.UnknownAfter("timeout", "dot"), signed.StatusUncertain},
	}
}

// timingFor gives up soon only where the fault lasts.
func timingFor(f fault) func(*Config) {
	if f.times < 0 {
		return shortLease
	}
	return func(*Config) {}
}

// isProof reports whether a status says that nothing was sent.
func isProof(s signed.Status) bool { return s == signed.StatusRefused || s == signed.StatusSealed }

// each tries every way in which the writes of a step can fail: for a moment and
// for good, and with and without having happened.
func each(t *testing.T, try func(t *testing.T, f fault)) {
	for _, step := range []string{"claim", "record"} {
		for _, happened := range []bool{false, true} {
			for _, times := range []int{1, 2, -1} {
				f := fault{step, happened, times}
				t.Run(fmt.Sprintf("%s fails %d times, happened %v", step, times, happened), func(t *testing.T) { try(t, f) })
			}
		}
	}
}

// Whatever fails: one send at most, no proof that is not true, and no answer that
// the next one takes back.
func TestNoFailingWriteMakesASecondSendOrAFalseProof(t *testing.T) {
	for name, truth := range truths() {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, f fault) {
				b := newBench(t, timingFor(f))
				b.box.says(truth.verdict)
				m := b.message()
				f.in(b.calls)
				res, err := b.form.send(m)
				must(t, err)
				sent := b.box.calls()
				heal(b.calls)
				first := signed.Answer{}
				if res.signed {
					first, err = answer(res, m)
					must(t, err)
				}
				checkFault(b, f, m, first, truth.status)
				b.clock.advance(2 * time.Minute)
				later := b.asks(m)
				if sent > 0 && isProof(later.Status) && truth.status != signed.StatusRefused {
					t.Errorf("it was sent, and is %s", later.Status)
				}
				if isProof(first.Status) && later.Status != first.Status {
					t.Errorf("proven %s, then %s", first.Status, later.Status)
				}
				if again := b.sends(m); again != later {
					t.Errorf("%+v, then %+v", later, again)
				}
				b.wantMails(sent)
			})
		})
	}
}

// checkFault looks at the first answer under a fault.
func checkFault(b *bench, f fault, m signed.Message, first signed.Answer, truth signed.Status) {
	b.t.Helper()
	switch {
	case f.times > 0: // repeated until it is recorded
		if first.Status != truth || rowOf(b.t, b.calls, m.Claim).status != truth {
			b.t.Errorf("%+v", first)
		}
		b.wantMails(1)
	case f.step == "claim": // never granted
		if first.Status != "" {
			b.t.Errorf("%+v", first)
		}
		b.wantMails(0)
	case f.happened: // once, and the next try can only see it as failed again
		if first.Status != "" && first.Status != truth || first.Status == signed.StatusRefused {
			b.t.Errorf("%+v", first)
		}
		b.wantMails(1)
	default: // an acceptance that is on no record is told; a refusal is not
		if want := map[bool]signed.Status{false: truth}[truth == signed.StatusRefused]; first.Status != want {
			b.t.Errorf("%+v, want %q", first, want)
		}
		b.wantMails(1)
	}
}

func TestAnAcceptanceThatCouldNotBeRecordedIsToldAndLogged(t *testing.T) {
	b := newBench(t, shortLease)
	m := b.message()
	fault{"record", false, -1}.in(b.calls)
	b.wants(b.sends(m), signed.StatusAccepted, "")
	heal(b.calls)
	b.wants(b.peeks(m), signed.StatusUncertain, "lease_lapsed") // the table does not know
	b.wantMails(1)
	if !containsAll(b.log.String(), "outcome could not be recorded", string(m.Reference), "ERROR") {
		t.Errorf("the log: %s", b.log)
	}
}

func TestARefusalThatCouldNotBeRecordedIsNotTold(t *testing.T) {
	b := newBench(t, shortLease)
	m := b.message()
	b.box.says(relay.ProvenNotSent("greylisted", "rcpt"))
	fault{"record", false, -1}.in(b.calls)
	res, err := b.form.send(m)
	b.turnedAway(http.StatusServiceUnavailable, res, err)
	heal(b.calls)
	b.wants(b.asks(m), signed.StatusUncertain, "lease_lapsed")
}

// A proof that is not on record is none: the call could still be sent.
func TestASealThatFailsIsNotAProof(t *testing.T) {
	expired := func(b *bench, m signed.Message) (response, error) {
		b.form.behind = 2 * time.Minute
		defer func() { b.form.behind = 0 }()
		return b.form.send(m)
	}
	forbidden := func(b *bench, m signed.Message) (response, error) {
		m.To = []string{"victim@else.example"}
		return b.form.send(m)
	}
	asked := func(b *bench, m signed.Message) (response, error) { return b.form.inquire(m, false) }
	for name, seal := range map[string]func(*bench, signed.Message) (response, error){"expired": expired, "forbidden": forbidden, "asked": asked} {
		for _, f := range []fault{{"seal", false, 1}, {"seal", true, 1}, {"seal", false, -1}, {"seal", true, -1}} {
			t.Run(fmt.Sprintf("%s %+v", name, f), func(t *testing.T) {
				b := newBench(t, timingFor(f))
				m := b.message()
				f.in(b.calls)
				res, err := seal(b, m)
				must(t, err)
				heal(b.calls)
				if f.times < 0 && !f.happened {
					b.turnedAway(http.StatusServiceUnavailable, res, nil)
					b.wantRows(0)
					b.wants(b.sends(m), signed.StatusAccepted, "")
					return
				}
				if f.times > 0 {
					if a, err := answer(res, m); err != nil || !isProof(a.Status) {
						t.Errorf("%v, %+v", err, a)
					}
				}
				if a := b.sends(m); !isProof(a.Status) {
					t.Errorf("%+v", a)
				}
				b.wantMails(0)
			})
		}
	}
}

func TestALapseThatCouldNotBeRecordedIsNotTold(t *testing.T) {
	for _, happened := range []bool{false, true} {
		b := newBench(t, shortLease)
		m := b.message()
		fault{"record", false, -1}.in(b.calls)
		b.sends(m)
		b.clock.advance(time.Minute)
		fault{"lapse", happened, 1}.in(b.calls)
		res, err := b.form.inquire(m, false)
		b.turnedAway(http.StatusServiceUnavailable, res, err)
		b.wants(b.asks(m), signed.StatusUncertain, "lease_lapsed")
		b.wantMails(1)
	}
}

// Between two tries to claim, of which the first had happened, the lease passes
// and somebody is told that the claim is uncertain.
func TestAClaimThatLapsedBeforeItWasGrantedIsNotSent(t *testing.T) {
	b := newBench(t)
	other := openCalls(t, b.file)
	m := b.message()
	claims := 0
	b.calls.commit = func(step string, tx *sql.Tx) error {
		if claims++; claims > 1 {
			return tx.Commit()
		}
		must(t, tx.Commit())
		r, err := other.known(context.Background(), m.Claim, time.Now().Add(time.Hour))
		if err != nil || r.status != signed.StatusUncertain {
			t.Errorf("%v, %+v", err, r)
		}
		return errInjected
	}
	b.wants(b.sends(m), signed.StatusUncertain, "lease_lapsed")
	b.wantMails(0)
}

// The table itself refuses what no statement of the program would do.
func TestTheTableKeepsWhatIsFinal(t *testing.T) {
	b := newBench(t)
	accepted, sealed := b.message(), b.message()
	b.sends(accepted)
	b.asks(sealed)
	b.box.says(relay.UnknownAfter("timeout", "dot"))
	uncertain := b.message()
	b.sends(uncertain)
	for _, forgery := range []string{
		`UPDATE calls SET status = 'refused' WHERE status = 'accepted'`,
		`UPDATE calls SET receipt = 'another' WHERE status = 'accepted'`,
		`UPDATE calls SET status = 'processing', holder = 'x', lease_until = 1, recipients = 1 WHERE status = 'sealed'`,
		`UPDATE calls SET status = 'accepted' WHERE status = 'sealed'`,
		`UPDATE calls SET status = 'processing' WHERE status = 'uncertain'`,
		`UPDATE calls SET status = 'sealed' WHERE status = 'uncertain'`,
		`UPDATE calls SET status = 'refuse' WHERE status = 'uncertain'`,
		`UPDATE calls SET holder = '' WHERE status = 'uncertain'`,
		`DELETE FROM calls`,
		`INSERT OR REPLACE INTO calls SELECT * FROM calls WHERE status = 'sealed'`,
	} {
		if _, err := b.calls.db.Exec(forgery); err == nil {
			t.Errorf("the table took %s", forgery)
		}
	}
	b.wants(b.asks(accepted), signed.StatusAccepted, "")
	b.wants(b.asks(sealed), signed.StatusSealed, "")
	b.wants(b.asks(uncertain), signed.StatusUncertain, "timeout")
}
