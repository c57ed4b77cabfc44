package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "formledger"
	topLevel = "../.." // of the repository
)

// floorPlan lists every package with the packages of this module that it may
// import: cmd → handlers → relay → ledger, and web is a leaf. A new package
// fails the test until somebody gives it its place here.
func floorPlan() map[string][]string {
	return map[string][]string{
		".":                   {},
		"web":                 {},
		"ledger":              {},
		"ledger/failpoint":    {},
		"ledger/enquiry":      {"ledger"},
		"ledger/intake":       {"ledger/enquiry"},
		"ledger/sqlfile":      {},
		"ledger/sqlledger":    {".", "ledger", "ledger/failpoint", "ledger/sqlfile"},
		"ledger/ledgertest":   {"ledger"},
		"relay":               {"ledger", "ledger/enquiry", "ledger/failpoint"},
		"relay/maildir":       {"relay", "ledger", "ledger/failpoint"},
		"relay/desk":          {"relay", "relay/mailbox", "relay/netcause", "ledger", "ledger/failpoint"},
		"relay/mailbox":       {"relay/netcause"},
		"relay/netcause":      {},
		"relay/smtp":          {"relay", "relay/netcause", "relay/smtp/syntax", "ledger", "ledger/failpoint"},
		"relay/smtp/syntax":   {},
		"relay/smtp/smtptest": {},
		"relay/samples":       {},
		"relay/server":        {"relay", "relay/signed", "ledger", "ledger/failpoint", "ledger/sqlfile"},
		"relay/signed":        {"relay", "relay/netcause", "ledger", "ledger/failpoint"},
		"handlers/decode":     {"ledger/enquiry"},
		"handlers":            {"handlers/decode", "relay", "relay/desk", "ledger", "ledger/enquiry", "ledger/intake", "ledger/failpoint", "web"},
		"cmd/formledger":      wholeHouse(),
		"cmd/bench":           wholeHouse(),
	}
}

// wholeHouse is what wires everything together may import. Nothing but tests
// imports ledger/ledgertest and relay/smtp/smtptest.
func wholeHouse() []string {
	return []string{
		"handlers", "handlers/decode", "relay", "relay/desk", "relay/mailbox", "relay/maildir", "relay/smtp", "relay/signed", "relay/server",
		"ledger", "ledger/enquiry", "ledger/intake", "ledger/sqlledger", "ledger/failpoint", "web",
	}
}

// guests lists what is imported from elsewhere, everything below a path alike,
// and by which packages.
func guests() map[string][]string {
	return map[string][]string{
		"database/sql":                       {"ledger/sqlfile", "ledger/sqlledger", "relay/server"},
		"github.com/mattn/go-sqlite3":        {"ledger/sqlfile", "ledger/sqlledger"},
		"github.com/labstack/echo":           {"handlers"},
		"github.com/emersion/go-imap":        {"relay/mailbox"},
		"github.com/emersion/go-sasl":        {"relay/mailbox"},
		"github.com/wneessen/go-mail":        {"relay", "relay/smtp"},
		"github.com/spf13/cobra":             {"cmd/formledger", "cmd/bench"},
		"github.com/BurntSushi/toml":         {"cmd/formledger", "cmd/bench"},
		"github.com/standard-webhooks":       {"ledger/intake", "relay/desk"},
		"github.com/nicholas-fedor/shoutrrr": {"relay/desk"},
		"github.com/go-playground/validator": {"ledger/enquiry"},
		"golang.org/x/crypto":                {"ledger"},
		"golang.org/x/text":                  {"ledger/enquiry", "web"},
		"golang.org/x/net/idna":              {"ledger/enquiry", "relay/smtp/syntax"},
		"github.com/google/go-cmp":           {"ledger/ledgertest"},
		"github.com/google/uuid":             {"ledger", "ledger/sqlledger", "ledger/ledgertest", "relay", "relay/desk", "relay/maildir", "relay/smtp", "relay/signed", "relay/server", "handlers", "cmd/formledger", "cmd/bench"},
	}
}

// source is one Go file: its package's folder and what it imports.
type source struct {
	folder, file string
	test         bool
	imports      []string
}

// sources parses the whole module, whatever the build tags.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := fs.WalkDir(os.DirFS(topLevel), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		s := source{folder: path.Dir(name), file: name, test: strings.HasSuffix(name, "_test.go")}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(topLevel, name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ours is the folder of a package of this module.
func ours(imported string) (folder string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func TestEveryPackageHasItsPlace(t *testing.T) {
	places, found := floorPlan(), map[string]bool{}
	for _, s := range sources(t) {
		if _, ok := places[s.folder]; !ok && !found[s.folder] {
			t.Errorf("the package %s has no place in the house: give it one in floorPlan", s.folder)
		}
		found[s.folder] = true
	}
	for folder, may := range places {
		for _, imported := range may {
			if _, ok := places[imported]; !ok {
				t.Errorf("%s may import %s, which is no package", folder, imported)
			}
		}
	}
	if len(found) < 10 {
		t.Errorf("only %d packages were found", len(found))
	}
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			folder, own := ours(imported)
			switch {
			case !own:
			case s.test && !testMayImport(s.folder, folder):
				t.Errorf("%s imports %s, which stands above it", s.file, imported)
			case !s.test && !slices.Contains(floorPlan()[s.folder], folder):
				t.Errorf("%s imports %s, which its package may not", s.file, imported)
			}
		}
	}
}

// testMayImport: tests reach for more, but not upwards.
func testMayImport(from, imported string) bool {
	floors := []string{".", "web", "ledger", "relay", "handlers", "cmd"}
	floor := func(folder string) int {
		top, _, _ := strings.Cut(folder, "/")
		return slices.Index(floors, top)
	}
	return from == imported || floor(imported) <= floor(from) && (imported != "web" || floor(from) >= floor("handlers"))
}

func TestGuestsStayWhereTheyBelong(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imported := range s.imports {
			if _, own := ours(imported); own || imported == "C" {
				continue
			}
			guest, known := guestOf(imported)
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case known && !slices.Contains(guests()[guest], s.folder):
				t.Errorf("%s imports %s, which belongs to %v", s.file, imported, guests()[guest])
			case !known && strings.Contains(first, "."):
				t.Errorf("%s imports %s: say in imports_test.go which packages may", s.file, imported)
			}
		}
	}
}

func guestOf(imported string) (string, bool) {
	for guest := range guests() {
		if imported == guest || strings.HasPrefix(imported, guest+"/") {
			return guest, true
		}
	}
	return "", false
}

func TestTheTopLevelHoldsNothingElse(t *testing.T) {
	allowed := []string{
		"cmd", "handlers", "ledger", "relay", "web", "docs", "schema.sql", "schema.go", "go.mod", "go.sum",
		"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "Makefile",
	}
	ignored, err := os.ReadFile(filepath.Join(topLevel, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(topLevel)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) && !ignores(string(ignored), name) {
			t.Errorf("%s does not belong at the top level", name)
		}
	}
}

// ignores reads the plain lines of a .gitignore: names, and patterns with a star.
func ignores(text, name string) bool {
	for _, line := range strings.Fields(text) {
		if ok, err := path.Match(strings.Trim(line, "/"), name); err == nil && ok {
			return true
		}
	}
	return false
}
