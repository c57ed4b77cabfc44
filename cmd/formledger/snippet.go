package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"formledger/ledger/enquiry"
	"formledger/web"
)

func newSnippet(s streams, p *places) *cobra.Command {
	var lang, kind string
	c := &cobra.Command{
		Use:   "snippet FORM",
		Short: "Print a form as HTML, to be pasted into a page",
		Long: `Print a form of the configuration as HTML, to be pasted into a page of your site,
with the element that loads the browser's client from this server:

  script  an ordinary script, checked by its hash
  module  an ES module, checked by its hash
  plain   no script at all; the server answers with pages

Print it anew after an update of formledger: the addresses name a version. The
page's address has to be one of the form's origins.`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := load(*p, "", s.environ)
			if err != nil {
				return err
			}
			return printSnippet(s.out, cfg, args[0], lang, kind)
		},
	}
	c.Flags().StringVar(&lang, "lang", "", "`language` of the words, like de; otherwise that of the form, or of the page")
	c.Flags().StringVar(&kind, "kind", "script", "what loads the client: script, module or plain")
	return c
}

func printSnippet(out io.Writer, cfg config, name, lang, kind string) error {
	form, err := cfg.visitorForm(name)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"script", "module", "plain"}, kind) {
		return usageError{fmt.Errorf("--kind is script, module or plain, not %q", kind)}
	}
	if cfg.PublicURL == "" {
		return errors.New(`a page on another site has to know where the server is reached: please set it in the configuration, like public_url = "https://forms.example.com"`)
	}
	lang = firstOf(lang, form.Def().Lang)
	words, err := wordsOf(lang)
	if err != nil {
		return err
	}
	assets, err := web.NewAssets()
	if err != nil {
		return err
	}
	return assets.Snippet(out, words, web.Snippet{
		Base: cfg.PublicURL, Name: name, Lang: lang, Contact: form.Def().Contact, Fields: snippetFields(form), Kind: kind,
	})
}

// wordsOf finds the words of a language, English if it is not said.
func wordsOf(lang string) (*web.Language, error) {
	texts, err := web.LoadTexts()
	if err != nil {
		return nil, err
	}
	if words := texts.Lookup(firstOf(lang, web.English)); words != nil {
		return words, nil
	}
	return nil, usageError{fmt.Errorf("there are no texts in the language %q; there are %s", lang, texts.Tags())}
}

func snippetFields(form *enquiry.Form) []web.Field {
	var fields []web.Field
	for _, d := range form.Def().Fields {
		f := web.Field{Name: d.Name, Kind: string(d.Kind), Label: firstOf(d.Label, d.Name), Required: form.Required(d.Name)}
		for _, o := range d.Options {
			f.Options = append(f.Options, web.Option{Value: o})
		}
		fields = append(fields, f)
	}
	return fields
}
