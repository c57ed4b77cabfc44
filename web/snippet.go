package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Snippet is a form to be pasted into a page of another site.
type Snippet struct {
	Base    string // where the server is reached, like https://forms.example.com
	Name    string // of the form
	Lang    string // of the words, a tag like de; empty leaves it to the page
	Contact string // where a visitor can ask, before any answer says so
	Fields  []Field
	Kind    string // script, module or plain
}

// snippetView is a Snippet made ready for its template.
type snippetView struct {
	Snippet
	Language               *Language
	Controls               []control
	Script, Module, Styles link
}

// link is an asset with its address and what it is checked by.
type link struct{ URL, Integrity string }

// Snippet writes the form as HTML, with the elements that load the client. An
// unknown kind of snippet or field is an error, and nothing is written.
func (a *Assets) Snippet(w io.Writer, l *Language, v Snippet) error {
	if v.Kind != "script" && v.Kind != "module" && v.Kind != "plain" {
		return fmt.Errorf("web: unknown kind of snippet %q", v.Kind)
	}
	view := snippetView{
		Snippet: v, Language: l, Script: a.link(v.Base, ClientScript), Module: a.link(v.Base, "formledger.mjs"), Styles: a.link(v.Base, "formledger.css"),
	}
	for i, field := range v.Fields {
		c, err := newControl(fmt.Sprintf("%s-%d", v.Name, i+1), field)
		if err != nil {
			return err
		}
		view.Controls = append(view.Controls, c)
	}
	return writeSnippet(w, view)
}

func (a *Assets) link(base, name string) link {
	asset, _ := a.Get(name)
	return link{URL: base + a.Path(name), Integrity: asset.Integrity}
}

func writeSnippet(w io.Writer, view snippetView) error {
	t, err := template.New("snippet").Funcs(view.Language.functions()).Parse(snippetText)
	if err != nil {
		return fmt.Errorf("web: parse the snippet: %w", err)
	}
	var text bytes.Buffer
	if err := t.Execute(&text, view); err != nil {
		return fmt.Errorf("web: write the snippet: %w", err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.TrimSpace(line) == "" {
			continue // left by the template's own lines
		}
		// Escaped plus signs are right, and puzzling in a hash.
		if _, err := io.WriteString(w, strings.ReplaceAll(line, "&#43;", "+")); err != nil {
			return err
		}
	}
	return nil
}

// snippetText is made to be read and changed by whoever pastes it.
const snippetText = `<form method="post" action="{{.Base}}/f/{{.Name}}" id="formledger-{{.Name}}" accept-charset="utf-8"
{{- if eq .Kind "script"}} data-formledger{{end}}
{{- if ne .Kind "plain"}}{{with .Lang}} data-lang="{{.}}"{{end}}{{with .Contact}} data-contact="{{.}}"{{end}}{{end}}>
{{with .Lang}}  <input type="hidden" name="_lang" value="{{.}}">{{end}}
{{range .Controls}}{{template "control" .}}{{end}}
  <p><button type="submit">{{t "page.send"}}</button></p>
</form>
{{if eq .Kind "script"}}
<link rel="stylesheet" href="{{.Styles.URL}}" integrity="{{.Styles.Integrity}}" crossorigin="anonymous">
<script src="{{.Script.URL}}" integrity="{{.Script.Integrity}}" crossorigin="anonymous" defer></script>
{{else if eq .Kind "module"}}
<link rel="stylesheet" href="{{.Styles.URL}}" integrity="{{.Styles.Integrity}}" crossorigin="anonymous">
<link rel="modulepreload" href="{{.Module.URL}}" integrity="{{.Module.Integrity}}" crossorigin="anonymous">
<script type="module">
  import { enhance } from {{.Module.URL}};
  enhance(document.getElementById({{printf "formledger-%s" .Name}}));
</script>
{{end}}

{{- define "control"}}
{{if eq .Element "multi"}}
  <fieldset>
    <legend>{{.Label}}{{template "mark" .}}</legend>
    {{- $name := .Name}}
    {{- range .Choices}}
    <label><input type="checkbox" name="{{$name}}" value="{{.Value}}"> {{.Value}}</label>
    {{- end}}
  </fieldset>
{{else if eq .Element "checkbox"}}
  <p><label><input type="checkbox" name="{{.Name}}" value="yes"{{template "state" .}}> {{.Label}}{{template "mark" .}}</label></p>
{{else}}
  <p>
    <label for="{{.ID}}">{{.Label}}{{template "mark" .}}</label>
    {{- if eq .Element "select"}}
    <select id="{{.ID}}" name="{{.Name}}"{{template "state" .}}>
      <option value="">{{t "page.choose"}}</option>
      {{- range .Options}}
      <option>{{.Value}}</option>
      {{- end}}
    </select>
    {{- else if eq .Element "textarea"}}
    <textarea id="{{.ID}}" name="{{.Name}}" rows="{{.Rows}}"{{template "state" .}}></textarea>
    {{- else}}
    <input type="{{.Type}}" id="{{.ID}}" name="{{.Name}}"{{template "typing" .}}{{template "state" .}}>
    {{- end}}
  </p>
{{end}}
{{end}}

{{- define "mark"}}{{if .Required}} ({{t "page.required"}}){{end}}{{end}}

{{- define "typing"}}
{{- with .InputMode}} inputmode="{{.}}"{{end}}
{{- with .Autocomplete}} autocomplete="{{.}}"{{end}}
{{- if .Literal}} autocapitalize="none" spellcheck="false"{{end}}
{{- end}}

{{- define "state"}}{{if .Required}} required{{end}}{{end}}`
