package intake_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

// The vector that the libraries of Standard Webhooks share.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorBody      = `{"test": 2432232314}`

	otherSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	forgery     = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
)

func standard() enquiry.Definition {
	return shop(enquiry.Webhook{Scheme: enquiry.Standard, OrderPath: "test"})
}

func standardRequest() request {
	r := request{header: http.Header{}, body: vectorBody, now: time.Unix(vectorTime, 0)}
	r.header.Set("webhook-id", vectorID)
	r.header.Set("webhook-timestamp", "1614265330")
	r.header.Set("webhook-signature", vectorSignature)
	return r
}

// standardSignatures are about what was signed, and by whom.
func standardSignatures() []attack {
	sig := "Webhook-Signature"
	return []attack{
		{"the vector", nothing, nil},
		{"to the second of the tolerance", later(5 * time.Minute), nil},
		{"stale", later(5*time.Minute + time.Millisecond), intake.ErrStale},
		{"future", later(-5*time.Minute - time.Millisecond), intake.ErrStale},
		{"forged", set(sig, forgery), intake.ErrUnverified},
		{"forged and stale", func(r *request) { later(time.Hour)(r); set(sig, forgery)(r) }, intake.ErrUnverified},
		{"wrong secret", set(sig, signStandard(otherSecret, vectorID+".1614265330."+vectorBody)), intake.ErrUnverified},
		{"one of several", set(sig, forgery+" v2,"+forgery[3:]+" v1a,hnO3-_8T== "+vectorSignature+" "+forgery), nil},
		{"several, none of them good", set(sig, forgery+" "+forgery), intake.ErrUnverified},
		{"altered body", body(`{"test": 2432232315}`), intake.ErrUnverified},
		{"body with a line end more", body(vectorBody + "\n"), intake.ErrUnverified},
		{"no body", body(""), intake.ErrUnverified},
	}
}

// standardTimes are about time and ID. Some are signed as they stand.
func standardTimes() []attack {
	id, at := "Webhook-Id", "Webhook-Timestamp"
	signed := func(id, at, body string) func(*request) {
		return func(r *request) {
			r.body = body
			r.header.Set("Webhook-Id", id)
			r.header.Set("Webhook-Timestamp", at)
			r.header.Set("Webhook-Signature", signStandard(vectorSecret, id+"."+at+"."+body))
		}
	}
	return []attack{
		{"altered ID", set(id, vectorID+"x"), intake.ErrUnverified},
		{"altered time", set(at, "1614265331"), intake.ErrUnverified},
		{"time with a sign", set(at, "+1614265330"), intake.ErrUnverified},
		{"time with a zero", set(at, "01614265330"), intake.ErrUnverified},
		{"time with a fraction", set(at, "1614265330.0"), intake.ErrUnverified},
		{"time with a space", set(at, "1614265330 "), intake.ErrUnverified},
		{"time too long", set(at, "1614265330000"), intake.ErrUnverified},
		{"signed time 0", signed("x", "0", vectorBody), intake.ErrUnverified},
		{"signed time below 0", signed("x", "-1", vectorBody), intake.ErrUnverified},
		{"signed time of the year 33658", signed("x", "999999999999", vectorBody), intake.ErrStale},
		{"signed ID with a full stop", signed("a.1", "1614265330", vectorBody), intake.ErrUnverified},
		{"full stops moved from the body", signed("a", "1614265330", `1614265330.{"test":1}`), intake.ErrUnreadable},
	}
}

// standardHeaders are about how the headers are written.
func standardHeaders() []attack {
	id, at, sig := "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"
	return []attack{
		{"no ID", remove(id), intake.ErrUnverified},
		{"no time", remove(at), intake.ErrUnverified},
		{"no signature", remove(sig), intake.ErrUnverified},
		{"empty ID", set(id, ""), intake.ErrUnverified},
		{"empty signature", set(sig, ""), intake.ErrUnverified},
		{"version alone", set(sig, "v1,"), intake.ErrUnverified},
		{"two IDs", add(id, vectorID), intake.ErrUnverified},
		{"two times", add(at, "1614265330"), intake.ErrUnverified},
		{"two signatures", add(sig, vectorSignature), intake.ErrUnverified},
		{"an empty header before", func(r *request) { r.header[sig] = []string{"", vectorSignature} }, intake.ErrUnverified},
		{"headers joined by a proxy", set(sig, vectorSignature+", "+vectorSignature), intake.ErrUnverified},
		{"something after a second comma", set(sig, vectorSignature+",x"), intake.ErrUnverified},
		{"truncated signature", set(sig, vectorSignature[:len(vectorSignature)-4]), intake.ErrUnverified},
		{"signature without padding", set(sig, strings.TrimSuffix(vectorSignature, "=")), intake.ErrUnverified},
		{"another version", set(sig, "v2"+vectorSignature[2:]), intake.ErrUnverified},
		{"version in upper case", set(sig, "V1"+vectorSignature[2:]), intake.ErrUnverified},
		{"two spaces", set(sig, forgery+"  "+vectorSignature), intake.ErrUnverified},
		{"very many signatures", set(sig, strings.Repeat(forgery+" ", 1000)+vectorSignature), intake.ErrUnverified},
		{"very long ID", set(id, strings.Repeat("x", 257)), intake.ErrUnverified},
		{"ID that is no ASCII", set(id, "msg_ü"), intake.ErrUnverified},
	}
}

// signStandard signs without the library.
func signStandard(secret, content string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return "no secret"
	}
	return "v1," + base64.StdEncoding.EncodeToString(mac(string(key), content))
}

func TestStandard(t *testing.T) {
	run(t, open(t, standard(), vectorSecret), standardRequest, slices.Concat(standardSignatures(), standardTimes(), standardHeaders()))
}

func TestStandardRotation(t *testing.T) {
	both, one := open(t, standard(), otherSecret+"\n"+vectorSecret+"\n"), open(t, standard(), otherSecret)
	run(t, both, standardRequest, []attack{{"old secret, still listed", nothing, nil}})
	run(t, one, standardRequest, []attack{{"old secret, removed", nothing, intake.ErrUnverified}})
}

// The library that providers sign with agrees, at any time.
func TestStandardAgreesWithTheLibrary(t *testing.T) {
	h := open(t, standard(), vectorSecret)
	hook, err := standardwebhooks.NewWebhook(vectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{time.Unix(1, 0), time.Now(), time.Unix(1<<33, 0)} {
		signature, err := hook.Sign("msg_1", at, []byte(vectorBody))
		if err != nil {
			t.Fatal(err)
		}
		r := standardRequest()
		r.now = at
		r.header.Set("webhook-id", "msg_1")
		r.header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		r.header.Set("webhook-signature", signature)
		if order, err := r.at(h); err != nil || order.ID != "2432232314" {
			t.Errorf("%s: %v, %v", at, order, err)
		}
	}
}

func TestStandardTolerance(t *testing.T) {
	d := standard()
	d.Webhook.Tolerance = 24 * time.Hour
	run(t, open(t, d, vectorSecret), standardRequest, []attack{
		{"a day", later(24 * time.Hour), nil}, {"more than a day", later(24*time.Hour + time.Second), intake.ErrStale},
		{"a day ahead", later(-24 * time.Hour), nil}, {"no clock", func(r *request) { r.now = time.Time{} }, intake.ErrStale},
	})
}
