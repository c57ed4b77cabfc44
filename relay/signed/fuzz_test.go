package signed

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func FuzzSignatureInput(f *testing.F) {
	w := newWire(f)
	input, signature := w.request.Header.Get("Signature-Input"), w.request.Header.Get("Signature")
	f.Add(input, signature)
	f.Add(input, "")
	f.Add("", signature)
	f.Add(w.answer.Get("Signature-Input"), w.answer.Get("Signature"))
	f.Add(input, untidy(signature))
	f.Add(input+" ", signature)
	f.Add(input, signature+" ")
	f.Add(input+", "+input, signature+", "+signature)
	f.Add(strings.ToUpper(input), signature)
	for _, part := range []string{`"@method" `, `;created`, `;expires`, "relay-send", "k1.call", "18000000", "sig1"} {
		f.Add(strings.Replace(input, part, "", 1), signature)
		f.Add(strings.Replace(input, part, part+part, 1), signature)
		f.Add(strings.Replace(input, part, "\""+part, 1), signature)
	}
	f.Fuzz(func(t *testing.T, in, sig string) {
		r := w.request.Clone(t.Context())
		r.Header["Signature-Input"], r.Header["Signature"] = []string{in}, []string{sig}
		o, err := w.open(r)
		if (err == nil) != (in == input && sig == signature) {
			t.Errorf("%v for\n%q\n%q", err, in, sig)
		}
		if err == nil && o.Question != w.question {
			t.Errorf("%+v", o)
		}
	})
}

func FuzzAcknowledgment(f *testing.F) {
	w := newWire(f)
	genuine := []string{}
	for _, name := range signedNames {
		genuine = append(genuine, w.answer.Get(name))
	}
	add := func(status int, change func(v []string), body []byte) {
		v := append([]string{}, genuine...)
		change(v)
		f.Add(status, v[0], v[1], v[2], v[3], body)
	}
	keep := func([]string) {}
	add(200, keep, w.body)
	add(201, keep, w.body)
	add(200, keep, nil)
	add(-1, keep, []byte(`{"status":"accepted"}`))
	add(200, func(v []string) { v[0] += ";charset=utf-8" }, w.body)
	add(200, func(v []string) { v[1] = untidy(v[1]) }, w.body)
	add(200, func(v []string) { v[2] = strings.Replace(v[2], "created=", "created=0", 1) }, w.body)
	add(200, func(v []string) { v[3] = untidy(v[3]) }, w.body)
	add(200, func(v []string) { v[2], v[3] = v[3], v[2] }, w.body)
	answer := Answer{SubmissionID: uuid.Max, PayloadHash: "v1.k1.00", Claim: strings.Repeat("A", 22), Epoch: epoch, Status: StatusAccepted, Receipt: "250 taken"}
	add(200, keep, must1(json.Marshal(answer)))
	add(200, keep, []byte(`{"submission_id":null,"claim":"`+strings.Repeat("A", 22)+`","payload_hash":"x","partly":"x"}`))
	add(200, keep, []byte(`{"status":"refused","Status":"accepted"}{}`))
	f.Fuzz(func(t *testing.T, status int, kind, digest, input, signature string, body []byte) {
		h := http.Header{"Content-Type": {kind}, "Content-Digest": {digest}, "Signature-Input": {input}, "Signature": {signature}}
		is := status == 200 && bytes.Equal(body, w.body) && cmp.Equal([]string{kind, digest, input, signature}, genuine)
		if err := w.keys.VerifyAnswer(status, h, body, w.question, w.now); (err == nil) != is {
			t.Errorf("%v for %d\n%q\n%q", err, status, h, body)
		}
		if a, err := ParseAnswer(body); err == nil {
			if again, err := ParseAnswer(must1(json.Marshal(a))); err != nil || again != a {
				t.Errorf("%+v, %v\n%+v", again, err, a)
			}
			if v := a.tidy().verdict(); len(v.Receipt) > maxAnswerReceipt || len(v.Cause.String()) > 200 {
				t.Errorf("%+v", v)
			}
		}
	})
}

func FuzzCall(f *testing.F) {
	m := message()
	whole := string(must1(json.Marshal(NewMessage(m))))
	f.Add([]byte(whole))
	f.Add(must1(json.Marshal(Inquiry{SubmissionID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim.String(), Epoch: epoch, Peek: true})))
	for _, swap := range [][2]string{
		{`"to":["owner@shop.example"]`, `"to":null`}, {`"to":["owner@shop.example"]`, `"to":[]`}, {"Anna", `\ud800<&>\u2028`}, {"Anna", "\xff"},
		{"12:30:05Z", "12:30:05.123456789+23:59"}, {"2025-03-01", "9999-12-31"}, {"2025-03-01", "0000-01-01"}, {"12:30:05Z", "12:30:05+24:00"},
		{"01890a5d-", "{01890A5D-"}, {`"claim":"`, `"claim":"\n`}, {"{", `{"epoch":"x",`}, {"{", `{"Epoch":"x",`}, {"}", "}}"}, {"}", ""}, {"reply_to", "replyto"},
	} {
		f.Add([]byte(strings.Replace(whole, swap[0], swap[1], 1)))
	}
	f.Add([]byte("null"))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if m, err := ParseMessage(body); err == nil {
			again, err := ParseMessage(must1(json.Marshal(m)))
			if err != nil || !cmp.Equal(m, again, cmp.Comparer(time.Time.Equal)) {
				t.Errorf("%v: %s", err, cmp.Diff(m, again))
			}
			relayed, err := m.Relayed()
			if back := NewMessage(relayed); err != nil || !cmp.Equal(m, back, cmp.Comparer(time.Time.Equal)) {
				t.Errorf("%v: %s", err, cmp.Diff(m, back))
			}
		}
		if q, err := ParseInquiry(body); err == nil {
			if again, err := ParseInquiry(must1(json.Marshal(q))); err != nil || again != q {
				t.Errorf("%+v, %v\n%+v", again, err, q)
			}
		}
	})
}
