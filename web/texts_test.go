package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

func loadAll(t *testing.T) *Texts {
	t.Helper()
	texts, err := LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// docs/languages.md tells which languages there are, and which of them nobody has
// reviewed.
func TestTheDocumentationListsTheLanguages(t *testing.T) {
	page, err := os.ReadFile("../docs/languages.md")
	if err != nil {
		t.Fatal(err)
	}
	all := loadAll(t).All()
	for _, l := range all {
		row := regexp.MustCompile("(?m)^\\| `" + l.Lang + "\\.json` \\| [^|]+ \\| (yes|not yet) \\|$").FindSubmatch(page)
		if row == nil || (string(row[1]) == "yes") != l.Reviewed {
			t.Errorf("docs/languages.md says of %s: %q; reviewed is %v", l.Lang, row, l.Reviewed)
		}
	}
	if rows := strings.Count(string(page), ".json` | "); rows != len(all) || rows < 5 {
		t.Errorf("docs/languages.md lists %d languages, of %d", rows, len(all))
	}
}

// No text is blank, padded, or holds what cannot be seen; and a language whose
// letters run from the right says so.
func TestTextsAreFitToBeShown(t *testing.T) {
	for _, l := range loadAll(t).All() {
		right, left := 0, 0
		for key, text := range l.texts {
			if strings.TrimSpace(text) == "" || strings.TrimRight(text, " ") != text || strings.HasPrefix(text, " ") {
				t.Errorf("%s: %s is %q", l.Lang, key, text)
			}
			for _, r := range text {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
					t.Errorf("%s: %s holds %U", l.Lang, key, r)
				}
			}
			bare := placeholder.ReplaceAllString(text, "")
			for _, r := range bare {
				switch p, _ := bidi.LookupString(string(r)); p.Class() {
				case bidi.R, bidi.AL:
					right++
				case bidi.L:
					left++
				}
			}
			if strings.ContainsAny(bare, "{}<>") {
				t.Errorf("%s: %s is %q", l.Lang, key, text)
			}
		}
		if (right > left) != (l.Dir == "rtl") {
			t.Errorf("%s: dir is %s, with %d letters from the right and %d from the left", l.Lang, l.Dir, right, left)
		}
		if n := len(strings.Fields(l.Text("page.months"))); n != 12 {
			t.Errorf("%s: the year has %d months", l.Lang, n)
		}
	}
}

// A browser loads the section client for a language beside its script.
func TestALanguageIsSmallInTheBrowser(t *testing.T) {
	for _, l := range loadAll(t).All() {
		client := map[string]string{}
		for _, key := range l.Keys("client.") {
			client[strings.TrimPrefix(key, "client.")] = l.texts[key]
		}
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		e := json.NewEncoder(z)
		e.SetEscapeHTML(false)
		if err := e.Encode(client); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		if out.Len() > 1024 || len(client) < 20 {
			t.Errorf("%s: %d texts are %d bytes, gzipped", l.Lang, len(client), out.Len())
		}
	}
}

func TestAFaultyFileIsAnError(t *testing.T) {
	good := func(name string) string {
		text, err := fs.ReadFile(textFiles, "texts/"+name+".json")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"a missing text":          {`"copied": "Kopiert",`, ``, "client.copied is missing"},
		"a text too many":         {`"copied": "Kopiert",`, `"copied": "Kopiert", "more": "Mehr",`, "English has no client.more"},
		"an empty text":           {`"Kopiert"`, `""`, "client.copied is missing"},
		"a lost placeholder":      {`in {seconds} s`, `gleich`, "client.next_try has the placeholders [], want [{seconds}]"},
		"a placeholder too many":  {`"Kopiert"`, `"Kopiert {n}"`, "client.copied has the placeholders [{n}], want []"},
		"a misspelt placeholder":  {`{seconds}`, `{sekunden}`, "client.next_try has"},
		"a section that is none":  {`"client"`, `"browser"`, `unknown field "browser"`},
		"another language's name": {`"lang": "de"`, `"lang": "en"`, `says that its language is "en"`},
		"no direction":            {`"ltr"`, `"auto"`, "wants lang, name and dir"},
		"no name":                 {`"Deutsch"`, `""`, "wants lang, name and dir"},
		"no JSON":                 {`{`, ``, "de.json"},
	} {
		text := strings.Replace(good("de"), c.old, c.new, 1)
		files := fstest.MapFS{"texts/en.json": {Data: []byte(good("en"))}, "texts/de.json": {Data: []byte(text)}}
		if _, err := loadTexts(files); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, err := loadTexts(fstest.MapFS{"texts/de.json": {Data: []byte(good("de"))}}); err == nil {
		t.Error("there is no English, and no error")
	}
}

func TestLookup(t *testing.T) {
	texts := loadAll(t)
	for tag, want := range map[string]string{
		"de": "de", "DE": "de", "de-AT": "de", "de_ch": "de", "de-Latn-DE-1996": "de", "fr-CA": "fr", "ar-EG": "ar", "es-419": "es", "en-GB-oxendict": "en",
		"": "", "tlh": "", "und": "", "de-": "", "d": "", "../de": "", "zh-Hant": "", "az-Arab": "", strings.Repeat("de-", 400): "",
	} {
		got := ""
		if l := texts.Lookup(tag); l != nil {
			got = l.Lang
		}
		if got != want {
			t.Errorf("%.50q is %q, want %q", tag, got, want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	texts := loadAll(t)
	for _, c := range []struct {
		preferences []string
		want        string
	}{
		{nil, "en"},
		{[]string{"de-AT, en;q=0.5"}, "de"},
		{[]string{"en;q=0.5, de-AT"}, "de"},
		{[]string{"de;q=0, fr;q=0.1"}, "fr"},
		{[]string{"nl", "", "es"}, "es"},
		{[]string{"*", "fr"}, "fr"},
		{[]string{"nonsense;;;", "ar"}, "ar"},
		{[]string{strings.Repeat("de,", 1000), "ar"}, "ar"},
		{[]string{"ja"}, "en"},
	} {
		if got := texts.Negotiate(c.preferences...).Lang; got != c.want {
			t.Errorf("%.50q: %s, want %s", c.preferences, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	l := &Language{Dir: "ltr", texts: map[string]string{"a": "{x} and {y}, {x}"}}
	arabic := &Language{Dir: "rtl", texts: map[string]string{"a": "{x} و {y}"}}
	for _, c := range []struct {
		l    *Language
		args []string
		want string
	}{
		{l, nil, "{x} and {y}, {x}"},
		{l, []string{"x", "{y}", "y", "2"}, "{y} and 2, {y}"}, // a value is not read again
		{l, []string{"x", "اسم", "y", "2"}, "\u2068اسم\u2069 and 2, \u2068اسم\u2069"},
		{arabic, []string{"x", "Name", "y", "اسم"}, "\u2068Name\u2069 و اسم"},
		{arabic, []string{"x", "2030-12-31", "y", "12"}, "\u20682030-12-31\u2069 و 12"},
		{l, []string{"x", "1", "y"}, "1 and {y}, 1"},
	} {
		if got := c.l.Text("a", c.args...); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
	if got := l.Text("none"); got != "none" {
		t.Errorf("a key that there is not is %q", got)
	}
}

// Every key that a template or the code of this project names is there, and
// every one that is there is named.
func TestEveryTextIsUsed(t *testing.T) {
	english := loadAll(t).Lookup(English)
	source := allSources(t)
	for _, key := range regexp.MustCompile(`"(page|mail)\.[a-z_]+"`).FindAllString(source, -1) {
		if key = strings.Trim(key, `"`); !english.Has(key) && !strings.HasSuffix(key, "_") {
			t.Errorf("there is no text %s", key)
		}
	}
	for _, section := range []string{"page.", "mail."} {
		for _, key := range english.Keys(section) {
			if !strings.Contains(source, `"`+key+`"`) && !strings.HasPrefix(key, "page.status_") {
				t.Errorf("nothing says %s", key)
			}
		}
	}
}

func allSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html", "../handlers/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "_test.go") }) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
