package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/desk"
)

// wordsJSON are the words of a message.
type wordsJSON struct {
	Subject string   `json:"subject"`
	To      []string `json:"to"`
	ReplyTo string   `json:"reply_to"`
	Text    string   `json:"text"`
}

// openWords needs the outbox keys, which the other commands work without.
func openWords(ctx context.Context, cfg config, d *desk.Desk, text, by string) (relay.Letter, error) {
	var err error
	if d.Seals, err = cfg.openSeals(); err != nil {
		return relay.Letter{}, err
	}
	l, err := d.Words(ctx, text, by)
	if err != nil {
		return l, unshown(err, cfg.outboxStore().place())
	}
	return l, nil
}

func showWords(ctx context.Context, w io.Writer, cfg config, d *desk.Desk, text, by string) error {
	l, err := openWords(ctx, cfg, d, text, by)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  subject   %s\n", inLine(l.Subject))
	if len(l.To) > 0 {
		fmt.Fprintf(w, "  to        %s\n", inLine(strings.Join(l.To, ", ")))
	}
	if l.ReplyTo != "" {
		fmt.Fprintf(w, "  reply to  %s\n", inLine(l.ReplyTo))
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(l.Text) {
		fmt.Fprintln(w, "  "+inLine(line))
	}
	return nil
}

// unshown says what an operator can do when the words are not shown.
func unshown(err error, place string) error {
	switch {
	case errors.Is(err, desk.ErrSealed):
		return fmt.Errorf("%w (the outbox keys are in %s); put it back from its copy", err, place)
	case errors.Is(err, ledger.ErrNoWords):
		return errors.New("the words of this message are not kept here: under policy hold they never are, and under the others only until it is accepted or the case is closed")
	}
	return err
}

// inLine is a line for a terminal. Whatever could move its cursor, or change the
// order of what is read, is replaced.
func inLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(text, "\r\n"))
}
