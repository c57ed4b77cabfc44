package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
	"formledger/web"
)

// submission is one POST on its way through the house.
type submission struct {
	form      *enquiry.Form
	raw       enquiry.Raw // as it was typed
	enquiry   enquiry.Enquiry
	canonical []byte        // what the payload hash is made of
	id        uuid.UUID     // the client's, or derived; uuid.Nil before it is known
	to        []string      // of a verified intake: the customer's address instead of the form's recipients
	text      string        // of a verified intake: the mail's text from its template
	sender    sender        // who sent it, for derived IDs alone; never stored
	html      bool          // the answer is a page
	lang      *web.Language // of the answer; nil before it is heard
	asked     string        // the language's tag, if it was asked for by name
}

// submit is the journey of one enquiry: form, origin and size, decoding,
// normalization and validation, and then what the ledger says.
func (s *Server) submit(c echo.Context) error {
	sub, refused := s.receive(c)
	if refused != nil {
		return s.answer(c, sub, *refused)
	}
	// From here on nothing is cancelled by the visitor's leaving.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), s.timing.Answer)
	defer cancel()
	e, problems := sub.form.Check(sub.raw)
	if len(problems) > 0 {
		return s.answer(c, sub, answer{code: code(Invalid), problems: problems})
	}
	sub.enquiry, sub.canonical = e, e.Canonical()
	if err := s.identify(ctx, sub); err != nil {
		return s.answer(c, sub, s.unreachable(err))
	}
	return s.answer(c, sub, s.deliver(ctx, sub))
}

// begin starts what the form's policy says with an enquiry that was never seen.
func (s *Server) begin(ctx context.Context, sub *submission, payloadHash string) answer {
	if p := ledger.Policy(sub.form.Def().Policy); p.KeepsWords() {
		return s.store(ctx, sub, p, payloadHash)
	}
	return s.send(ctx, sub, payloadHash)
}

// deliver asks the ledger first. A repeat gets the recorded outcome; only an
// enquiry that was never seen, or that provably was not sent, is sent.
func (s *Server) deliver(ctx context.Context, sub *submission) answer {
	row, err := s.ledger.Submission(ctx, sub.id)
	switch {
	case errors.Is(err, ledger.ErrUnseen):
		return s.begin(ctx, sub, s.keys.Hash(sub.canonical))
	case err != nil:
		return s.unreachable(err)
	default:
		return s.repeat(ctx, sub, row)
	}
}

// repeat answers an enquiry whose ID the ledger knows.
func (s *Server) repeat(ctx context.Context, sub *submission, row ledger.Submission) answer {
	same, err := s.keys.Same(row.PayloadHash, sub.canonical)
	switch {
	case err != nil:
		return s.unreachable(err)
	case !same:
		return s.conflict(ctx, sub)
	case row.Free():
		return s.send(ctx, sub, row.PayloadHash)
	case row.Waiting():
		a := s.soon(ctx, row)
		a.replayed = true
		return a
	}
	row, err = s.await(ctx, row)
	if err != nil {
		return s.unreachable(err)
	}
	return answer{code: recorded(row), replayed: true}
}

// conflict says that other content came under a known ID. The answer does not
// depend on the row's state, which is not this sender's business.
func (s *Server) conflict(ctx context.Context, sub *submission) answer {
	if err := s.ledger.Conflict(ctx, sub.id, s.now()); err != nil {
		s.log.Error("conflict could not be counted", "reference", ledger.ReferenceOf(sub.id), "error", err.Error())
	}
	return answer{code: code(Conflict)}
}

// send claims the enquiry, makes the one relay call of the claim, and answers
// with what is recorded of it. The call goes on when the time for the answer is
// over; the claim alone decides who makes it.
func (s *Server) send(ctx context.Context, sub *submission, payloadHash string) answer {
	messageID, err := s.keys.MessageID(sub.id, payloadHash)
	if err != nil {
		return s.unreachable(err)
	}
	claim, err := s.hold.Claim(ctx, ledger.NewClaim{ID: sub.id, Form: sub.form.Def().Name, PayloadHash: payloadHash})
	if err != nil {
		return s.unclaimed(err)
	}
	if !claim.Owned {
		return s.repeat(ctx, sub, claim.Row)
	}
	ending, ended := s.flights.wait(ctx, s.carry(claim, s.compose(sub, claim.Row, messageID)))
	if !ended || !ending.Recorded {
		return answer{code: code(Processing)}
	}
	return answer{code: recorded(ending.Row)}
}

// compose writes the mail of an enquiry.
func (s *Server) compose(sub *submission, row ledger.Submission, messageID string) relay.Message {
	m := relay.Compose(sub.form, sub.enquiry, row, messageID, MailWords(s.pages.Texts(), sub.form))
	if len(sub.to) > 0 {
		m.To, m.ReplyTo = sub.to, "" // the customer's own address
	}
	if sub.text != "" {
		m.Text = sub.text
	}
	return m
}

// store records the enquiry with its words sealed, before any attempt, and then
// lets the courier try at once.
func (s *Server) store(ctx context.Context, sub *submission, p ledger.Policy, payloadHash string) answer {
	messageID, err := s.keys.MessageID(sub.id, payloadHash)
	if err != nil {
		return s.unreachable(err)
	}
	row := ledger.Submission{ID: sub.id, Reference: ledger.ReferenceOf(sub.id), PayloadHash: payloadHash, CreatedAt: s.now()}
	stored, err := s.courier.Store(ctx, sub.form.Def().Name, p, s.compose(sub, row, messageID), sub.to)
	switch {
	case err != nil:
		// it may be stored all the same, and then it is sent: never "not sent"
		s.log.Error("not known to be stored", "reference", row.Reference, "error", err.Error())
		return answer{code: code(Processing)}
	case !stored.Fresh:
		return s.repeat(ctx, sub, stored.Row)
	}
	return s.soon(ctx, stored.Row)
}

// soon lets the courier try a stored message now, and answers with the outcome if
// that comes in time. The message is durable whatever happens here.
func (s *Server) soon(ctx context.Context, row ledger.Submission) answer {
	select {
	case <-s.courier.Nudge(row):
	case <-ctx.Done():
		return answer{code: code(Queued)}
	}
	row, err := s.ledger.Submission(ctx, row.ID)
	if err == nil {
		row, err = s.await(ctx, row)
	}
	if err != nil {
		s.log.Error("what became of a stored message cannot be read", "error", err.Error())
		return answer{code: code(Queued)}
	}
	return answer{code: recorded(row)}
}

// carry starts the call of a claim, in a flight that repeats can wait for.
func (s *Server) carry(claim relay.Claim, m relay.Message) *flight {
	f := s.flights.begin(claim.Row.ID)
	go func() {
		ending := relay.Ending{Row: claim.Row}
		defer func() { s.flights.end(f, ending) }()
		ending = s.hold.Carry(claim, m)
	}()
	return f
}

// await lets a repeat that finds the send under way have the owner's outcome,
// if that comes in time.
func (s *Server) await(ctx context.Context, row ledger.Submission) (ledger.Submission, error) {
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		if row.Status != ledger.Processing || row.Claim.IsZero() {
			return row, nil
		}
		if !s.flights.rest(ctx, row.ID, pause) {
			return row, nil
		}
		next, err := s.ledger.Submission(ctx, row.ID)
		if ctx.Err() != nil {
			return row, nil
		}
		if err != nil {
			return row, err
		}
		row = next
	}
}

// How often a repeat looks for the outcome of a send in another process.
const (
	firstLook   = 25 * time.Millisecond
	longestLook = 400 * time.Millisecond
)

// unclaimed is the answer when the ledger did not grant a claim: nothing is
// ever sent under it.
func (s *Server) unclaimed(err error) answer {
	if !errors.Is(err, relay.ErrNotClaimed) {
		s.log.Error("no claim could be made", "error", err.Error())
	}
	return answer{code: notClaimed}
}

// unreachable is the answer when nobody can tell what became of the enquiry
// before. This attempt has sent nothing.
func (s *Server) unreachable(err error) answer {
	s.log.Error("ledger look-up failed", "error", err.Error())
	return answer{code: unavailable}
}
