package desk

import (
	"fmt"
	"strings"
	"time"

	"formledger/ledger"
)

// Title is the alert in one line.
func (a Alert) Title() string {
	switch a.Kind {
	case NeedsSomebody:
		return needYou(a.Count)
	case StillOpen:
		if a.Count == 1 {
			return fmt.Sprintf("1 reference still needs you; it has waited %s", waited(a.At.Sub(a.Oldest)))
		}
		return fmt.Sprintf("%s; the oldest has waited %s", strings.Replace(needYou(a.Count), " need", " still need", 1), waited(a.At.Sub(a.Oldest)))
	case RelayFailing:
		return "The mail system is not reached"
	case RelayRecovered:
		return "The mail system is reached again"
	}
	return "This is a test of formledger's alerts"
}

func needYou(n int) string {
	if n == 1 {
		return "1 reference needs you"
	}
	return fmt.Sprintf("%d references need you", n)
}

// waited is how long somebody has waited, as people say it.
func waited(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return "a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

const (
	alertClock = "2 Jan 15:04 MST"
	moreRoom   = 100 // bytes for what follows the list
)

// Text is the alert as people read it, in so many bytes at most.
func (a Alert) Text(most int) string {
	switch a.Kind {
	case RelayFailing:
		return fmt.Sprintf("formledger has not reached the mail system since %s (%s). Forms with policy queue or retry keep their messages and go on trying; visitors of others are told that nothing was sent.",
			a.Relay.FailingSince.UTC().Format(alertClock), orUnknown(a.Relay.Cause))
	case RelayRecovered:
		return "formledger reaches the mail system again. What waited is being sent."
	case TestAlert:
		return "Nothing has happened. Somebody ran formledger alert test, and this channel works."
	}
	return a.list(most)
}

// list names as many references as there is room for.
func (a Alert) list(most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", a.Title())
	named := 0
	for _, r := range a.References {
		line := r.line()
		if b.Len()+len(line)+moreRoom > most {
			break
		}
		b.WriteString(line)
		named++
	}
	if more := a.Count - named; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	b.WriteString("\nformledger queue shows them all, and what there is to do.\n")
	return b.String()
}

func (r AlertReference) line() string {
	line := fmt.Sprintf("%s, form %s: %s (%s), since %s\n", r.Reference, r.Form, needSays(r.Needs), orUnknown(r.Cause), r.Since.UTC().Format(alertClock))
	if r.Link != "" {
		line += r.Link + "\n"
	}
	return line
}

func needSays(n ledger.Need) string {
	switch n {
	case ledger.NeedsUncertain:
		return "may or may not have been sent"
	case ledger.NeedsStopped:
		return "sending has stopped"
	case ledger.NeedsDisputed:
		return "two sources contradict each other"
	case ledger.NeedsUnsent:
		return "not sent, and the visitor has not come back"
	}
	return string(n)
}

func orUnknown(cause string) string {
	if cause == "" {
		return "no cause is known"
	}
	return cause
}
