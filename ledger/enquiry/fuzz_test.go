package enquiry_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"formledger/ledger/enquiry"
)

// FuzzNormalize gives the same text to every kind and to an undeclared field.
// Nothing panics, and normalizing what came out changes nothing.
func FuzzNormalize(f *testing.F) {
	form := kindForm(f, map[enquiry.Kind]string{
		enquiry.Text: "min=2,max=9|numeric", enquiry.URL: "url|fqdn", enquiry.Textarea: "excludes=x", enquiry.Multi: "max=2,dive,alpha",
	})
	for _, seed := range []string{
		"", "Ada", "on", "two", "a@EXAMPLE.com", "info@Bücher。example", "2030-12-31", "https://example.com/a b",
		" \r\n\ta\u00a0\r\u2028b\u200b\n\u3000\n", "e\u00ad\u0301\u200b\u0327", "\u2000\u2001\u212b\u0344", "\u1112\u200b\u1161\u11ab",
		"\u202a+44\u202c", "می\u200cخواهم", "👩\u200d💻", "a\u0300\u0323\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0323",
		"\xff", "\x00", "x@xn--", "x@a\u0301.ß.example", "\u034f\u0345\u0300",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var raw enquiry.Raw
		for _, field := range form.Def().Fields {
			raw.Add(field.Name, a)
		}
		raw.Add("multi", b)
		raw.Add("further", a, b)
		raw.Add(b, a)
		once, _ := form.Check(raw)
		again, problems := form.Normalize(rawOf(listOf(once)))
		if d := cmp.Diff(once, again); d != "" || len(problems) > 0 {
			t.Errorf("not idempotent: %v\n%s", problems, d)
		}
	})
}

// FuzzCanonical builds any enquiry and reads its canonical bytes back. Bytes
// that can be read back in one way only are never those of two enquiries.
func FuzzCanonical(f *testing.F) {
	f.Add("contact", []byte("\x02\x01ab\x03xyz"))
	f.Add("", []byte{})
	f.Add("a\x00\x00\x00\x01", []byte("\x01\x00\x00\x01\x00\x02\x00\x00"))
	f.Fuzz(func(t *testing.T, name string, plan []byte) {
		e := enquiry.Enquiry{Form: name}
		for len(plan) > 0 {
			v := enquiry.Value{Name: chunk(&plan)}
			for n := len(chunk(&plan)) % 4; n > 0; n-- {
				v.Values = append(v.Values, chunk(&plan))
			}
			e.Fields = append(e.Fields, v)
		}
		back, err := parseCanonical(e.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, back, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}

// chunk takes a length byte, modulo 8, and so many bytes from the plan.
func chunk(plan *[]byte) string {
	if len(*plan) == 0 {
		return ""
	}
	n := min(int((*plan)[0])%8, len(*plan)-1)
	s := string((*plan)[1 : 1+n])
	*plan = (*plan)[1+n:]
	return s
}

var errCanonical = errors.New("not canonical")

// reader reads canonical bytes; what is missing makes err stick.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) count() int {
	if len(r.rest) < 4 {
		r.err = errCanonical
		return 0
	}
	n := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return int(n)
}

func (r *reader) string() string {
	n := r.count()
	if n > len(r.rest) {
		r.err = errCanonical
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func parseCanonical(b []byte) (enquiry.Enquiry, error) {
	r := &reader{rest: b}
	if r.string() != "formledger payload v1" {
		return enquiry.Enquiry{}, errCanonical
	}
	e := enquiry.Enquiry{Form: r.string()}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		v := enquiry.Value{Name: r.string()}
		for m := r.count(); m > 0 && r.err == nil; m-- {
			v.Values = append(v.Values, r.string())
		}
		e.Fields = append(e.Fields, v)
	}
	if len(r.rest) > 0 {
		r.err = errCanonical
	}
	return e, r.err
}
