package intake

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"formledger/ledger/enquiry"
)

// timestampedScheme is HMAC-SHA-256 in hex over time and body, with both time
// and signatures in one header: "t=1492774577,v1=…" as Stripe does it, or
// "ts=1671552777;h1=…" as Paddle does.
type timestampedScheme struct {
	header  string
	secrets secrets
}

func (s timestampedScheme) verify(header http.Header, body []byte) (time.Time, error) {
	value, err := only(header, s.header, maxSignature)
	if err != nil {
		return time.Time{}, err
	}
	stamp, ok := parseStamp(value)
	if !ok {
		return time.Time{}, unverified("the header %s is not one time and its signatures, such as t=1492774577,v1=…", s.header)
	}
	if !s.secrets.signed(stamp.macs, []byte(stamp.digits+stamp.join), body) {
		return time.Time{}, unverified("the signature does not match")
	}
	return stamp.time, nil
}

// stamp is a signature header taken apart.
type stamp struct {
	digits string // the time as it was signed
	join   string // between time and body
	time   time.Time
	macs   [][]byte // several while the provider changes its secret
}

// dialect is how a header of this scheme is written.
type dialect struct{ between, time, mac, join string }

// dialectOf chooses by the separator. A time is nothing but digits, so what was
// signed in one dialect never verifies in the other.
func dialectOf(value string) dialect {
	if strings.Contains(value, ";") {
		return dialect{between: ";", time: "ts", mac: "h1", join: ":"}
	}
	return dialect{between: ",", time: "t", mac: "v1", join: "."}
}

// What stands before an equals sign. A space there comes from a proxy that made
// one header of two.
var version = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// parseStamp takes exactly one time and at least one signature, all of them well
// formed. Signatures of other versions are passed over, such as Stripe's v0,
// which is made for tests.
func parseStamp(value string) (stamp, bool) {
	d := dialectOf(value)
	s := stamp{join: d.join}
	for pair := range strings.SplitSeq(value, d.between) {
		name, v, ok := strings.Cut(pair, "=")
		switch {
		case !ok || !version.MatchString(name):
			return stamp{}, false
		case name == d.time:
			if s.digits != "" || !s.setTime(v) {
				return stamp{}, false
			}
		case name == d.mac:
			mac, ok := decodeMAC(v, enquiry.Hex)
			if !ok {
				return stamp{}, false
			}
			s.macs = append(s.macs, mac)
		}
	}
	return s, s.digits != "" && len(s.macs) > 0
}

func (s *stamp) setTime(digits string) (ok bool) {
	s.digits = digits
	s.time, ok = parseTime(digits)
	return ok
}
