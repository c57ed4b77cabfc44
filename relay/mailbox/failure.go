package mailbox

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-imap/v2"

	"formledger/relay/netcause"
)

// The codes of a Failure, beside those of netcause.
const (
	CodeNoStartTLS   = "starttls_missing"
	CodeTurnedAway   = "turned_away"
	CodeLoginRefused = "login_refused"
	CodeLoginLater   = "login_unavailable"
	CodeNoLogin      = "login_disabled"
	CodeNotListed    = "folders_not_listed"
	CodeNotIMAP      = "not_imap"
	CodeTooMuch      = "too_much"
	CodeCancelled    = "cancelled"
)

var (
	errNotIMAP = errors.New("not what IMAP allows")
	errNoLogin = errors.New("no way to log in by password")
)

// Failure is why a search ended early.
type Failure struct {
	Code     string
	Sentence string // for the operator; it may quote the server, and never holds the password
}

func (f *Failure) Error() string { return f.Sentence }

// stage is how far a search has come.
type stage string

const (
	atConnect  stage = "connecting"
	atTLS      stage = "encrypting"
	atGreeting stage = "waiting for its greeting"
	atStartTLS stage = "asking for TLS"
	atSecure   stage = "starting under TLS"
	atLogin    stage = "logging in"
	atFolders  stage = "listing the folders"
	atSearch   stage = "searching"
)

// failure names an error. What broke the connection came first; what go-imap
// says about it is text.
func (s *session) failure(err error) error {
	if known, ok := errors.AsType[*Failure](err); ok {
		return known
	}
	if s.wire != nil && s.wire.failed() != nil {
		err = s.wire.failed()
	}
	code := codeOf(s.ctx, s.stage, err)
	return &Failure{Code: code, Sentence: s.sentence(code) + s.said(err)}
}

func codeOf(ctx context.Context, at stage, err error) string {
	no, refused := errors.AsType[*imap.Error](err)
	switch {
	case refused:
		return codeOfRefusal(at, no)
	case netcause.OfTLS(err) != "":
		return netcause.OfTLS(err)
	case errors.Is(ctx.Err(), context.Canceled):
		return CodeCancelled
	case netcause.Over(ctx):
		return netcause.Timeout
	case errors.Is(err, errTooMuch):
		return CodeTooMuch
	case errors.Is(err, errNoLogin):
		return CodeNoLogin
	case netcause.Of(err) != "":
		return netcause.Of(err)
	case at == atConnect:
		return netcause.Unreachable
	}
	return CodeNotIMAP
}

// codeOfRefusal: the codes are of RFC 5530 section 3.
func codeOfRefusal(at stage, no *imap.Error) string {
	switch {
	case no.Type == imap.StatusResponseTypeBye:
		return CodeTurnedAway
	case at == atStartTLS:
		return CodeNoStartTLS
	case at == atLogin && (hasCode(no, imap.ResponseCodeUnavailable) || hasCode(no, imap.ResponseCodeInUse)):
		return CodeLoginLater
	case at == atLogin && hasCode(no, imap.ResponseCodePrivacyRequired):
		return CodeNoLogin
	case at == atLogin:
		return CodeLoginRefused
	case at == atFolders:
		return CodeNotListed
	}
	return CodeNotIMAP
}

func hasCode(no *imap.Error, code imap.ResponseCode) bool {
	return strings.EqualFold(string(no.Code), string(code))
}

// said is what the server said, if it said no: short, without what could
// pretend to be another line, and without the password, should it repeat that.
func (s *session) said(err error) string {
	no, ok := errors.AsType[*imap.Error](err)
	if !ok || strings.TrimSpace(no.Text) == "" {
		return ""
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, no.Text)
	user, password := s.config.Username, s.config.Password
	for _, secret := range []string{"\x00" + user + "\x00" + password, password} {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			text = strings.ReplaceAll(text, form, "[redacted]")
		}
	}
	return fmt.Sprintf(" It says: %q", clip(text, 200))
}

// clip cuts at a character, not inside one.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
