package server

import (
	"context"

	"formledger/relay"
	"formledger/relay/signed"
)

// refusal is why a claim is not sent.
type refusal struct {
	code      string
	permanent bool // the same message would be refused again
}

// The codes of a refusal, beside those of signed and of the sender.
const (
	codeWrongEpoch   = "wrong_epoch" // the claim relies on another memory than ours
	codeFrom         = "from_not_allowed"
	codeTo           = "to_not_allowed"
	codeRecipients   = "too_many_recipients"
	codeNotRendered  = "not_rendered"
	codeBusy         = "busy" // another claim of the submission is being sent
	codeOtherContent = "other_content"
	codeDailyLimit   = "daily_limit"
)

// admit renders the message, unless the caller may not have it sent. What
// depends on other calls is looked at as the claim is inserted.
func (s *Server) admit(v verified, m signed.Message) (relay.Mail, *refusal) {
	if code := v.Late(v.at); code != "" {
		return relay.Mail{}, &refusal{code: code}
	}
	switch {
	case m.Epoch != s.calls.epoch:
		return relay.Mail{}, &refusal{code: codeWrongEpoch}
	case !v.caller.maySendFrom(m.From):
		return relay.Mail{}, &refusal{codeFrom, true}
	case len(m.To) > maxRecipients:
		return relay.Mail{}, &refusal{codeRecipients, true}
	case !v.caller.maySendTo(m.To):
		return relay.Mail{}, &refusal{codeTo, true}
	}
	message, err := m.Relayed()
	if err != nil {
		return relay.Mail{}, &refusal{codeNotRendered, true}
	}
	mail, err := relay.Render(message)
	if err != nil {
		return relay.Mail{}, &refusal{codeNotRendered, true}
	}
	return mail, nil
}

// refuse records that a claim is not sent, and only then says so: without the
// row the same call, should it come again, could be sent after all.
func (s *Server) refuse(asked row, why refusal) (any, error) {
	asked.refuse(why)
	return s.sealAndTell(asked)
}

func (s *Server) sealAndTell(sealed row) (any, error) {
	stands, err := s.insist(s.inSettle(), func(ctx context.Context) (row, error) {
		return s.calls.seal(ctx, sealed)
	})
	if err != nil {
		return nil, err
	}
	return s.tell(stands, sealed)
}
