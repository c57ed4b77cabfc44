package enquiry_test

import (
	"fmt"
	"strings"
	"testing"

	"formledger/ledger/enquiry"
)

// problemsOf joins fields and codes, for comparing.
func problemsOf(problems []enquiry.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Field+":"+p.Code)
	}
	return strings.Join(out, " ")
}

// said names a problem's sentences and what stands in them.
func said(p enquiry.Problem) string {
	var out []string
	for _, s := range p.Sentences {
		out = append(out, fmt.Sprint(s.Key, " ", s.Args))
	}
	return strings.Join(out, " ")
}

var refusedText = []struct {
	want   string
	fields [][]string
}{
	{"message:encoding", [][]string{{"message", "a\xffb"}}},
	{"message:control", [][]string{{"message", "a\x00b"}}},
	{"message:control", [][]string{{"message", "a\vb"}}},
	{"name:control", [][]string{{"name", "a\u0085b"}}},
	{"phone:control", [][]string{{"phone", "123\x1b"}}},
	{"message:bidi", [][]string{{"message", "a\u202eb"}}},
	{"name:bidi", [][]string{{"name", "a\u202db"}}},
	{"email:bidi", [][]string{{"email", "\u202aa@example.com"}}},
	{"name:one_line", [][]string{{"name", "Ada\r\nBcc: x@example.com"}}},
	{"email:one_line", [][]string{{"email", "a@example.com\nCc: b@example.com"}}},
	{"phone:one_line", [][]string{{"phone", "1\r2"}}},
	{"budget:one_line", [][]string{{"budget", "small\nlarge"}}},
	{"services:one_line", [][]string{{"services", "design", "a\nb"}}},
	{"terms:one_line", [][]string{{"terms", "a\nb"}}},
	{"website:one_line", [][]string{{"website", "a.com\nb"}}},
	{"day:one_line", [][]string{{"day", "2030-01-01\n1"}}},
	{"name:multiple", [][]string{{"name", "Ada", "", "Ada"}}},
	{"terms:multiple", [][]string{{"terms", "on", "yes"}}},
	{"message:multiple", [][]string{{"message", "a", "b"}}},
	{"extra:encoding", [][]string{{"extra", "\xc3"}}},
	{"extra:bidi", [][]string{{"extra", "ok", "\u202c"}}},
	{"a b :name", [][]string{{"a b ", "x"}}},
	{"a?b:name", [][]string{{"a\nb", "x"}}},
	{"a?:name", [][]string{{"a\u202e", "x"}}},
	{"a?:name", [][]string{{"a\xff", "x"}}},
	{"e\u0301:name", [][]string{{"e\u0301", "x"}}},
	{":name", [][]string{{"", "x"}}},
	{strings.Repeat("n", 100) + "…:name", [][]string{{strings.Repeat("n", 101), "x"}}},
	{"name:control message:bidi zz:control aa:encoding", [][]string{{"zz", "\x01"}, {"aa", "\xff"}, {"message", "\u202e"}, {"name", "\x7f"}}},
	{"", [][]string{{"_x", "\x00"}, {"submission_id", "\xff"}, {"bad\nname", ""}, {"name", "Ada"}}},
}

func TestNormalizeRefuses(t *testing.T) {
	form := vectorForm(t)
	for _, c := range refusedText {
		_, problems := form.Normalize(rawOf(c.fields))
		if got := problemsOf(problems); got != c.want {
			t.Errorf("%q: got %q, want %q", c.fields, got, c.want)
		}
	}
}

func TestNormalizeLimits(t *testing.T) {
	d := good()
	d.MaxFields, d.MaxChars = 3, 4
	form := compile(t, d)
	for want, fields := range map[string][][]string{
		"":                 {{"name", " 👩👩👩👩\u200b "}, {"a", "1"}, {"b", "2"}, {"_c", "3"}, {"submission_id", "4"}},
		":too_many_fields": {{"name", "x"}, {"a", "1"}, {"b", "2"}, {"c", "3"}},
		"name:too_long":    {{"name", "12345"}},
		"x:too_long":       {{"x", "123", "45"}},
	} {
		_, problems := form.Normalize(rawOf(fields))
		if got := problemsOf(problems); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	_, problems := form.Normalize(rawOf([][]string{{"name", "12345"}}))
	if got, want := said(problems[0]), "too_long [label name limit 4]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUndeclaredRefused(t *testing.T) {
	d := good()
	d.Undeclared = "refuse"
	form := compile(t, d)
	_, problems := form.Check(rawOf([][]string{{"Email", "a@example.com"}, {"colour", "red"}, {"empty", " "}}))
	if got, want := problemsOf(problems), "email:required Email:undeclared colour:undeclared"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if got, want := said(problems[1]), "undeclared [name Email] did_you_mean [name email]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLongTextArrivesWhole(t *testing.T) {
	form := vectorForm(t)
	for _, unit := range []string{"x", "👩\u200d💻", "می\u200c", "한"} {
		text := strings.Repeat(unit, 20_000/len([]rune(unit)))
		e, problems := form.Normalize(rawOf([][]string{{"message", text}}))
		if len(problems) > 0 || e.Get("message")[0] != text {
			t.Errorf("%s: %v", unit, problems)
		}
	}
}

func TestLines(t *testing.T) {
	form := vectorForm(t)
	e, _ := form.Normalize(rawOf([][]string{{"zz", "1"}, {"message", "Hi"}, {"aa", "2", "3"}, {"name", "Ada"}}))
	got := fmt.Sprint(form.Lines(e))
	if want := "[{Your name [Ada] false} {message [Hi] false} {aa [2 3] true} {zz [1] true}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRaw(t *testing.T) {
	var raw enquiry.Raw
	raw.Add("b", "1")
	raw.Add("a", "2", "3")
	raw.Add("b", "4")
	raw.Add("none")
	got := fmt.Sprintf("%q %q %q %q %q", raw.Names(), raw.Values("b"), raw.First("a"), raw.Values("none"), raw.First("none"))
	if want := `["b" "a"] ["1" "4"] "2" [] ""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
