package syntax

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// RFC 5321 section 4.5.3.1: octets of the two parts, and of a path without its
// angle brackets.
const (
	maxLocal  = 64
	maxDomain = 255
	maxPath   = 254
)

// ErrAddress is said of what must not stand in MAIL or RCPT.
var ErrAddress = errors.New("not an address for the envelope")

var (
	dotAtom = regexp.MustCompile("^[\\w!#$%&'*+/=?^`{|}~\\x{80}-\\x{10ffff}-]+(\\.[\\w!#$%&'*+/=?^`{|}~\\x{80}-\\x{10ffff}-]+)*$")
	ldh     = regexp.MustCompile(`^[0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?)*$`)
)

// Mailbox writes an address, "Name <a@b>" or bare, as the envelope wants it: the
// domain in A-labels, the local part quoted where it has to be. No octet in it
// can end the command or the path.
func Mailbox(text string) (string, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrAddress, err)
	}
	at := strings.LastIndexByte(a.Address, '@')
	local, domain := a.Address[:at], a.Address[at+1:]
	if local == "" || !utf8.ValidString(local) || strings.ContainsFunc(local, neverInPath) {
		return "", ErrAddress
	}
	if !dotAtom.MatchString(local) {
		local = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(local) + `"`
	}
	domain, err = domainName(domain)
	if err != nil || len(local) > maxLocal || len(domain) > maxDomain || len(local+"@"+domain) > maxPath {
		return "", ErrAddress
	}
	return local + "@" + domain, nil
}

// neverInPath are the characters that could break out of "<…>". RFC 5321 allows
// some of them inside quotes, but servers differ in how they read that.
func neverInPath(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '<' || r == '>'
}

// domainName is the domain in ASCII (RFC 5890), or an address literal.
func domainName(domain string) (string, error) {
	if inner, ok := strings.CutPrefix(domain, "["); ok {
		if net.ParseIP(strings.TrimSuffix(inner, "]")) == nil {
			return "", ErrAddress
		}
		return domain, nil
	}
	if !ASCII(domain) {
		var err error
		if domain, err = idna.Lookup.ToASCII(domain); err != nil {
			return "", ErrAddress
		}
	}
	if !ldh.MatchString(domain) {
		return "", ErrAddress
	}
	return domain, nil
}

// XText writes a value for a parameter (RFC 3461 section 4).
func XText(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || b == '+' || b == '=' {
			fmt.Fprintf(&out, "+%02X", b)
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// ASCII reports whether s is in ASCII.
func ASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// VisibleASCII reports whether s has nothing but visible ASCII, no space.
func VisibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
