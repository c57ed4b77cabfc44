// Package netcause names why a connection failed, in the codes that a verdict's
// cause holds. It goes by the kind of an error, because texts change.
package netcause

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// The codes.
const (
	Refused     = "connect_refused" // nothing listens there
	DNS         = "dns"
	Untrusted   = "certificate_untrusted"
	WrongName   = "certificate_name"
	Expired     = "certificate_expired"
	NotTLS      = "not_tls"
	TLS         = "tls_failed"
	Closed      = "closed"
	Reset       = "reset"
	Timeout     = "timeout"
	Unreachable = "connect_failed" // of no kind that is known, while connecting
)

// Over reports whether the call's own time has passed. The connection's
// deadline is the same moment, and may be noticed before ctx ends.
func Over(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// Of names an error, or is "" for one of no kind that is known.
func Of(err error) string {
	if code := OfTLS(err); code != "" {
		return code
	}
	if code := OfWire(err); code != "" {
		return code
	}
	return ofNetwork(err)
}

// OfTLS names an error of the handshake.
func OfTLS(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return NotTLS
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return WrongName
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return Expired
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Untrusted
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return TLS
	}
	return ""
}

// OfWire names the ways in which a connection is refused, reset or closed.
func OfWire(err error) string {
	for _, known := range []struct {
		err  error
		code string
	}{
		{syscall.ECONNREFUSED, Refused},
		{syscall.ECONNRESET, Reset},
		{syscall.EPIPE, Reset},
		{syscall.ECONNABORTED, Reset},
		{io.EOF, Closed},
		{io.ErrUnexpectedEOF, Closed},
		{net.ErrClosed, Closed},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return ""
}

func ofNetwork(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return DNS
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return Timeout
	}
	return ""
}
