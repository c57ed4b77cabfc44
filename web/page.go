package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// head is what the templates need before the page's own content.
type head struct {
	Title  string
	CSS    template.CSS
	Script template.HTML // empty: the page has none
}

// newHead puts what happened before the name of the form: a tab or a history
// entry shows only the first words of a title.
func newHead(happened, name string) head {
	title := happened
	switch {
	case happened == "":
		title = name
	case name != "" && name != happened:
		title = happened + " – " + name
	}
	return head{Title: title, CSS: template.CSS(css())}
}

// code is a reference, to be read by eye and by ear.
type code struct {
	Written, Spoken string
	Earlier         bool // it names another message than the one on this page
}

func newCode(reference string) code {
	return code{Written: reference, Spoken: spell(reference)}
}

// spell separates the symbols, which a screen reader would otherwise run
// together into words, and pauses at each hyphen.
func spell(reference string) string {
	groups := strings.Split(reference, "-")
	for i, group := range groups {
		groups[i] = strings.Join(strings.Split(group, ""), " ")
	}
	return strings.Join(groups, ", ")
}

// status shows an outcome by a word, a symbol and a tone, so that it is never
// carried by colour alone.
type status struct {
	Word, Icon, Tone string
}

func statusOf(outcome string, l *Language) (status, error) {
	word := l.Text("page.status_" + outcome)
	switch outcome {
	case "accepted":
		return status{word, "check", "good"}, nil
	case "queued", "processing":
		return status{word, "clock", "good"}, nil
	case "uncertain":
		return status{word, "question", "doubt"}, nil
	case "not_sent":
		return status{word, "cross", "bad"}, nil
	case "unseen":
		return status{word, "dots", "plain"}, nil
	}
	return status{}, fmt.Errorf("web: unknown outcome %q", outcome)
}

type receiptView struct {
	Receipt
	Status   status
	Head     head
	Code     code
	Language *Language
}

type messageView struct {
	Message
	Head head
	Code code
}

// stamp is a moment as a <time> element shows it.
type stamp struct {
	Machine, Human string
}

// Submitted and Updated are in UTC and say so: the server does not know the
// visitor's time zone, and a guessed one would be wrong without a sign of it.
func (v receiptView) Submitted() stamp { return newStamp(v.Sent, v.Language) }
func (v receiptView) Updated() stamp   { return newStamp(v.Changed, v.Language) }

func newStamp(t time.Time, l *Language) stamp {
	utc := t.UTC()
	months := strings.Fields(l.Text("page.months"))
	return stamp{
		Machine: utc.Format("2006-01-02T15:04:05Z"),
		Human: l.Text("page.time", "day", utc.Format("2"), "month", months[utc.Month()-1],
			"year", utc.Format("2006"), "time", utc.Format("15:04")),
	}
}
