package enquiry

import (
	"net/mail"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// domains maps domain names as browsers do (UTS #46, non-transitional): lower
// case, full-width forms and ideographic stops mapped, A-labels out. Hyphens in
// third and fourth place are let through as UTS #46 advises for look-ups.
var domains = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(true),
	idna.CheckHyphens(false),
	idna.BidiRule(),
	idna.VerifyDNSLength(true),
)

// Octets, by RFC 5321 section 4.5.3.1 (a path has 256 with its brackets).
const (
	maxLocalPart = 64
	maxAddress   = 254
)

// MailAddress returns what a field of kind email makes of s, and whether it is a
// mail address: one, bare, without a display name.
func MailAddress(s string) (string, bool) {
	line, code := oneLine(s, false)
	if code != "" {
		return "", false
	}
	return canonicalAddress(line)
}

// canonicalAddress returns a bare mail address with its domain as lower-case
// A-labels. The local part is left alone: only its host knows whether case
// matters there (RFC 5321 section 2.4), and it may be UTF-8 (RFC 6532). What is
// no address comes back unchanged, with false.
func canonicalAddress(s string) (string, bool) {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > maxLocalPart {
		return s, false
	}
	domain, err := domains.ToASCII(s[at+1:])
	// A name without a dot is a slip ("me@gmail"), not a host on the internet.
	if err != nil || !strings.Contains(domain, ".") {
		return s, false
	}
	address := s[:at+1] + domain
	if len(address) > maxAddress || strings.ContainsFunc(s[:at], isUnseen) {
		return s, false
	}
	// Equality leaves no room for display names, comments and quoting.
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address {
		return s, false
	}
	return address, true
}

// isUnseen tells what nobody sees and so nobody meant to be in an address.
func isUnseen(r rune) bool { return unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) }
