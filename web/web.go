// Package web renders the pages a visitor sees: the hosted form, the receipt
// and plain messages. They are whole without any script, make no request of
// their own, and carry their one style sheet inline, so that a page loads, or
// prints, all at once or not at all.
//
// The sentences come from the caller, who knows what happened; the templates
// add only fixed labels. The package imports nothing of this project.
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

//go:embed templates/*.html
var templateFiles embed.FS

// Pages renders the embedded pages. It is safe for concurrent use.
type Pages struct {
	templates *template.Template
}

// New parses the embedded templates.
func New() (*Pages, error) {
	templates, err := template.New("web").Option("missingkey=error").
		ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("web: parse templates: %w", err)
	}
	return &Pages{templates: templates}, nil
}

// StyleHash returns the Content-Security-Policy source, quotes included, that
// allows exactly the inline style sheet of these pages (CSP Level 3,
// section 2.3.1). The pages use no style attribute and no script.
func StyleHash() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Form writes the page with the form, empty or with what the visitor typed.
// An unknown kind of field or notice is an error, and nothing is written.
func (p *Pages) Form(w io.Writer, v Form) error {
	view, err := newFormView(v)
	if err != nil {
		return err
	}
	return p.render(w, "form", view)
}

// Receipt writes the page that says what became of an enquiry. An unknown
// outcome is an error, and nothing is written.
func (p *Pages) Receipt(w io.Writer, v Receipt) error {
	status, err := statusOf(v.Outcome)
	if err != nil {
		return err
	}
	return p.render(w, "receipt", receiptView{
		Receipt: v,
		Status:  status,
		Head:    newHead(status.Word, v.Form),
		Code:    newCode(v.Reference),
	})
}

// Message writes a page without form or receipt: not found, too large, and
// the like.
func (p *Pages) Message(w io.Writer, v Message) error {
	return p.render(w, "message", messageView{
		Message: v,
		Head:    newHead(v.Heading, v.Title),
		Code:    newCode(v.Reference),
	})
}

// render executes into memory first: a template that fails half-way must not
// leave a visitor with half a page and a status of 200.
func (p *Pages) render(w io.Writer, name string, view any) error {
	var page bytes.Buffer
	if err := p.templates.ExecuteTemplate(&page, name, view); err != nil {
		return fmt.Errorf("web: render %s: %w", name, err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("web: write %s: %w", name, err)
	}
	return nil
}
