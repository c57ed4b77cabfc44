package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"strconv"
	"syscall"
	"time"

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
	codeRefused      = "connect_refused"
	codeUnreachable  = "connect_failed"
	codeDNS          = "dns"
	codeUntrusted    = "certificate_untrusted"
	codeName         = "certificate_name"
	codeExpired      = "certificate_expired"
	codeNotTLS       = "not_tls"
	codeTLS          = "tls_failed"
	codeNoStartTLS   = "starttls_missing"
	codeAuthRefused  = "auth_refused"
	codeNoAuth       = "auth_unsupported"
	codeAuthFailed   = "auth_failed"
	codeClosed       = "closed"
	codeReset        = "reset"
	codeTimeout      = "timeout"
	codeGarbage      = "garbage"
	codeTooLong      = "reply_too_long"
	codeLapsed       = "lease_lapsed"
	codeDeadline     = "deadline"
	codeBody         = "body_unreadable"
	codeAddress      = "bad_address"
	codeNoUTF8       = "smtputf8_missing"
	codeNo8Bit       = "8bitmime_missing"
	codeTooLarge     = "too_large"
	codeNotConnected = "failed"
)

// known is an error that a code stands for.
type known struct {
	err  error
	code string
}

// causes are looked through in this order.
func causes() []known {
	return []known{
		{syntax.ErrTooLong, codeTooLong},
		{syntax.ErrGarbage, codeGarbage},
		{syscall.ECONNREFUSED, codeRefused},
		{syscall.ECONNRESET, codeReset},
		{syscall.EPIPE, codeReset},
		{syscall.ECONNABORTED, codeReset},
		{io.EOF, codeClosed},
		{io.ErrUnexpectedEOF, codeClosed},
		{net.ErrClosed, codeClosed},
	}
}

// codeOf names why a step failed. It goes by the kind of the error: texts change.
func codeOf(ctx context.Context, err error, stage string) string {
	for _, code := range []string{codeOfReply(err, stage), codeOfTLS(err)} {
		if code != "" {
			return code
		}
	}
	if over(ctx) {
		return codeDeadline
	}
	for _, c := range causes() {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return codeOfNetwork(err, stage)
}

// over reports whether the call's own time has passed. The connection's
// deadline is the same moment, and may be noticed before ctx ends.
func over(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
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

func codeOfTLS(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return codeNotTLS
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return codeName
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return codeExpired
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return codeUntrusted
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return codeTLS
	}
	return ""
}

func codeOfNetwork(err error, stage string) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return codeDNS
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return codeTimeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return codeTimeout
	}
	switch stage {
	case stageConnect:
		return codeUnreachable
	case stageTLS:
		return codeTLS
	}
	return codeNotConnected
}
