package web

import "time"

// Form is the page with a form. Lang is the tag of a language that there is, for
// the words that the page adds to those given; empty is English. The form carries
// it along in the hidden field _lang.
type Form struct {
	Lang         string
	Title        string    // the form's title, the page's heading
	Action       string    // the URL the form is posted to
	SubmissionID string    // carried along as the hidden field submission_id
	Fields       []Field   // the declared fields, in order
	Further      []Further // what a static form sent beyond them
	Notice       *Notice   // what happened to the last attempt; nil on a fresh form
	Contact      string    // the line that tells a visitor where to ask
	Reference    string    // shown if not empty
}

// Field is one declared field and what was typed into it.
type Field struct {
	Name     string
	Kind     string // text, email, tel, url, date, textarea, select, multi or checkbox
	Label    string
	Required bool
	Options  []Option // of select and multi
	Value    string   // as typed; a checkbox is checked if it is "yes"
	Error    string   // why the value was not taken, if it was not
}

// Option is one choice of a select or multi field.
type Option struct {
	Value    string
	Selected bool
}

// Further is an undeclared field that a static form sent. The form carries it
// along in hidden inputs and shows it, so that no word is lost or sent unseen.
type Further struct {
	Name   string
	Values []string
}

// Notice says, above a form, what happened to the last attempt.
type Notice struct {
	Kind     string // invalid, not_sent, conflict, refused or info
	Heading  string
	Text     string
	Problems []NoticeProblem
	Links    []Link
	Button   string // the submit button's label; empty for the usual one
}

// NoticeProblem is one line of the error summary. It links to the field it
// names; if the form has no such field, it is plain text.
type NoticeProblem struct {
	Field string // the field's Name
	Text  string
}

// Receipt is the page that says what became of one enquiry.
type Receipt struct {
	Lang      string // as of a Form
	Outcome   string // accepted, queued, processing, uncertain, not_sent or unseen
	Heading   string
	Text      string
	Reference string
	Form      string    // the form's title
	Contact   string    // the line that tells a visitor where to check
	Sent      time.Time // when the visitor submitted it; not shown if zero
	Changed   time.Time // when the outcome last changed; not shown if zero
	Links     []Link
	ID        string // the submission ID
}

// Link leads on from a page. URLs are relative or http, https or mailto; any
// other scheme is made harmless.
type Link struct {
	Text    string
	URL     string
	Primary bool // looks like a button
}

// Message is a page that only says something.
type Message struct {
	Lang      string // as of a Form
	Title     string // of the form or site, may be empty
	Heading   string
	Text      string
	Reference string
	Contact   string
	Links     []Link
}
