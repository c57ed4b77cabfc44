package intake

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger/enquiry"
)

// Lengths of headers in bytes, far above those in use.
const (
	maxMessageID = 256
	maxTime      = 12
	maxSignature = 4096

	macBytes = 32 // of HMAC-SHA-256
)

// scheme verifies a request before anybody reads its body. It tells when the
// request was signed, or the zero time if the scheme has none. Its errors wrap
// ErrUnverified.
type scheme interface {
	verify(header http.Header, body []byte) (signed time.Time, err error)
}

// only returns the one value of a header. Two would let a proxy and us look at
// different ones.
func only(header http.Header, name string, most int) (string, error) {
	switch values := header.Values(name); {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", unverified("the header %s is missing", name)
	case len(values) > 1:
		return "", unverified("the header %s is there %d times", name, len(values))
	case len(values[0]) > most:
		return "", unverified("the header %s is longer than %d bytes", name, most)
	default:
		return values[0], nil
	}
}

// Seconds, without a sign, leading zeros or anything else that two parsers might
// read differently. Twelve digits last for thirty thousand years.
var seconds = regexp.MustCompile(`^[1-9][0-9]{0,11}$`)

func parseTime(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || !seconds.MatchString(s) {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}

// standardScheme is Standard Webhooks (standardwebhooks.com), version v1. The
// time is checked by the form's own tolerance and clock, which the library has
// none of.
type standardScheme struct{ hooks []*standardwebhooks.Webhook }

// The message ID has no full stop, which stands between the signed parts: the
// specification warns of that. A signature is a version, one comma and base64;
// the library would not look at what follows a second comma.
var (
	messageID          = regexp.MustCompile(`^[!-\-/-~]+$`)
	standardSignatures = regexp.MustCompile(`^[a-z0-9]+,[A-Za-z0-9+/_-]+=*( [a-z0-9]+,[A-Za-z0-9+/_-]+=*)*$`)
)

func (s standardScheme) verify(header http.Header, body []byte) (time.Time, error) {
	id, err := only(header, standardwebhooks.HeaderWebhookID, maxMessageID)
	if err != nil {
		return time.Time{}, err
	}
	at, err := only(header, standardwebhooks.HeaderWebhookTimestamp, maxTime)
	if err != nil {
		return time.Time{}, err
	}
	signatures, err := only(header, standardwebhooks.HeaderWebhookSignature, maxSignature)
	if err != nil {
		return time.Time{}, err
	}
	signed, ok := parseTime(at)
	if !ok || !messageID.MatchString(id) || !standardSignatures.MatchString(signatures) {
		return time.Time{}, unverified("its headers are not those of Standard Webhooks")
	}
	for _, hook := range s.hooks {
		if hook.VerifyIgnoringTimestamp(body, header) == nil {
			return signed, nil
		}
	}
	return time.Time{}, unverified("the signature does not match")
}

// hmacScheme is HMAC-SHA-256 of the body alone in one header, in hex or base64,
// with or without the prefix "sha256=": as GitHub, Shopify or Creem do it. It
// tells no time, so nobody can say how old a request is. A replay of it is
// harmless all the same, because the order's ID is the submission's.
type hmacScheme struct {
	header, encoding string
	secrets          secrets
}

func (s hmacScheme) verify(header http.Header, body []byte) (time.Time, error) {
	value, err := only(header, s.header, maxSignature)
	if err != nil {
		return time.Time{}, err
	}
	mac, ok := decodeMAC(strings.TrimPrefix(value, "sha256="), s.encoding)
	switch {
	case !ok:
		return time.Time{}, unverified("the header %s holds no HMAC-SHA-256 in %s", s.header, s.encoding)
	case !s.secrets.signed([][]byte{mac}, body):
		return time.Time{}, unverified("the signature does not match")
	}
	return time.Time{}, nil
}

// decodeMAC reads a MAC of full length. Hex may be in either case (RFC 4648
// section 8); base64 is padded and in its one canonical form (section 3.5).
func decodeMAC(s, encoding string) ([]byte, bool) {
	if encoding == enquiry.Base64 {
		mac, err := base64.StdEncoding.Strict().DecodeString(s)
		return mac, err == nil && len(s) == base64.StdEncoding.EncodedLen(macBytes) && len(mac) == macBytes
	}
	mac, err := hex.DecodeString(s)
	return mac, err == nil && len(mac) == macBytes
}
