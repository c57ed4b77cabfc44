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

// deliver asks the ledger first. A repeat gets the recorded outcome; only an
// enquiry that was never seen, or that provably was not sent, is sent.
func (s *Server) deliver(ctx context.Context, sub *submission) answer {
	row, err := s.ledger.Submission(ctx, sub.id)
	switch {
	case errors.Is(err, ledger.ErrUnseen):
		return s.send(ctx, sub, s.keys.Hash(sub.canonical))
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
	ending, ended := s.flights.wait(ctx, s.carry(claim, relay.Compose(sub.form, sub.enquiry, claim.Row, messageID, MailWords(s.pages.Texts(), sub.form))))
	if !ended || !ending.Recorded {
		return answer{code: code(Processing)}
	}
	return answer{code: recorded(ending.Row)}
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
