package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/relay/desk"
)

const eventsHelp = `Show the record: everything that was not the usual way, and each decision of a
person, oldest first. Nothing can be removed from it.

--since takes a time as 2026-05-04, as 2026-05-04T03:02:01Z, or how long ago it
was, as 90m, 24h or 7d.`

func newEvents(s streams, p *places) *cobra.Command {
	f, since, asJSON := desk.EventFilter{}, "", false
	c := &cobra.Command{
		Use:   "events",
		Short: "Show the record across all references",
		Long:  eventsHelp,
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Kind != "" && !slices.Contains(eventKinds(), string(f.Kind)) {
				return usageError{fmt.Errorf("--kind %q is none of: %s", f.Kind, strings.Join(eventKinds(), ", "))}
			}
			var err error
			if f.Since, err = sinceWhen(since, time.Now()); err != nil {
				return usageError{err}
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				events, err := d.Events(c.Context(), f)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(s.out, inJSON(events, entryJSON))
				}
				return printEvents(s.out, events)
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "only what happened since this `time`")
	c.Flags().StringVar((*string)(&f.Kind), "kind", "", "only events of this `kind`, like not_received")
	fixed(c, "kind", eventKinds())
	c.Flags().StringVar(&f.Reference, "reference", "", "only those of this `reference`")
	c.Flags().IntVar(&f.Limit, "limit", 100, "the newest of this `number` (0: all)")
	_ = c.RegisterFlagCompletionFunc("reference", openReferences(s, p, anyNumber)) // fails for unknown flags alone
	jsonFlag(c, &asJSON)
	return c
}

// eventKinds are all that may stand in the record.
func eventKinds() []string {
	kinds := []ledger.EventKind{
		ledger.EventConflict, ledger.EventDoubted, ledger.EventReleased, ledger.EventLapsed, ledger.EventUnsent, ledger.EventLateAcknowledged,
		ledger.EventPartlyRefused, ledger.EventConfirmed, ledger.EventDisputed, ledger.EventReceived, ledger.EventNotReceived, ledger.EventClosed,
		ledger.EventStopped, ledger.EventSendAgain, ledger.EventAlerted, ledger.EventAlertFailed, ledger.EventWordsShown, ledger.EventNoted,
		ledger.EventRestored, ledger.EventRestoreEnded, ledger.EventForgotten, ledger.EventReminded, ledger.EventRelayFailing, ledger.EventRelayRecovered,
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

func printEvents(w io.Writer, events []ledger.Event) error {
	if len(events) == 0 {
		_, err := fmt.Fprintln(w, "There is no such event.")
		return err
	}
	for _, e := range events {
		if _, err := fmt.Fprintf(w, "%-14s  %s\n", dash(ownerOf(e)), eventLine(e)); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf is the reference that an event belongs to, or empty if it is the
// ledger's own.
func ownerOf(e ledger.Event) string {
	if e.Submission == uuid.Nil {
		return ""
	}
	return string(ledger.ReferenceOf(e.Submission))
}

// sinceWhen reads a time, or how long ago it was.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.DateTime + "Z", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return at, nil
		}
	}
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("--since %q is no time: write it as 2026-05-04, as 2026-05-04T03:02:01Z, or as 90m, 24h or 7d", text)
	}
	return now.Add(-ago), nil
}
