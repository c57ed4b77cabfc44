package smtp

import (
	"context"
	"encoding/base64"
	"errors"
	"net/textproto"
	"strconv"

	"formledger/relay"
	"formledger/relay/netcause"
	"formledger/relay/smtp/syntax"
)

// The stages of a call, as a verdict's cause names them.
const (
	stageConnect  = "connect"
	stageBanner   = "banner"
	stageEhlo     = "ehlo"
	stageStartTLS = "starttls"
	stageTLS      = "tls"
	stageAuth     = "auth"
	stageMail     = "mail"
	stageRcpt     = "rcpt"
	stageData     = "data"
	stageBody     = "body"
	stageDot      = "dot"
)

// The codes that others ask for. A reply of the server has its own, "smtp_451".
const (
	codeRefused      = netcause.Refused
	codeUnreachable  = netcause.Unreachable
	codeDNS          = netcause.DNS
	codeUntrusted    = netcause.Untrusted
	codeName         = netcause.WrongName
	codeExpired      = netcause.Expired
	codeNotTLS       = netcause.NotTLS
	codeTLS          = netcause.TLS
	codeNoStartTLS   = "starttls_missing"
	codeAuthRefused  = "auth_refused"
	codeNoAuth       = "auth_unsupported"
	codeAuthFailed   = "auth_failed"
	codeClosed       = netcause.Closed
	codeReset        = netcause.Reset
	codeTimeout      = netcause.Timeout
	codeGarbage      = "garbage"
	codeTooLong      = "reply_too_long"
	codeLapsed       = relay.CodeLapsed
	codeDeadline     = "deadline"
	codeBody         = "body_unreadable"
	codeAddress      = "bad_address"
	codeNoUTF8       = "smtputf8_missing"
	codeNo8Bit       = "8bitmime_missing"
	codeTooLarge     = "too_large"
	codeNotConnected = "failed"
)

// codeOf names why a step failed. It goes by the kind of the error: texts change.
func codeOf(ctx context.Context, err error, stage string) string {
	for _, code := range []string{codeOfReply(err, stage), netcause.OfTLS(err)} {
		if code != "" {
			return code
		}
	}
	switch {
	case netcause.Over(ctx):
		return codeDeadline
	case errors.Is(err, syntax.ErrTooLong):
		return codeTooLong
	case errors.Is(err, syntax.ErrGarbage):
		return codeGarbage
	}
	return codeOfNetwork(err, stage)
}

func codeOfReply(err error, stage string) string {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return replyCode(said.Code, stage)
	}
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return codeGarbage
	}
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return codeGarbage
	}
	return ""
}

// replyCode names a reply. A 5xx to AUTH is a refused login (RFC 4954 section
// 6), unless the server does not know the mechanism.
func replyCode(code int, stage string) string {
	switch {
	case stage == stageAuth && code == 504:
		return codeNoAuth
	case stage == stageAuth && code/100 == 5:
		return codeAuthRefused
	case code/100 == 4 || code/100 == 5:
		return "smtp_" + strconv.Itoa(code)
	}
	return codeGarbage
}

func codeOfNetwork(err error, stage string) string {
	if code := netcause.Of(err); code != "" {
		return code
	}
	switch stage {
	case stageConnect:
		return codeUnreachable
	case stageTLS:
		return codeTLS
	}
	return codeNotConnected
}
