package intake_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

const stampHeader = "Stripe-Signature"

// The vectors were computed with openssl and Python's hmac.
const (
	stripeSecret    = "whsec_test_4eC39HqLyjWDarjtT1zdp7dc"
	stripeSignature = "t=1492774577,v1=6eab266deede66f6f143960236453861d5914e9035ce38e8adc856cb92775395,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"

	paddleSecret    = "pdl_ntfset_01gkpjp8bkm3tm53kdgkx6sms7_6h3qd3uFSi9YCD3OLYAShQI90XTI5vEI"
	paddleSignature = "ts=1671552777;h1=ac00c29bbbea2f355a00101401c78acbdc7abfc264c0098e13d0f025d1d54d20"
)

func stamped() enquiry.Definition {
	return shop(enquiry.Webhook{Scheme: enquiry.Timestamped, Header: stampHeader})
}

func stampRequest(at int64, value string) func() request {
	return func() request {
		r := request{header: http.Header{}, body: orderBody, now: time.Unix(at, 0)}
		r.header.Set(stampHeader, value)
		return r
	}
}

func TestStampVectors(t *testing.T) {
	run(t, open(t, stamped(), stripeSecret), stampRequest(1492774577, stripeSignature), []attack{
		{"stripe", nothing, nil}, {"stripe, altered", body(orderBody + "\n"), intake.ErrUnverified},
	})
	run(t, open(t, stamped(), paddleSecret), stampRequest(1671552777, paddleSignature), []attack{
		{"paddle", nothing, nil}, {"paddle, altered", body(orderBody + "\n"), intake.ErrUnverified},
		{"several while the secret changes", set(stampHeader, strings.Replace(paddleSignature, ";", ";h1="+strings.Repeat("0", 64)+";", 1)), nil},
	})
}

const stampTime = "1700000000"

func stamp(value string) func(*request) { return set(stampHeader, value) }

func signStamp(digits string) string { return hexMAC(newSecret, digits, ".", orderBody) }

// stampSignatures are about what was signed, when and by whom.
func stampSignatures() []attack {
	good, zeros := signStamp(stampTime), strings.Repeat("0", 64)
	return []attack{
		{"good", nothing, nil},
		{"time last", stamp("v1=" + good + ",t=" + stampTime), nil},
		{"upper-case hex, the same 32 bytes", stamp("t=" + stampTime + ",v1=" + strings.ToUpper(good)), nil},
		{"several signatures", stamp("t=" + stampTime + ",v1=" + zeros + ",v1=" + good), nil},
		{"signatures of other versions", stamp("v0=x,t=" + stampTime + ",v2=,v1=" + good), nil},
		{"old secret", stamp("t=" + stampTime + ",v1=" + hexMAC(oldSecret, stampTime, ".", orderBody)), nil},
		{"in the other way", stamp("ts=" + stampTime + ";h1=" + hexMAC(newSecret, stampTime, ":", orderBody)), nil},
		{"the tolerance", later(5 * time.Minute), nil},
		{"stale", later(5*time.Minute + time.Nanosecond), intake.ErrStale},
		{"future", later(-5*time.Minute - time.Nanosecond), intake.ErrStale},
		{"replayed with a new time", stamp("t=1700000400,v1=" + good), intake.ErrUnverified},
		{"wrong secret", stamp("t=" + stampTime + ",v1=" + hexMAC(strange, stampTime, ".", orderBody)), intake.ErrUnverified},
		{"empty secret", stamp("t=" + stampTime + ",v1=" + hexMAC("", stampTime, ".", orderBody)), intake.ErrUnverified},
		{"forged", stamp("t=" + stampTime + ",v1=" + zeros), intake.ErrUnverified},
		{"of the body alone", stamp("t=" + stampTime + ",v1=" + hexMAC(newSecret, orderBody)), intake.ErrUnverified},
		{"altered body", body(strings.Replace(orderBody, "cs_1", "cs_2", 1)), intake.ErrUnverified},
		{"good in v0 alone", stamp("t=" + stampTime + ",v0=" + good), intake.ErrUnverified},
	}
}

// stampHeaders are about how the header is written. Some are signed as they
// stand.
func stampHeaders() []attack {
	good, zeros := signStamp(stampTime), strings.Repeat("0", 64)
	return []attack{
		{"no time", stamp("v1=" + good), intake.ErrUnverified},
		{"no signature", stamp("t=" + stampTime), intake.ErrUnverified},
		{"empty time", stamp("t=,v1=" + good), intake.ErrUnverified},
		{"empty signature", stamp("t=" + stampTime + ",v1="), intake.ErrUnverified},
		{"two times", stamp("t=" + stampTime + ",t=" + stampTime + ",v1=" + good), intake.ErrUnverified},
		{"an empty time first", stamp("t=,t=" + stampTime + ",v1=" + good), intake.ErrUnverified},
		{"truncated signature", stamp("t=" + stampTime + ",v1=" + good[:62]), intake.ErrUnverified},
		{"a truncated one beside", stamp("t=" + stampTime + ",v1=" + good + ",v1=" + good[:32]), intake.ErrUnverified},
		{"time with a sign", stamp("t=+" + stampTime + ",v1=" + signStamp("+"+stampTime)), intake.ErrUnverified},
		{"time with a zero", stamp("t=0" + stampTime + ",v1=" + signStamp("0"+stampTime)), intake.ErrUnverified},
		{"time in hex", stamp("t=0x6553f100,v1=" + signStamp("0x6553f100")), intake.ErrUnverified},
		{"time in milliseconds", stamp("t=" + stampTime + "000,v1=" + signStamp(stampTime+"000")), intake.ErrUnverified},
		{"time in other digits", stamp("t=١٧٠٠٠٠٠٠٠٠,v1=" + signStamp("١٧٠٠٠٠٠٠٠٠")), intake.ErrUnverified},
		{"names in upper case", stamp("T=" + stampTime + ",V1=" + good), intake.ErrUnverified},
		{"spaces", stamp("t=" + stampTime + ", v1=" + good), intake.ErrUnverified},
		{"separators mixed", stamp("t=" + stampTime + ";v1=" + good), intake.ErrUnverified},
		{"joined otherwise than signed", stamp("ts=" + stampTime + ";h1=" + good), intake.ErrUnverified},
		{"no name", stamp("t=" + stampTime + ",=x,v1=" + good), intake.ErrUnverified},
		{"no value", stamp("t=" + stampTime + ",v1=" + good + ",x"), intake.ErrUnverified},
		{"comma at the end", stamp("t=" + stampTime + ",v1=" + good + ","), intake.ErrUnverified},
		{"missing header", remove(stampHeader), intake.ErrUnverified},
		{"empty header", stamp(""), intake.ErrUnverified},
		{"duplicated header", add(stampHeader, "t="+stampTime+",v1="+good), intake.ErrUnverified},
		{"joined by a proxy", stamp("t=" + stampTime + ",v1=" + good + ", t=" + stampTime + ",v1=" + good), intake.ErrUnverified},
		{"very many signatures", stamp("t=" + stampTime + strings.Repeat(",v1="+zeros, 100) + ",v1=" + good), intake.ErrUnverified},
	}
}

func TestStamp(t *testing.T) {
	good := stampRequest(1_700_000_000, "t="+stampTime+",v1="+hexMAC(newSecret, stampTime, ".", orderBody))
	run(t, open(t, stamped(), newSecret+"\n"+oldSecret), good, slices.Concat(stampSignatures(), stampHeaders()))
	run(t, open(t, stamped(), oldSecret), good, []attack{{"secret removed", nothing, intake.ErrUnverified}})
	d := stamped()
	d.Webhook.Tolerance = time.Second
	run(t, open(t, d, newSecret), good, []attack{
		{"one second", later(time.Second), nil}, {"two seconds", later(2 * time.Second), intake.ErrStale}, {"two ahead", later(-2 * time.Second), intake.ErrStale},
	})
}
