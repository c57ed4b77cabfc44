package web

import "fmt"

// formView is a Form made ready for the template.
type formView struct {
	Form
	Head     head
	Code     code
	Controls []control
	Notice   *noticeView
	Button   string
}

func newFormView(v Form, l *Language) (formView, error) {
	view := formView{Form: v, Head: newHead("", v.Title), Code: newCode(v.Reference)}
	for i, field := range v.Fields {
		c, err := newControl(fmt.Sprintf("field-%d", i+1), field)
		if err != nil {
			return formView{}, err
		}
		view.Controls = append(view.Controls, c)
	}
	view.Button = buttonFor(v.Notice, l)
	if v.Notice == nil {
		return view, nil
	}
	notice, err := newNoticeView(*v.Notice, view.Controls)
	if err != nil {
		return formView{}, err
	}
	view.Notice = &notice
	view.Head = newHead(v.Notice.Heading, v.Title)
	view.Code.Earlier = v.Notice.Kind == "conflict"
	return view, nil
}

// Recorded tells whether the reference stands for something that was sent or
// tried before, so that it belongs above the form.
func (v formView) Recorded() bool {
	return v.Form.Notice != nil && (v.Form.Notice.Kind == "conflict" || v.Form.Notice.Kind == "not_sent")
}

// AnyRequired tells whether the page has to explain its "required" marks.
func (v formView) AnyRequired() bool {
	for _, field := range v.Fields {
		if field.Required {
			return true
		}
	}
	return false
}

// buttonFor labels the submit button. After a conflict it must not say the
// usual words: what it sends is a second message, and the visitor decides that.
func buttonFor(n *Notice, l *Language) string {
	switch {
	case n != nil && n.Button != "":
		return n.Button
	case n != nil && n.Kind == "conflict":
		return l.Text("page.send_new")
	}
	return l.Text("page.send")
}

type noticeView struct {
	Notice
	Icon, Tone string
	Lines      []noticeLine
}

// noticeLine is a line of the error summary; Target is the id of the control
// it links to, or empty.
type noticeLine struct {
	Target, Text string
}

func newNoticeView(n Notice, controls []control) (noticeView, error) {
	view := noticeView{Notice: n}
	switch n.Kind {
	case "invalid":
		view.Icon, view.Tone = "alert", "bad"
	case "not_sent", "refused":
		view.Icon, view.Tone = "cross", "bad"
	case "conflict":
		view.Icon, view.Tone = "question", "doubt"
	case "info":
		view.Icon, view.Tone = "info", "good"
	default:
		return noticeView{}, fmt.Errorf("web: unknown kind of notice %q", n.Kind)
	}
	targets := make(map[string]string, len(controls))
	for _, c := range controls {
		targets[c.Name] = c.Target()
	}
	for _, problem := range n.Problems {
		view.Lines = append(view.Lines, noticeLine{Target: targets[problem.Field], Text: problem.Text})
	}
	return view, nil
}
