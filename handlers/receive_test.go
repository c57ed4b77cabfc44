package handlers

import (
	"fmt"
	"strings"
	"testing"

	"formledger/handlers/decode"
	"formledger/ledger/enquiry"
)

// decodeWords is what words sends, decoded.
func decodeWords(id [16]byte) (enquiry.Raw, error) {
	return decode.Body(jsonType, []byte(toJSON(words(id))), decode.Limits{})
}

func TestBadRequestsGetAClearAnswerAndSendNothing(t *testing.T) {
	k := newKit(t)
	id := newID().String()
	deep := strings.Repeat(`{"a":`, 100_000) + `1` + strings.Repeat(`}`, 100_000)
	many := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&many, "f%d=1&", i)
	}
	for name, c := range map[string]struct {
		contentType, content string
		status               int
	}{
		"no media type":        {"", `{}`, 415},
		"plain text":           {"text/plain", `{}`, 415},
		"XML":                  {"application/xml", `<a/>`, 415},
		"1 MB":                 {jsonType, `{"message":"` + strings.Repeat("a", 1<<20) + `"}`, 413},
		"10,000 fields":        {formType, many.String()[:60_000], 413},
		"deep JSON":            {jsonType, deep[:60_000], 400},
		"an array":             {jsonType, `[]`, 400},
		"an object in a field": {jsonType, `{"name":{"a":1}}`, 400},
		"duplicate keys":       {jsonType, `{"name":"a","name":"b"}`, 400},
		"trailing data":        {jsonType, `{} {}`, 400},
		"half a body":          {jsonType, `{"name":`, 400},
		"no body":              {jsonType, ``, 400},
		"invalid UTF-8":        {jsonType, "{\"name\":\"\xff\"}", 400},
		"a lone surrogate":     {jsonType, `{"name":"\ud800"}`, 400},
		"a bad escape":         {formType, "name=%zz", 400},
		"invalid UTF-8, form":  {formType, "name=%ff", 400},
		"no boundary":          {"multipart/form-data", "x", 400},
		"a file":               {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=f; filename=a.txt\r\n\r\nx\r\n--b--\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := k.do("POST", "/f/contact", c.contentType, c.content)
			if r.status != c.status || r.body.Outcome != "" || r.body.Detail == "" || r.body.Type == "" {
				t.Errorf("the answer is %d %s, want %d", r.status, r.text, c.status)
			}
			if r.header.Get("Cache-Control") != "no-store" {
				t.Error("the answer may be stored")
			}
		})
	}
	for name, content := range map[string]string{
		"NUL":            `{"submission_id":"` + id + `","name":"a\u0000b","email":"a@b.example","message":"x"}`,
		"bidi override":  `{"submission_id":"` + id + `","name":"a\u202eb","email":"a@b.example","message":"x"}`,
		"case variant":   `{"submission_id":"` + id + `","Name":"a","email":"a@b.example","message":"x"}`,
		"a second value": `{"submission_id":"` + id + `","name":["a","b"],"email":"a@b.example","message":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := k.do("POST", "/f/contact", jsonType, content)
			r.want(t, 422, Invalid)
			if len(r.body.Errors) != 1 || r.body.Errors[0].Field != "name" {
				t.Errorf("the errors are %+v", r.body.Errors)
			}
		})
	}
	if rows, err := k.ledger.List(t.Context(), ledgerAll); err != nil || len(rows) != 0 {
		t.Errorf("%d rows were recorded, %v", len(rows), err)
	}
	k.wantMails(0)
}

// Every single-line field, and no declared one beside them, tries to add a
// header to the mail.
func TestNoFieldInjectsAHeader(t *testing.T) {
	k := newKit(t)
	for _, field := range []string{"name", "email"} {
		for _, attack := range []string{"a@b.example\r\nBcc: eve@example.net", "a@b.example\nSubject: x", "a@b.example\rX: y"} {
			fields := words(newID())
			fields[field] = attack
			k.post(fields).want(t, 422, Invalid)
		}
	}
	fields := words(newID())
	fields["further\r\nBcc: eve@example.net"] = "x"
	k.post(fields).want(t, 422, Invalid)
	fields = words(newID())
	fields["name"] = "=?utf-8?q?a=0D=0ABcc:_eve@example.net?="
	fields["more"] = "a\r\nBcc: eve@example.net\r\n\r\n.\r\nFrom eve"
	k.post(fields).want(t, 201, Accepted)
	for _, m := range k.mails() {
		for name := range m.Header {
			if !strings.Contains("|Date|Mime-Version|Message-Id|Subject|X-Submission-Reference|From|To|Reply-To|Content-Transfer-Encoding|Content-Type|", "|"+name+"|") {
				t.Errorf("the mail has the header %q", name)
			}
		}
		if to := m.Header.Get("To"); to != "<office@example.com>, <boss@example.com>" {
			t.Errorf("the mail goes to %q", to)
		}
	}
	k.wantMails(1)
}

func TestEveryAddressAndScriptIsTaken(t *testing.T) {
	k := newKit(t)
	for _, address := range []string{"ada+shop@example.org", "ada@bücher.example", "ada@example.photography", "O'Hara@example.ie"} {
		fields := words(newID())
		fields["email"] = address
		k.post(fields).want(t, 201, Accepted)
	}
	for _, text := range []string{"👩‍👩‍👧 hello", "می\u200cخواهم", strings.Repeat("x", 20_000)} {
		fields := words(newID())
		fields["message"] = text
		k.post(fields).want(t, 201, Accepted)
	}
	fields := words(newID())
	fields["message"] = strings.Repeat("x", 20_001)
	k.post(fields).want(t, 422, Invalid)
	k.wantMails(7)
}

func TestTheQueryIsNoPartOfTheForm(t *testing.T) {
	k := newKit(t)
	r := k.do("POST", "/f/contact?email=a@b.example", formType, "name=a&message=b")
	r.want(t, 422, Invalid)
}
