package decode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"formledger/handlers/decode"
	"formledger/ledger/enquiry"
)

const (
	jsonType = "application/json"
	urlType  = "application/x-www-form-urlencoded"
	partType = "multipart/form-data; boundary=b"
)

// part writes one part of a body whose boundary is b.
func part(header, value string) string {
	return "--b\r\n" + header + "\r\n\r\n" + value + "\r\n"
}

func formData(name string) string { return `Content-Disposition: form-data; name="` + name + `"` }

const file = `; filename="cv.pdf"`

var refusedBodies = []struct {
	name, contentType, body string
	kind                    error
	says                    string
}{
	{"no type", "", "a=1", decode.ErrMediaType, "missing or malformed"},
	{"broken type", "application/json;=", "{}", decode.ErrMediaType, "missing or malformed"},
	{"text", "text/plain", "a=1", decode.ErrMediaType, "application/json, application/x-www-form-urlencoded or multipart/form-data"},
	{"xml", "application/xml", "<a/>", decode.ErrMediaType, "not taken"},
	{"json suffix", "application/ld+json", "{}", decode.ErrMediaType, "not taken"},
	{"latin-1", "application/json; charset=iso-8859-1", "{}", decode.ErrMediaType, "charset=utf-8"},
	{"latin-1 form", urlType + "; charset=windows-1252", "a=1", decode.ErrMediaType, "charset=utf-8"},

	{"empty", jsonType, " \n", decode.ErrMalformed, "The body is empty"},
	{"cut off", jsonType, `{"a":"b"`, decode.ErrMalformed, "malformed or cut off"},
	{"no comma", jsonType, `{"a":"b" "c":"d"}`, decode.ErrMalformed, "malformed"},
	{"comma at the end", jsonType, `{"a":"b",}`, decode.ErrMalformed, "malformed"},
	{"comment", jsonType, `{"a":"b"/**/}`, decode.ErrMalformed, "malformed"},
	{"array", jsonType, `[{"a":1}]`, decode.ErrMalformed, "must be one object"},
	{"string", jsonType, `"a"`, decode.ErrMalformed, "must be one object"},
	{"null", jsonType, `null`, decode.ErrMalformed, "must be one object"},
	{"nested object", jsonType, `{"a":{"b":1}}`, decode.ErrMalformed, `The field "a" holds a nested value`},
	{"nested array", jsonType, `{"a":[1,[2]]}`, decode.ErrMalformed, "nested"},
	{"object in array", jsonType, `{"a":[{}]}`, decode.ErrMalformed, "nested"},
	{"deep", jsonType, `{"a":` + strings.Repeat("[", 1<<20), decode.ErrMalformed, "nested"},
	{"deep outside", jsonType, strings.Repeat("[", 1<<20), decode.ErrMalformed, "one object"},
	{"twice", jsonType, `{"a":"1","b":"","a":"2"}`, decode.ErrMalformed, `the key "a" twice`},
	{"twice, one null", jsonType, `{"a":null,"\u0061":"2"}`, decode.ErrMalformed, `the key "a" twice`},
	{"trailing object", jsonType, `{"a":"1"}{"b":"2"}`, decode.ErrMalformed, "Something follows"},
	{"trailing text", jsonType, `{"a":"1"} x`, decode.ErrMalformed, "Something follows"},
	{"trailing brace", jsonType, `{"a":"1"}}`, decode.ErrMalformed, "Something follows"},
	{"invalid UTF-8", jsonType, "{\"a\":\"\xff\"}", decode.ErrMalformed, "not UTF-8"},
	{"UTF-16", jsonType, "\xff\xfe{\x00}\x00", decode.ErrMalformed, "not UTF-8"},
	{"high surrogate", jsonType, `{"a":"\ud83d"}`, decode.ErrMalformed, "surrogate"},
	{"low surrogate", jsonType, `{"a":"\uDE00\ud83d"}`, decode.ErrMalformed, "surrogate"},
	{"surrogate in a key", jsonType, `{"\\\ud83dx":"a"}`, decode.ErrMalformed, "surrogate"},
	{"two high ones", jsonType, `{"a":"\ud83d\ud83d\ude00"}`, decode.ErrMalformed, "surrogate"},
	{"broken escape", jsonType, `{"a":"\u12"}`, decode.ErrMalformed, "malformed"},
	{"control in string", jsonType, "{\"a\":\"\x00\"}", decode.ErrMalformed, "malformed"},
	{"10,000 keys", jsonType, "{" + numbered(10_000, `"f%d":1`, ",") + "}", decode.ErrTooManyFields, "at most 100"},
	{"10,000 values", jsonType, `{"a":[1` + strings.Repeat(",1", 9_999) + `]}`, decode.ErrTooManyFields, "at most 1000"},

	{"broken escape", urlType, "a=1&b=%4", decode.ErrMalformed, `The field "b" has a broken %-escape`},
	{"no hex", urlType, "a=%zz", decode.ErrMalformed, "broken %-escape"},
	{"broken name", urlType, "%=1", decode.ErrMalformed, "The name of a field"},
	{"invalid UTF-8", urlType, "a=%ff", decode.ErrMalformed, "not UTF-8"},
	{"raw invalid UTF-8", urlType, "a=\xe9", decode.ErrMalformed, "not UTF-8"},
	{"invalid name", urlType, "%c3=1", decode.ErrMalformed, "not UTF-8"},
	{"10,000 fields", urlType, numbered(10_000, "f%d=1", "&"), decode.ErrTooManyFields, "at most 100"},
	{"10,000 values", urlType, strings.Repeat("a=1&", 10_000), decode.ErrTooManyFields, "at most 1000"},

	{"no boundary", "multipart/form-data", "--b--", decode.ErrMalformed, "no boundary"},
	{"empty", partType, "", decode.ErrMalformed, "cut off"},
	{"other boundary", partType, "--c\r\n" + formData("a") + "\r\n\r\n1\r\n--c--", decode.ErrMalformed, "cut off"},
	{"cut off", partType, part(formData("a"), "1"), decode.ErrMalformed, "cut off"},
	{"cut off in the header", partType, "--b\r\n" + formData("a") + "\r\n--b--", decode.ErrMalformed, "malformed"},
	{"preamble", partType, "lost words\r\n" + part(formData("a"), "1") + "--b--\r\n", decode.ErrMalformed, "does not match"},
	{"epilogue", partType, part(formData("a"), "1") + "--b--\r\nlost words", decode.ErrMalformed, "does not match"},
	{"file", partType, part(formData("cv")+file, "%PDF") + "--b--", decode.ErrMalformed, `Files are not taken, and the field "cv" holds one`},
	{"empty file with a name", partType, part(formData("cv")+file, "") + "--b--", decode.ErrMalformed, "Files are not taken"},
	{"file without a name", partType, part(formData("cv")+`; filename=""`, "x") + "--b--", decode.ErrMalformed, "Files are not taken"},
	{"file in the long form", partType, part(formData("cv")+`; filename*=utf-8''x`, "") + "--b--", decode.ErrMalformed, "Files are not taken"},
	{"no disposition", partType, part("X-A: b", "1") + "--b--", decode.ErrMalformed, "no field name"},
	{"attachment", partType, part(`Content-Disposition: attachment; name="a"`, "1") + "--b--", decode.ErrMalformed, "no field name"},
	{"no name", partType, part("Content-Disposition: form-data", "1") + "--b--", decode.ErrMalformed, "no field name"},
	{"two names", partType, part(formData("a")+"; name=b", "1") + "--b--", decode.ErrMalformed, "no field name"},
	{"two dispositions", partType, part(formData("a")+"\r\n"+formData("b"), "1") + "--b--", decode.ErrMalformed, "repeated"},
	{"base64", partType, part(formData("a")+"\r\nContent-Transfer-Encoding: base64", "MQ==") + "--b--", decode.ErrMalformed, "transfer encoding"},
	{"quoted-printable", partType, part(formData("a")+"\r\nContent-Transfer-Encoding: Quoted-Printable", "=31") + "--b--", decode.ErrMalformed, "transfer encoding"},
	{"latin-1 part", partType, part(formData("a")+"\r\nContent-Type: text/plain; charset=latin1", "1") + "--b--", decode.ErrMalformed, "not UTF-8"},
	{"broken part type", partType, part(formData("a")+"\r\nContent-Type: text/plain;=", "1") + "--b--", decode.ErrMalformed, "malformed Content-Type"},
	{"long header", partType, part(formData("a")+"\r\nX-A: "+strings.Repeat("x", 9_000), "1") + "--b--", decode.ErrMalformed, "too long"},
	{"many headers", partType, part(formData("a")+strings.Repeat("\r\nX-A: b", 20_000), "1") + "--b--", decode.ErrMalformed, "malformed"},
	{"invalid UTF-8", partType, part(formData("a"), "\xff") + "--b--", decode.ErrMalformed, "not UTF-8"},
	{"101 fields", partType, numbered(101, part(formData("f%d"), "1"), "") + "--b--", decode.ErrTooManyFields, "at most 100"},
	{"10,000 parts", partType, strings.Repeat(part(formData("a"), ""), 10_000) + "--b--", decode.ErrTooManyFields, "at most 1000"},
}

func TestRefused(t *testing.T) {
	for _, c := range refusedBodies {
		t.Run(c.contentType+" "+c.name, func(t *testing.T) {
			raw, err := decode.Body(c.contentType, []byte(c.body), decode.Limits{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v: %s", err, c.kind, c.says)
			}
			if len(raw.Names()) > 0 {
				t.Errorf("fields beside an error: %v", raw)
			}
		})
	}
}

// numbered repeats a format n times, with the numbers from 0.
func numbered(n int, format, separator string) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(fields, separator)
}

var takenBodies = []struct{ name, contentType, body, want string }{
	{"all scalars", "Application/JSON; charset=UTF-8", ` {"s":"a","n":-1.50E+2,"t":true,"f":false,"z":null,"l":["x",1,null,false],"e":[]} `,
		`s="a" n="-1.50E+2" t="true" f="false" l="x","1","false"`},
	{"large number", jsonType, `{"n":123456789012345678901234567890.10}`, `n="123456789012345678901234567890.10"`},
	{"pair of surrogates", jsonType, `{"a":"\\ud83d \ud83d\ude00\\"}`, `a="\\ud83d 😀\\"`},
	{"case variants", jsonType, `{"email":"a","Email":"b"}`, `email="a" Email="b"`},
	{"empty object", jsonType, `{}`, ``},
	{"NUL, for normalization to refuse", jsonType, `{"a":"\u0000"}`, `a="\x00"`},

	{"empty", urlType, "", ``},
	{"spaces and escapes", urlType + "; charset=utf-8", "a+b=c+d%2B%26%3d&x=1&x=&y", `a b="c d+&=" x="1","" y=""`},
	{"empty pairs", urlType, "&&a=1&", `a="1"`},
	{"semicolon separates nothing", urlType, "a=1;b=2", `a="1;b=2"`},
	{"equals sign in a value", urlType, "a=b=c", `a="b=c"`},
	{"raw UTF-8", urlType, "ä=😀", `ä="😀"`},
	{"no name", urlType, "=x", `="x"`},

	{"fields", partType, part(formData("a"), "1\r\n2") + part(formData("ä"), "😀") + part(formData("a"), "") + "--b--\r\n", `a="1\r\n2","" ä="😀"`},
	{"file input left empty", partType, part(formData("cv")+"; filename=\"\"\r\nContent-Type: application/octet-stream", "") + part(formData("a"), "1") + "--b--\r\n", `a="1"`},
	{"headers of some clients", partType, part(formData("a")+"\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: 8bit", "1") + "--b--", `a="1"`},
	{"quotes in a name", partType, part(formData(`a\"b`), "1") + part(formData("a%22b"), "2") + "--b--", `a"b="1" a%22b="2"`},
	{"line break before the first boundary", partType, "\r\n" + part(formData("a"), "1") + "--b--", `a="1"`},
	{"no part", partType, "--b--\r\n", ``},
	{"boundary in quotes", `multipart/form-data; boundary="b"`, part(formData("a"), "1\r\n-b") + "--b--", `a="1\r\n-b"`},
}

func TestTaken(t *testing.T) {
	for _, c := range takenBodies {
		t.Run(c.contentType+" "+c.name, func(t *testing.T) {
			raw, err := decode.Body(c.contentType, []byte(c.body), decode.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := show(raw); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func show(raw enquiry.Raw) string {
	var fields []string
	for _, name := range raw.Names() {
		var values []string
		for _, v := range raw.Values(name) {
			values = append(values, fmt.Sprintf("%q", v))
		}
		fields = append(fields, name+"="+strings.Join(values, ","))
	}
	return strings.Join(fields, " ")
}

func TestErrorsEchoNoContent(t *testing.T) {
	for contentType, body := range map[string]string{
		jsonType: `{"a":"secret"`, urlType: "a=secret%", partType: part(formData("a")+`; filename="secret"`, "secret") + "--b--",
	} {
		if _, err := decode.Body(contentType, []byte(body), decode.Limits{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", contentType, err)
		}
	}
	name := strings.Repeat("n", 200) + "\u202e"
	_, err := decode.Body(urlType, []byte(name+"=%"), decode.Limits{})
	if len(err.Error()) > 250 || strings.Contains(err.Error(), "\u202e") {
		t.Error(err)
	}
}

// TestVectors decodes the bodies of the golden vectors: what one encoding
// gives, the others give too, and all give the bytes that are hashed.
func TestVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name, JSON, URLEncoded, Multipart string
			Fields                            [][]string
		}
	}
	data, err := os.ReadFile("../../ledger/enquiry/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	form := vectorForm(t)
	for _, v := range file.Vectors {
		for contentType, body := range map[string]string{
			jsonType: v.JSON, urlType: v.URLEncoded, "multipart/form-data; boundary=vector": v.Multipart,
		} {
			raw, err := decode.Body(contentType, []byte(body), decode.Limits{})
			if err != nil {
				t.Errorf("%s, %s: %v", v.Name, contentType, err)
				continue
			}
			e, _ := form.Normalize(raw)
			if d := cmp.Diff(v.Fields, listOf(e), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", v.Name, contentType, d)
			}
		}
	}
}

func vectorForm(t testing.TB) *enquiry.Form {
	t.Helper()
	var d enquiry.Definition
	if _, err := toml.DecodeFile("../../ledger/enquiry/testdata/form.toml", &d); err != nil {
		t.Fatal(err)
	}
	form, faults := enquiry.Compile(d)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return form
}

func listOf(e enquiry.Enquiry) [][]string {
	var list [][]string
	for _, v := range e.Fields {
		list = append(list, append([]string{v.Name}, v.Values...))
	}
	return list
}
