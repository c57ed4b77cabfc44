package handlers

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"formledger/ledger/enquiry"
	"formledger/web"
)

// docs/api.md shows the answer of every entry of the catalogue, as it is.
func TestTheAPIPageShowsEveryAnswer(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	must(t, err)
	form, faults := enquiry.Compile(contactForm())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	pages, err := web.New()
	must(t, err)
	s := &Server{publicURL: "https://forms.example.com", pages: pages}
	for _, c := range slices.Sorted(maps.Keys(catalogue)) {
		shown := s.example(t, form, c)
		if !strings.Contains(string(page), shown) {
			t.Errorf("docs/api.md does not show the answer %s:\n%s", c, shown)
		}
	}
}

// example is an entry's answer for one fixed submission.
func (s *Server) example(t *testing.T, form *enquiry.Form, c code) string {
	t.Helper()
	sub := &submission{form: form, id: uuid.MustParse("0198c5a2-7b1e-7c3d-9a4f-5e6d7c8b9a01")}
	a, e := answer{code: c}, catalogue[c]
	switch {
	case c == code(Invalid):
		a.problems = []enquiry.Problem{{Field: "email", Code: "required", Sentences: []enquiry.Sentence{{Key: "required_email"}}}}
	case e.outcome == "" && c != unavailable && c != broken:
		sub.id = uuid.Nil
	}
	if c == unknownForm || c == notFound || c == wrongMethod || c == broken {
		sub = &submission{}
	}
	sub.lang = s.pages.Texts().Lookup("en")
	text, err := json.MarshalIndent(s.bodyOf(sub, a, e, e.status), "", "  ")
	must(t, err)
	return string(text)
}
