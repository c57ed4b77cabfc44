// Package web renders the pages a visitor sees: the hosted form, the receipt
// and plain messages. They are whole without any script, and carry their one style
// sheet inline, so that a page loads, or prints, all at once or not at all. Form and
// receipt name a script that makes them more comfortable.
//
// The caller, who knows what happened, chooses the sentences; the templates add
// labels. All of them stand in texts, a file for each language. The package
// imports nothing of this project.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

//go:embed static/page.css
var pageCSS string

//go:embed static/formledger.css
var clientCSS string

// css is the one style sheet of every page.
func css() string { return pageCSS + "\n" + clientCSS }

//go:embed templates/*.html
var templateFiles embed.FS

// Pages renders the embedded pages. It is safe for concurrent use.
type Pages struct {
	texts     *Texts
	assets    *Assets
	templates map[string]*template.Template // by language
}

// New parses the embedded templates, in every language that there is.
func New() (*Pages, error) {
	texts, err := LoadTexts()
	if err != nil {
		return nil, err
	}
	assets, err := NewAssets()
	if err != nil {
		return nil, err
	}
	p := &Pages{texts: texts, assets: assets, templates: map[string]*template.Template{}}
	for _, l := range texts.All() {
		p.templates[l.Lang], err = template.New("web").Option("missingkey=error").Funcs(l.functions()).
			ParseFS(templateFiles, "templates/*.html")
		if err != nil {
			return nil, fmt.Errorf("web: parse templates: %w", err)
		}
	}
	return p, nil
}

// functions are what a template says its words with.
func (l *Language) functions() template.FuncMap {
	return template.FuncMap{
		"lang": func() string { return l.Lang },
		"dir":  func() string { return l.Dir },
		"t": func(key string, args ...string) (string, error) {
			if !l.Has(key) {
				return "", fmt.Errorf("there is no text %q", key)
			}
			return l.Text(key, args...), nil
		},
		"around": l.around,
	}
}

// Texts are the words that the pages are made with.
func (p *Pages) Texts() *Texts { return p.texts }

// language finds a page's language by its exact tag.
func (p *Pages) language(lang string) (*Language, error) {
	if lang == "" {
		lang = English
	}
	if l := p.texts.languages[lang]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("web: there are no texts in the language %q", lang)
}

// StyleHash returns the Content-Security-Policy source, quotes included, that
// allows exactly the inline style sheet of these pages (CSP Level 3,
// section 2.3.1). The pages use no style attribute and no inline script.
func StyleHash() string {
	sum := sha256.Sum256([]byte(css()))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Form writes the page with the form, empty or with what the visitor typed.
// An unknown kind of field or notice, or a language that there is not, is an
// error, and nothing is written.
func (p *Pages) Form(w io.Writer, v Form) error {
	l, err := p.language(v.Lang)
	if err != nil {
		return err
	}
	view, err := newFormView(v, l)
	if err != nil {
		return err
	}
	view.Head.Script = p.assets.ScriptTag(ClientScript)
	return p.render(w, l, "form", view)
}

// Receipt writes the page that says what became of an enquiry. An unknown
// outcome is an error, and nothing is written.
func (p *Pages) Receipt(w io.Writer, v Receipt) error {
	l, err := p.language(v.Lang)
	if err != nil {
		return err
	}
	status, err := statusOf(v.Outcome, l)
	if err != nil {
		return err
	}
	view := receiptView{Receipt: v, Status: status, Head: newHead(status.Word, v.Form), Code: newCode(v.Reference), Language: l}
	view.Head.Script = p.assets.ScriptTag(ReceiptScript)
	return p.render(w, l, "receipt", view)
}

// Message writes a page without form or receipt: not found, too large, and
// the like.
func (p *Pages) Message(w io.Writer, v Message) error {
	l, err := p.language(v.Lang)
	if err != nil {
		return err
	}
	return p.render(w, l, "message", messageView{
		Message: v,
		Head:    newHead(v.Heading, v.Title),
		Code:    newCode(v.Reference),
	})
}

// render executes into memory first: a template that fails half-way must not
// leave a visitor with half a page and a status of 200.
func (p *Pages) render(w io.Writer, l *Language, name string, view any) error {
	var page bytes.Buffer
	if err := p.templates[l.Lang].ExecuteTemplate(&page, name, view); err != nil {
		return fmt.Errorf("web: render %s: %w", name, err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("web: write %s: %w", name, err)
	}
	return nil
}
