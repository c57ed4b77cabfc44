package web_test

import (
	"time"

	"formledger/web"
)

// fill makes every string of a sample from what it says, so that one sample
// serves plain words and hostile ones.
type fill func(words string) string

func plain(words string) string { return words }

// sampleForm has every kind of field, each with an error, and every part a
// form page can have.
func sampleForm(f fill) web.Form {
	field := func(kind, label, value string) web.Field {
		return web.Field{
			Name: f(kind), Kind: kind, Label: f(label), Required: true,
			Value: f(value), Error: f(label + " has a problem."),
		}
	}
	options := []web.Option{{Value: f("Repair"), Selected: true}, {Value: f("Advice")}}
	selection, multi := field("select", "Topic", ""), field("multi", "Services", "")
	selection.Options, multi.Options = options, options
	return web.Form{
		Title:        f("Contact us"),
		Action:       "/f/contact?" + f("a"),
		SubmissionID: f("0193a5b2-0000-7000-8000-000000000001"),
		Fields: []web.Field{
			field("text", "Name", "Ada"), field("email", "Email address", "ada@example.com"),
			field("tel", "Telephone", "+44 1632 960001"), field("url", "Website", "example.com"),
			field("date", "Preferred day", "2026-11-30"), field("textarea", "Message", "Hello"),
			selection, multi, field("checkbox", "Call me back", "yes"),
		},
		Further: []web.Further{{Name: f("campaign"), Values: []string{f("spring"), f("summer")}}},
		Notice: &web.Notice{
			Kind: "invalid", Heading: f("Please check two answers"), Text: f("Nothing was sent yet."),
			Problems: []web.NoticeProblem{
				{Field: f("email"), Text: f("Email address has a problem.")},
				{Field: f("multi"), Text: f("Services has a problem.")},
				{Field: f("nowhere"), Text: f("Something else is wrong.")},
			},
			Links:  []web.Link{{Text: f("See what became of it"), URL: f("/receipts/1")}},
			Button: f("Send it"),
		},
		Contact:   f("Call 01632 960001 or write to office@example.com."),
		Reference: f("YYH9-FP7R-Y5A9"),
	}
}

func sampleReceipt(f fill, outcome string) web.Receipt {
	return web.Receipt{
		Outcome: outcome, Heading: f("We have your message"), Text: f("You need not do anything."),
		Reference: f("YYH9-FP7R-Y5A9"),
		Form:      f("Contact us"), Contact: f("Call 01632 960001."),
		Sent:    time.Date(2026, 11, 30, 16, 4, 5, 0, time.FixedZone("", 3600)),
		Changed: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC),
		Links:   []web.Link{{Text: f("Send it again"), URL: f("/f/contact"), Primary: true}},
		ID:      f("0193a5b2-0000-7000-8000-000000000001"),
	}
}

func sampleMessage(f fill) web.Message {
	return web.Message{
		Title: f("Contact us"), Heading: f("Page not found"), Text: f("There is no form here."),
		Reference: f("YYH9-FP7R-Y5A9"), Contact: f("Call 01632 960001."),
		Links: []web.Link{{Text: f("Start again"), URL: f("/f/contact")}},
	}
}

func outcomes() []string {
	return []string{"accepted", "queued", "processing", "uncertain", "not_sent", "unseen"}
}
