package server

import (
	"errors"
	"fmt"
	"time"

	"formledger/relay/signed"
)

// inquire tells what became of a claim. One that was never seen is sealed first,
// unless the caller only peeks: should its call still arrive, it is refused.
// That holds for an inquiry about another epoch as well: every answer names
// ours, and it is the caller who knows what it had relied on.
func (s *Server) inquire(v verified) (any, error) {
	q, err := signed.ParseInquiry(v.body)
	if err == nil {
		err = v.names(q.SubmissionID)
	}
	if err != nil {
		return nil, notTheProtocol(err)
	}
	if err := v.inTime(); err != nil {
		return nil, err
	}
	asked := row{claim: q.Claim, caller: v.caller.Name, id: q.SubmissionID, hash: q.PayloadHash,
		created: v.at.UnixMilli(), updated: v.at.UnixMilli()}
	known, err := s.known(asked.claim)
	switch {
	case err == nil:
		return s.tell(known, asked)
	case !errors.Is(err, errUnseen):
		return nil, err
	case q.Peek:
		asked.status = signed.StatusUnseen
		return s.tell(asked, asked)
	}
	asked.status = signed.StatusSealed
	return s.sealAndTell(asked)
}

// inTime refuses what may be a copy of an old question. For it nothing may be
// sealed, as the call that it asks for may be on its way only now.
func (v verified) inTime() error {
	if code := v.Late(v.at); code != "" {
		return fmt.Errorf("%w: it came outside of its time (%s); are both clocks right?", signed.ErrUnverified, code)
	}
	return nil
}

// hello tells a caller what it needs to know before its first call.
func (s *Server) hello(v verified) (any, error) {
	if string(v.body) != "{}" || v.SubmissionID != noSubmission {
		return nil, notTheProtocol(errors.New("a hello is {} for the submission " + noSubmission))
	}
	if err := v.inTime(); err != nil {
		return nil, err
	}
	from, to := v.caller.hello()
	return signed.Hello{Epoch: s.calls.epoch, Time: s.now().UTC().Round(time.Millisecond), From: from, To: to}, nil
}

// noSubmission stands in the header of a call that is about none.
const noSubmission = "00000000-0000-0000-0000-000000000000"
