package handlers

import (
	"github.com/labstack/echo/v4"

	"formledger/ledger/enquiry"
	"formledger/relay"
	"formledger/web"
)

const (
	langField = "_lang" // of a form; a name that begins with _ is no part of the enquiry
	langQuery = "lang"
)

// hear finds the language of an answer, and says in its head which it is. What
// is asked for goes before what the browser prefers, and that before the form's
// own language.
//
// A language that was asked for by name goes along to the pages that follow. The
// hosted form always names the one that it is written in: that alone asks for
// nothing.
func (s *Server) hear(c echo.Context, sub *submission) {
	if sub.lang != nil {
		return
	}
	texts, query := s.pages.Texts(), c.QueryParams()
	named, wanted := texts.Lookup(sub.raw.First(langField)), texts.Lookup(query.Get(langQuery))
	sub.lang = named
	if sub.lang == nil {
		sub.lang = wanted
	}
	switch {
	case wanted != nil, named != nil && !query.Has(pageMark):
		sub.asked = sub.lang.Lang
	case named == nil:
		sub.lang = texts.Negotiate(c.Request().Header.Get("Accept-Language"), langOf(sub.form))
	}
	h := c.Response().Header()
	h.Add("Vary", "Accept-Language")
	h.Set("Content-Language", sub.lang.Lang)
}

func langOf(f *enquiry.Form) string {
	if f == nil {
		return ""
	}
	return f.Def().Lang
}

// inLanguage adds to an address the language that was asked for.
func inLanguage(address, mark, asked string) string {
	if asked == "" {
		return address
	}
	return address + mark + langQuery + "=" + asked
}

// said puts an answer into words. The reason of the decoder is for whoever made
// the page that sent it, and stays English.
func (a answer) said(l *web.Language) (title, detail string) {
	title, detail = l.Text("answer."+string(a.code)+"_title"), l.Text("answer."+string(a.code)+"_detail")
	if a.detail.Key != "" {
		detail = l.Text("answer."+a.detail.Key, a.detail.Args...)
	}
	switch {
	case a.reason == "":
		return title, detail
	case l.Lang == web.English:
		return title, a.reason
	}
	return title, detail + " (" + a.reason + ")"
}

// fieldProblem is what to correct in one field, as clients are told.
type fieldProblem struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func explained(l *web.Language, problems []enquiry.Problem) []fieldProblem {
	var list []fieldProblem
	for _, p := range problems {
		message := ""
		for i, sentence := range p.Sentences {
			if i > 0 {
				message += " "
			}
			message += l.Text("problem."+sentence.Key, sentence.Args...)
		}
		list = append(list, fieldProblem{Field: p.Field, Code: p.Code, Message: message})
	}
	return list
}

// MailWords are the words of a form's mail, in the form's language.
func MailWords(texts *web.Texts, f *enquiry.Form) relay.Words {
	l := texts.Negotiate(langOf(f))
	return relay.Words{
		Subject: l.Text("mail.subject") + l.Text("mail.colon") + " " + f.Def().Title,
		Further: l.Text("mail.further"), NoName: l.Text("mail.no_name"), Colon: l.Text("mail.colon"),
		Reference: l.Text("mail.reference"), SubmissionID: l.Text("mail.submission_id"),
		CopyAddress: l.Text("mail.copy_address"), RightToLeft: l.Dir == "rtl",
	}
}
