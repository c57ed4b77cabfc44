package intake_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

// plainVectors were computed with openssl and Python's hmac, but for GitHub's,
// which its documentation gives.
var plainVectors = []struct {
	like, header, encoding, secret, body, signature string
	want                                            error
}{
	{"creem", "creem-signature", "", "creem_secret_0123456789", orderBody,
		"4d7b81e6d2c707a9160a84024ac883b714346d56c9186aa6203c8ff0587287d9", nil},
	{"shopify", "X-Shopify-Hmac-Sha256", "base64", "shpss_0123456789abcdef0123456789abcdef", orderBody,
		"M2WDncmOP9ASg0c8D3QFr1wEMmrpG+NKmBP8o8E3G2o=", nil},
	{"github", "X-Hub-Signature-256", "hex", "It's a Secret to Everybody", "Hello, World!",
		"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", intake.ErrUnreadable},
}

func TestPlainVectors(t *testing.T) {
	for _, v := range plainVectors {
		t.Run(v.like, func(t *testing.T) {
			h := open(t, shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: v.header, Encoding: v.encoding}), "# of "+v.like+"\n\n"+v.secret+"\r\n")
			good := func() request {
				r := request{header: http.Header{}, body: v.body, now: time.Unix(1, 0)}
				r.header.Set(v.header, v.signature)
				return r
			}
			run(t, h, good, []attack{
				{"as signed", nothing, v.want},
				{"years later", later(100_000 * time.Hour), v.want},
				{"altered body", body(v.body + " "), intake.ErrUnverified},
				{"not JSON and not signed", body("{"), intake.ErrUnverified},
			})
		})
	}
}

const hubHeader = "X-Signature"

func plainRequest() request {
	r := request{header: http.Header{}, body: orderBody, now: time.Unix(1, 0)}
	r.header.Set(hubHeader, hexMAC(newSecret, orderBody))
	return r
}

func plainAttacks() []attack {
	good := hexMAC(newSecret, orderBody)
	return []attack{
		{"good", nothing, nil},
		{"with prefix", set(hubHeader, "sha256="+good), nil},
		{"upper-case hex, the same 32 bytes", set(hubHeader, strings.ToUpper(good)), nil},
		{"old secret", set(hubHeader, hexMAC(oldSecret, orderBody)), nil},
		{"wrong secret", set(hubHeader, hexMAC(strange, orderBody)), intake.ErrUnverified},
		{"empty secret", set(hubHeader, hexMAC("", orderBody)), intake.ErrUnverified},
		{"comment as a secret", set(hubHeader, hexMAC("# rotated last spring", orderBody)), intake.ErrUnverified},
		{"both secrets in a row", set(hubHeader, hexMAC(newSecret+"\n"+oldSecret, orderBody)), intake.ErrUnverified},
		{"forged", set(hubHeader, strings.Repeat("0", 64)), intake.ErrUnverified},
		{"altered body", body(strings.Replace(orderBody, "cs_1", "cs_2", 1)), intake.ErrUnverified},
		{"no body", body(""), intake.ErrUnverified},
		{"altered signature", change(hubHeader, func(s string) string { return s[:63] + string(s[63]^1) }), intake.ErrUnverified},
		{"truncated signature", set(hubHeader, good[:62]), intake.ErrUnverified},
		{"signature of odd length", set(hubHeader, good[:63]), intake.ErrUnverified},
		{"longer signature", set(hubHeader, good+"00"), intake.ErrUnverified},
		{"empty signature", set(hubHeader, ""), intake.ErrUnverified},
		{"prefix alone", set(hubHeader, "sha256="), intake.ErrUnverified},
		{"two prefixes", set(hubHeader, "sha256=sha256="+good), intake.ErrUnverified},
		{"another hash", set(hubHeader, "sha1="+good[:40]), intake.ErrUnverified},
		{"base64", set(hubHeader, base64.StdEncoding.EncodeToString(mac(newSecret, orderBody))), intake.ErrUnverified},
		{"missing header", remove(hubHeader), intake.ErrUnverified},
		{"header of another name", func(r *request) { remove(hubHeader)(r); set("X-Signature-2", good)(r) }, intake.ErrUnverified},
		{"duplicated header", add(hubHeader, good), intake.ErrUnverified},
		{"a good one after a bad one", func(r *request) { r.header[hubHeader] = []string{"00", good} }, intake.ErrUnverified},
		{"joined by a proxy", set(hubHeader, good+", "+good), intake.ErrUnverified},
		{"with a space", set(hubHeader, good+" "), intake.ErrUnverified},
		{"very long", set(hubHeader, strings.Repeat(good, 100)), intake.ErrUnverified},
	}
}

func TestPlain(t *testing.T) {
	d := shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: hubHeader})
	h := open(t, d, newSecret+"\n# rotated last spring\n"+oldSecret+"\n")
	run(t, h, plainRequest, plainAttacks())
	run(t, open(t, d, oldSecret), plainRequest, []attack{{"secret not there", nothing, intake.ErrUnverified}})
}

// base64 of a MAC ends in two bits that are nothing; only zeros are taken.
func TestPlainBase64(t *testing.T) {
	d := shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: hubHeader, Encoding: "base64"})
	good := base64.StdEncoding.EncodeToString(mac(newSecret, orderBody))
	last := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", good[42])
	sloppy := good[:42] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[last+1]) + "="
	run(t, open(t, d, newSecret), plainRequest, []attack{
		{"good", set(hubHeader, good), nil},
		{"with prefix", set(hubHeader, "sha256="+good), nil},
		{"without padding", set(hubHeader, good[:43]), intake.ErrUnverified},
		{"other bits at the end", set(hubHeader, sloppy), intake.ErrUnverified},
		{"lower case", set(hubHeader, strings.ToLower(good)), intake.ErrUnverified},
		{"truncated", set(hubHeader, good[:40]), intake.ErrUnverified},
		{"with a line end", set(hubHeader, good[:42]+"\n"+good[42:]), intake.ErrUnverified},
		{"hex", nothing, intake.ErrUnverified},
	})
}

// A replay is the same order, whose ID is known by then.
func TestReplayIsTheSameOrder(t *testing.T) {
	h := open(t, shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: hubHeader}), newSecret)
	first, err := plainRequest().at(h)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plainRequest().at(h)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(first) || again.ID != "cs_1" {
		t.Errorf("got %v, %v; want %v", again, err, first)
	}
}
