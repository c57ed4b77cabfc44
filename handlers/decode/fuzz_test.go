package decode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"formledger/handlers/decode"
	"formledger/ledger/enquiry"
)

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":"b","c":[1,true,null]}`, `{"a":{}}`, `{"a":1,"a":2}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":"\\ud83d"}`,
		`{"a":1}x`, `{"a" 1}`, `{,}`, `{"a":[1,]}`, `[[[[`, "{\"a\":\"\xff\"}", `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		raw, err := decode.Body(jsonType, body, decode.Limits{})
		wellFormed(t, raw, err)
		// What we take must be JSON, and no replacement character may be new.
		if err == nil && !json.Valid(body) {
			t.Errorf("took what is no JSON: %q", body)
		}
		escaped := bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`))
		if err == nil && !escaped && strings.Count(show(raw), "\ufffd") > bytes.Count(body, []byte("\ufffd")) {
			t.Errorf("new replacement characters: %q", body)
		}
	})
}

func FuzzURLEncoded(f *testing.F) {
	for _, seed := range []string{"a=1&b=2&a=3", "a+b=%C3%A4", "%", "a=%f", "a;b=1", "=", "&&", "a=%ff", "a==&"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		raw, err := decode.Body(urlType, body, decode.Limits{})
		wellFormed(t, raw, err)
		// net/url is laxer about nothing but the semicolon, which it refuses.
		if std, stdErr := url.ParseQuery(string(body)); err == nil && stdErr == nil {
			for _, name := range raw.Names() {
				if d := cmp.Diff(std[name], raw.Values(name)); d != "" {
					t.Error(d)
				}
			}
		}
	})
}

func FuzzMultipart(f *testing.F) {
	for _, seed := range []string{
		part(formData("a"), "1") + "--b--\r\n", part(formData("a")+`; filename="x"`, "1") + "--b--", "--b--", "--b\r\n", "",
		part("Content-Disposition: form-data; name*=utf-8''a", "1") + "--b--", "--b\n" + formData("a") + "\n\n1\n--b--",
		part(formData("a")+"\r\nContent-Transfer-Encoding: base64", "MQ==") + "--b--",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		raw, err := decode.Body(partType, body, decode.Limits{})
		wellFormed(t, raw, err)
	})
}

func FuzzContentType(f *testing.F) {
	for _, seed := range []string{"", jsonType, urlType, partType, "multipart/form-data; boundary=\"", "a/b; charset*0=u; charset*1=tf-8"} {
		f.Add(seed, []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		raw, err := decode.Body(contentType, body, decode.Limits{})
		wellFormed(t, raw, err)
	})
}

// wellFormed checks what holds for every answer of Body.
func wellFormed(t *testing.T, raw enquiry.Raw, err error) {
	t.Helper()
	var e *decode.Error
	switch {
	case err != nil && !errors.As(err, &e):
		t.Errorf("not an *Error: %v", err)
	case err != nil && (e.Kind == nil || e.Message == "" || !utf8.ValidString(e.Message) || len(raw.Names()) > 0):
		t.Errorf("unfit error: %q, %v", e.Message, raw)
	case len(raw.Names()) > enquiry.DefaultMaxFields:
		t.Errorf("%d fields", len(raw.Names()))
	}
	for _, name := range raw.Names() {
		if all := name + strings.Join(raw.Values(name), ""); !utf8.ValidString(all) {
			t.Errorf("not UTF-8: %q", all)
		}
	}
}

// FuzzSame encodes the same fields in all three ways, once as JavaScript sends
// them and once as a browser's form does, with CRLF, and other orders of fields
// and choices. Every one gives the same bytes under the MAC.
func FuzzSame(f *testing.F) {
	form := vectorForm(f)
	f.Add("Ada", "a@EXAMPLE.com", "Dear all,\n\nHi 👩\u200d💻\n", "on", "more\ntext")
	f.Add("e\u0301", "info@Bücher.example", "می\u200cخواهم\r\n", "", "\u200b")
	f.Add("a+b&c=d%20;\"\\", "", " \t\n\u00a0", "0", "--b\r\n--b--")
	f.Fuzz(func(t *testing.T, name, email, message, terms, further string) {
		fields := [][]string{{"name", name}, {"email", email}, {"message", message}, {"terms", terms}, {"further", further, name}, {"services", "hosting", "design"}}
		back := [][]string{{"services", "design", "hosting", "design"}, {"further", further, name}, {"terms", terms}, {"message", crlf(message)}, {"email", email}, {"name", name}}
		for _, f := range fields {
			if !utf8.ValidString(strings.Join(f, "")) {
				t.Skip("no client can send it as JSON")
			}
		}
		want, problems := normalized(t, form, jsonType, asJSON(t, fields))
		for _, list := range [][][]string{fields, back} {
			contentType, parts := asMultipart(t, list)
			for contentType, body := range map[string][]byte{jsonType: asJSON(t, list), urlType: asURLEncoded(list), contentType: parts} {
				got, found := normalized(t, form, contentType, body)
				if got != want || found != problems {
					t.Errorf("%s differs:\n got %q %s\nwant %q %s", contentType, got, found, want, problems)
				}
			}
		}
	})
}

// crlf writes line ends as a browser does when it submits a form.
func crlf(s string) string {
	return strings.ReplaceAll(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n", "\r\n")
}

func normalized(t *testing.T, form *enquiry.Form, contentType string, body []byte) (string, string) {
	t.Helper()
	raw, err := decode.Body(contentType, body, decode.Limits{})
	if err != nil {
		t.Fatalf("%s: %v\n%q", contentType, err, body)
	}
	e, problems := form.Check(raw)
	return string(e.Canonical()), fmt.Sprint(problems)
}

func asJSON(t *testing.T, fields [][]string) []byte {
	object := make(map[string]any)
	for _, f := range fields {
		object[f[0]] = f[1:]
		if len(f) == 2 {
			object[f[0]] = f[1]
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func asURLEncoded(fields [][]string) []byte {
	var pairs []string
	for _, f := range fields {
		for _, v := range f[1:] {
			pairs = append(pairs, url.QueryEscape(f[0])+"="+url.QueryEscape(v))
		}
	}
	return []byte(strings.Join(pairs, "&"))
}

func asMultipart(t *testing.T, fields [][]string) (string, []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		for _, v := range f[1:] {
			if err := w.WriteField(f[0], v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}
