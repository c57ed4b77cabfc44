package intake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

// FuzzStamp gives any header of the scheme timestamped. It is taken only if it
// is one of the two ways to write it, and holds a MAC that was made here.
func FuzzStamp(f *testing.F) {
	h := open(f, stamped(), newSecret)
	dot, colon := hexMAC(newSecret, stampTime, ".", orderBody), hexMAC(newSecret, stampTime, ":", orderBody)
	for _, seed := range []string{
		"t=" + stampTime + ",v1=" + dot, "ts=" + stampTime + ";h1=" + colon, "v1=" + dot + ",v0=x,t=" + stampTime, "t=" + stampTime + ";v1=" + dot,
		"ts=" + stampTime + ";h1=" + colon + ";t=" + stampTime + ",v1=" + dot, "t=" + stampTime + ",t=" + stampTime + ",v1=" + dot,
		"t=1,v1=", "", "=", ",", ";", "t=,v1=;ts=;h1=", "t=+1,v1=" + strings.ToUpper(dot),
	} {
		f.Add(seed)
	}
	comma := regexp.MustCompile(`^\w+=[^,;]*(,\w+=[^,;]*)+$`)
	semicolon := regexp.MustCompile(`^\w+=[^;]*(;\w+=[^;]*)+$`)
	f.Fuzz(func(t *testing.T, value string) {
		order, err := stampRequest(1_700_000_000, value)().at(h)
		switch lower := strings.ToLower(value); {
		case err != nil:
			if !errors.Is(err, intake.ErrUnverified) || order.ID != "" {
				t.Errorf("%q: %v, %v", value, order, err)
			}
		case comma.MatchString(value) && strings.Count(","+value, ",t=") == 1 && strings.Contains(","+lower+",", ",v1="+dot+","):
		case semicolon.MatchString(value) && strings.Count(";"+value, ";ts=") == 1 && strings.Contains(";"+lower+";", ";h1="+colon+";"):
		default:
			t.Errorf("%q was taken", value)
		}
	})
}

// FuzzStandard gives any three headers of Standard Webhooks. They are taken only
// with the one time and ID that were signed.
func FuzzStandard(f *testing.F) {
	h := open(f, standard(), vectorSecret)
	f.Add(vectorID, "1614265330", vectorSignature)
	f.Add(vectorID, "+1614265330", forgery+" "+vectorSignature)
	f.Add("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330", "1", vectorSignature+",x")
	f.Add("", "", "v1,")
	f.Fuzz(func(t *testing.T, id, at, signatures string) {
		r := standardRequest()
		r.header = http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signatures}}
		_, err := r.at(h)
		signed := id == vectorID && at == "1614265330" && strings.Contains(" "+signatures+" ", " "+vectorSignature+" ")
		if err == nil && !signed || err != nil && !errors.Is(err, intake.ErrUnverified) {
			t.Errorf("%q %q %q: %v", id, at, signatures, err)
		}
	})
}

// FuzzBody signs any body. What is taken is JSON that encoding/json reads in the
// same way, without a name twice in one object.
func FuzzBody(f *testing.F) {
	for _, body := range unreadableBodies {
		f.Add([]byte(body), "data.object.id")
	}
	for _, path := range []string{"id", "a.0.b", "a.1", "", ".", "a..b", "a.-1", "\xff", "a.00"} {
		f.Add([]byte(`{"id":1e3,"a":[{"b":"x"},true,null,12345678901234567890],"\u0061b":{"0":""}}`), path)
	}
	f.Add([]byte(`{"x":"\ud800"}`), "x")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		d := shop(enquiry.Webhook{Scheme: enquiry.HMAC, Header: hubHeader})
		d.Webhook.OrderPath = path
		compiled, faults := enquiry.Compile(d)
		if len(faults) > 0 {
			return
		}
		h, _ := compileHook(compiled, newSecret, "")
		order, err := signedRequest(string(body)).at(h)
		if err != nil {
			if !errors.Is(err, intake.ErrUnreadable) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if want := lookUp(body, path); order.ID != want {
			t.Errorf("%q at %s: got %q, want %q", body, path, order.ID, want)
		}
		if again, err := json.Marshal(tree(body)); err != nil || members(again) != members(body) {
			t.Errorf("%q has a name twice, and was taken", body)
		}
	})
}

// lookUp reads a body in the usual way.
func lookUp(body []byte, path string) string {
	node := tree(body)
	for step := range strings.SplitSeq(path, ".") {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			i, err := strconv.ParseUint(step, 10, 16)
			if err != nil || int(i) >= len(n) {
				return "nothing"
			}
			node = n[i]
		default:
			return "nothing"
		}
	}
	return fmt.Sprint(node)
}

func tree(body []byte) any {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var node any
	if !json.Valid(body) || dec.Decode(&node) != nil {
		return "not JSON"
	}
	return node
}

// members counts the names in the objects of a body. They get lost when a body
// with a name twice is read into maps. Outside of a string there is one colon
// for each.
func members(body []byte) int {
	count, inside := 0, false
	for i := 0; i < len(body); i++ {
		switch {
		case inside && body[i] == '\\':
			i++
		case body[i] == '"':
			inside = !inside
		case body[i] == ':' && !inside:
			count++
		}
	}
	return count
}
