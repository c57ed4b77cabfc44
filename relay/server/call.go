package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/failpoint"
	"formledger/relay"
	"formledger/relay/signed"
)

// send is the journey of a call that asks to send: what is on record, what
// speaks against it, the claim, the one send, the record, the answer.
func (s *Server) send(v verified) (any, error) {
	m, err := signed.ParseMessage(v.body)
	if err == nil {
		err = v.names(m.SubmissionID)
	}
	if err != nil {
		return nil, notTheProtocol(err)
	}
	asked := row{claim: m.Claim, caller: v.caller.Name, id: m.SubmissionID, hash: m.PayloadHash,
		created: v.at.UnixMilli(), updated: v.at.UnixMilli()}
	known, err := s.known(asked.claim)
	switch {
	case err == nil:
		return s.tell(known, asked)
	case !errors.Is(err, errUnseen):
		return nil, err
	}
	mail, no := s.admit(v, m)
	if no != nil {
		return s.refuse(asked, *no)
	}
	return s.carry(v, asked, mail)
}

// names checks that the signed header and the body speak of one submission.
func (v verified) names(id uuid.UUID) error {
	if v.SubmissionID != id.String() {
		return errors.New("the header names another submission ID than the body, or spells it otherwise")
	}
	return nil
}

func (s *Server) known(claim string) (row, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.settle)
	defer cancel()
	return s.calls.known(ctx, claim, s.now())
}

// carry claims, sends once, and records how that ended. It runs under deadlines
// of its own: the caller's leaving cancels nothing.
func (s *Server) carry(v verified, asked row, mail relay.Mail) (any, error) {
	failpoint.Hit("server.before-claim")
	c, err := s.claim(v, asked, len(mail.To))
	if err != nil {
		return nil, err
	}
	if !c.owned {
		return s.tell(c.row, asked)
	}
	failpoint.Hit("server.after-claim")
	verdict := s.call(mail, c.lease)
	failpoint.Hit("server.after-send")
	ended := c.row.ended(verdict)
	stands, err := s.record(ended, c.lease)
	failpoint.Hit("server.after-record")
	if err != nil {
		return s.tellUnrecorded(ended, err)
	}
	return s.tell(stands, asked)
}

// claimed is the row that stands after a claim, and whether it is this call's
// own, which then may send as long as the lease is held.
type claimed struct {
	row   row
	lease relay.Lease
	owned bool
}

// claim asks for the right to send. An errored try may have won all the same, so
// it is repeated under the same holder, which no other call has: of two calls
// under one claim at once, only one can find itself in the row.
func (s *Server) claim(v verified, fresh row, recipients int) (claimed, error) {
	holder, err := uuid.NewRandom()
	if err != nil {
		return claimed{}, err
	}
	until := s.now().Add(s.lease)
	fresh.status, fresh.holder, fresh.recipients = signed.StatusProcessing, holder.String(), recipients
	fresh.leaseUntil = until.UnixMilli()
	stands, err := s.insist(s.inSettle(), func(ctx context.Context) (row, error) {
		return s.calls.claim(ctx, fresh, v.caller.DailyLimit)
	})
	owned := stands.holder == fresh.holder && stands.status == signed.StatusProcessing
	return claimed{stands, relay.NewLease(until, s.now), owned}, err
}

// call calls the sender once. A sender that panics has told us nothing.
func (s *Server) call(mail relay.Mail, lease relay.Lease) (v relay.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("sender panicked", "reference", ledger.ReferenceOf(mail.SubmissionID), "panic", fmt.Sprint(p))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeFor(lease))
	defer cancel()
	v = relay.UnknownAfter("panic", "")
	return s.sender.Send(ctx, mail, lease)
}

// timeFor is what a call may take, so that its end can still be recorded within
// the lease: the tries to claim may have used some of it.
func (s *Server) timeFor(lease relay.Lease) time.Duration {
	return min(s.callTimeout, lease.Until().Sub(s.now())-s.settle)
}

// record writes how the call ended, again and again until the lease is over.
// Every try carries the holder, so one that had happened all the same does no
// harm.
func (s *Server) record(ended row, lease relay.Lease) (row, error) {
	return s.insist(lease, func(ctx context.Context) (row, error) {
		ended.updated = s.now().UnixMilli()
		return s.calls.record(ctx, ended)
	})
}

// tellUnrecorded answers where the table does not know how the call ended, and
// will call it uncertain. A refusal is no proof then. An acceptance is one all
// the same: it is the mail system that vouches for the message, no later send
// can make it untrue, and the caller's ledger is where it has to be known. That
// a call is uncertain proves nothing, recorded or not.
func (s *Server) tellUnrecorded(ended row, err error) (any, error) {
	s.log.Error("outcome could not be recorded", "caller", ended.caller, "reference", ledger.ReferenceOf(ended.id),
		"status", string(ended.status), "code", ended.code, "error", err.Error())
	if ended.status == signed.StatusRefused {
		return nil, err
	}
	return s.tell(ended, ended)
}

const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// insist makes a write, and repeats it while it fails and there is time.
func (s *Server) insist(span relay.Lease, write func(context.Context) (row, error)) (row, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		stands, err := s.inTime(write)
		if err == nil || errors.Is(err, errBroken) || !span.Held() {
			return stands, err
		}
		time.Sleep(pause)
	}
}

// inTime makes one try of a write.
func (s *Server) inTime(write func(context.Context) (row, error)) (row, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.settle)
	defer cancel()
	return write(ctx)
}

// inSettle is the time for the tries of a write before anything is sent.
func (s *Server) inSettle() relay.Lease { return relay.NewLease(s.now().Add(s.settle), s.now) }
