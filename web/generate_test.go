package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

//go:generate go test -count=1 -run ^TestTheServedFilesAreFresh$ . -args -write

// The generator is a test, so that the bundler never gets into the program.
var writing = flag.Bool("write", false, "write the browser's files instead of comparing them")

// catalogue is as much of a catalogue of words as the browser gets.
type catalogue struct {
	Lang   string            `json:"lang"`
	Dir    string            `json:"dir"`
	Client map[string]string `json:"client"`
}

// words is the catalogue as the script reads it: one flat object.
func (c catalogue) words() map[string]string {
	all := map[string]string{"lang": c.Lang, "dir": c.Dir}
	for name, text := range c.Client {
		if !isOutcome(name) {
			all[name] = text
		}
	}
	return all
}

// isOutcome tells the titles that the server says with each answer, so that the
// browser needs none of its own.
func isOutcome(name string) bool {
	return slices.Contains([]string{"accepted", "queued", "uncertain", "conflict", "not_sent", "invalid", "limited", "challenge", "refused", "reference_hint"}, name)
}

func catalogues(t *testing.T) []catalogue {
	t.Helper()
	files, err := filepath.Glob("texts/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogues of words: %v", err)
	}
	var all []catalogue
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c catalogue
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, c)
	}
	return all
}

// compact writes JSON without spaces and without escapes that only HTML needs.
func compact(t *testing.T, v any) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// english is the module that puts the English words into the script.
func english(t *testing.T, all []catalogue) []byte {
	t.Helper()
	var words map[string]string
	for _, c := range all {
		if c.Lang == "en" {
			words = c.words()
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(compact(t, words)), "", "  "); err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "// Generated from web/texts by go generate ./web.\n\nexport const english = %s;\n",
		indented.Bytes())
}

// bundle makes one script of an entry point and what it imports.
func bundle(t *testing.T, entry string, format api.Format) []byte {
	t.Helper()
	options := api.BuildOptions{
		EntryPoints: []string{"client/" + entry}, Bundle: true, Format: format, Target: api.ES2020, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Outfile: "out.js",
	}
	result := api.Build(options)
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		t.Errorf("%s: %s %v", entry, m.Text, m.Location)
	}
	if t.Failed() {
		t.FailNow()
	}
	return result.OutputFiles[0].Contents
}

// generated are the files that are made of others, by their paths. english.mjs is
// the first, as the scripts are made with it.
func generated(t *testing.T) map[string][]byte {
	t.Helper()
	all := catalogues(t)
	made := map[string][]byte{"client/english.mjs": english(t, all)}
	if *writing {
		write(t, made)
	}
	css, err := os.ReadFile("client/formledger.css")
	if err != nil {
		t.Fatal(err)
	}
	made["static/formledger.css"] = smallStyle(t, css)
	made["static/core.mjs"] = bundle(t, "core.mjs", api.FormatESModule)
	made["static/formledger.mjs"] = bundle(t, "formledger.mjs", api.FormatESModule)
	made["static/receipt.js"] = bundle(t, "receipt.mjs", api.FormatIIFE)
	made["static/formledger.js"] = bundle(t, "classic.mjs", api.FormatIIFE)
	for _, c := range all {
		made["static/texts/"+c.Lang+".json"] = compact(t, c.words())
	}
	return made
}

func smallStyle(t *testing.T, css []byte) []byte {
	t.Helper()
	result := api.Transform(string(css), api.TransformOptions{Loader: api.LoaderCSS, MinifyWhitespace: true, Charset: api.CharsetUTF8})
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		t.Fatalf("formledger.css: %s %v", m.Text, m.Location)
	}
	return result.Code
}

func write(t *testing.T, files map[string][]byte) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServedFilesAreFresh(t *testing.T) {
	made := generated(t)
	if *writing {
		write(t, made)
	}
	for name, want := range made {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): go generate ./web makes it anew", name, err)
		}
	}
	for _, file := range served(t) {
		if _, ok := made["static/"+file]; !ok {
			t.Errorf("static/%s is served, but not made of anything", file)
		}
	}
}

// served lists the files below static that the browser's client is made of.
func served(t *testing.T) []string {
	t.Helper()
	assets, err := NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	return assets.Names()
}

// Sizes are a promise: what a page has to load.
func TestSizes(t *testing.T) {
	assets, err := NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range assets.Names() {
		asset, _ := assets.Get(name)
		size, limit := len(asset.Gzipped), limitOf(name)
		t.Logf("%-16s %6d bytes, %5d gzipped, of %d", name, len(asset.Body), size, limit)
		if size > limit {
			t.Errorf("%s has %d bytes gzipped, more than %d", name, size, limit)
		}
	}
}

func limitOf(name string) int {
	switch {
	case name == "core.mjs":
		return 3 << 10
	case strings.HasPrefix(name, "texts/"):
		return 1 << 10
	default:
		return 6 << 10
	}
}
