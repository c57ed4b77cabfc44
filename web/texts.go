package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"
)

//go:embed texts/*.json
var textFiles embed.FS

// English is the language that every other file is held against, and the last
// resort of Negotiate.
const English = "en"

// Texts is every word that this project itself says to visitors, once in each
// language: a file of texts is a language. It is safe for concurrent use.
type Texts struct {
	languages map[string]*Language
}

// Language is the words of one language.
type Language struct {
	Lang     string // a BCP 47 tag, like "de"
	Name     string // in the language itself
	Dir      string // ltr or rtl
	Reviewed bool   // read by a native speaker
	texts    map[string]string
}

// textFile is a file as it is written. Client is what the browser's script needs.
type textFile struct {
	Lang     string            `json:"lang"`
	Name     string            `json:"name"`
	Dir      string            `json:"dir"`
	Reviewed bool              `json:"reviewed"`
	Client   map[string]string `json:"client"`
	Page     map[string]string `json:"page"`
	Answer   map[string]string `json:"answer"`
	Problem  map[string]string `json:"problem"`
	Mail     map[string]string `json:"mail"`
}

// LoadTexts reads the embedded files. A language that lacks a text, or has one
// too many, is an error.
func LoadTexts() (*Texts, error) { return loadTexts(textFiles) }

func loadTexts(files fs.FS) (*Texts, error) {
	names, err := fs.Glob(files, "texts/*.json")
	if err != nil {
		return nil, fmt.Errorf("web: texts: %w", err)
	}
	t := &Texts{languages: map[string]*Language{}}
	for _, name := range names {
		l, err := readLanguage(files, name)
		if err != nil {
			return nil, fmt.Errorf("web: %s: %w", name, err)
		}
		t.languages[l.Lang] = l
	}
	return t, t.check()
}

func readLanguage(files fs.FS, name string) (*Language, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	var f textFile
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if f.Lang+".json" != path.Base(name) {
		return nil, fmt.Errorf("says that its language is %q", f.Lang)
	}
	return f.language()
}

func (f textFile) language() (*Language, error) {
	l := &Language{Lang: f.Lang, Name: f.Name, Dir: f.Dir, Reviewed: f.Reviewed, texts: map[string]string{}}
	if _, err := language.Parse(f.Lang); err != nil || f.Name == "" || f.Dir != "ltr" && f.Dir != "rtl" {
		return nil, fmt.Errorf("wants lang, name and dir, ltr or rtl")
	}
	for section, texts := range map[string]map[string]string{
		"client": f.Client, "page": f.Page, "answer": f.Answer, "problem": f.Problem, "mail": f.Mail,
	} {
		for key, text := range texts {
			l.texts[section+"."+key] = text
		}
	}
	return l, nil
}

// check holds every language against English.
func (t *Texts) check() error {
	english := t.languages[English]
	if english == nil {
		return fmt.Errorf("web: there are no texts in English")
	}
	for _, l := range t.All() {
		for _, key := range slices.Sorted(maps.Keys(english.texts)) {
			if l.texts[key] == "" {
				return fmt.Errorf("web: texts/%s.json: %s is missing", l.Lang, key)
			}
			if want, got := placeholders(english.texts[key]), placeholders(l.texts[key]); !slices.Equal(want, got) {
				return fmt.Errorf("web: texts/%s.json: %s has the placeholders %v, want %v", l.Lang, key, got, want)
			}
		}
		for key := range l.texts {
			if _, known := english.texts[key]; !known {
				return fmt.Errorf("web: texts/%s.json: English has no %s", l.Lang, key)
			}
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

func placeholders(text string) []string {
	return slices.Sorted(slices.Values(placeholder.FindAllString(text, -1)))
}

// All returns the languages, sorted by their tags.
func (t *Texts) All() []*Language {
	var all []*Language
	for _, lang := range slices.Sorted(maps.Keys(t.languages)) {
		all = append(all, t.languages[lang])
	}
	return all
}

// Tags lists the tags of all languages.
func (t *Texts) Tags() string { return strings.Join(slices.Sorted(maps.Keys(t.languages)), ", ") }

// Lookup returns a language by a tag like de, de-AT or DE_at, or nil if there
// is none of it.
func (t *Texts) Lookup(tag string) *Language {
	if tag == "" || len(tag) > mostPreference {
		return nil
	}
	parsed, err := language.Parse(tag)
	if err != nil {
		return nil
	}
	return t.nearest(parsed)
}

// nearest goes from a tag to what it is a variety of: de-AT-1996, de-AT, de. A
// variety written in another script ends in none.
func (t *Texts) nearest(tag language.Tag) *Language {
	for ; !tag.IsRoot(); tag = tag.Parent() {
		if l := t.languages[tag.String()]; l != nil {
			return l
		}
	}
	return nil
}

// mostPreference is the most bytes of a preference that are looked at. It comes
// from a stranger.
const mostPreference = 1000

// Negotiate returns the first language that there is of what is preferred:
// tags, or lists of them with weights as in Accept-Language (RFC 9110, section
// 12.5.4). Without any it is English.
func (t *Texts) Negotiate(preferences ...string) *Language {
	for _, preference := range preferences {
		if len(preference) > mostPreference {
			continue
		}
		tags, weights, err := language.ParseAcceptLanguage(preference)
		if err != nil {
			continue
		}
		for i, tag := range tags {
			if l := t.nearest(tag); l != nil && weights[i] > 0 {
				return l
			}
		}
	}
	return t.languages[English]
}

// Has tells whether there is a text.
func (l *Language) Has(key string) bool { return l.texts[key] != "" }

// Keys lists the keys of the texts of a section, like "problem.".
func (l *Language) Keys(section string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.texts)), func(key string) bool { return !strings.HasPrefix(key, section) })
}

// Text returns the text of a key like "problem.required", with what stands for
// its placeholders: name, value, name, value. A key that there is not is
// returned as it is.
func (l *Language) Text(key string, args ...string) string {
	text, known := l.texts[key]
	if !known {
		return key
	}
	pairs := make([]string, len(args)&^1)
	for i := 0; i+1 < len(args); i += 2 {
		pairs[i], pairs[i+1] = "{"+args[i]+"}", l.isolated(args[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// isolated keeps an inserted word that runs the other way from turning its
// sentence about: a label in Latin letters or a date in an Arabic sentence, and
// the reverse (first strong isolate and its end: UAX #9, section 2.4.2).
func (l *Language) isolated(word string) string {
	if !strings.ContainsFunc(word, l.turns) {
		return word
	}
	return "\u2068" + word + "\u2069"
}

func (l *Language) turns(r rune) bool {
	properties, _ := bidi.LookupString(string(r))
	switch properties.Class() {
	case bidi.R, bidi.AL:
		return l.Dir == "ltr"
	case bidi.L, bidi.ES, bidi.CS, bidi.ET:
		return l.Dir == "rtl"
	}
	return false
}

// around returns a text before and after its placeholder, for a template that
// puts markup there.
func (l *Language) around(key, name string) (halves struct{ Before, After string }) {
	halves.Before, halves.After, _ = strings.Cut(l.texts[key], "{"+name+"}")
	return halves
}
