package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/desk"
)

// leastAge leaves time for what may still be asked or proven about a case: late
// answers of a relay, a visitor's call.
const leastAge = 30 * 24 * time.Hour

const forgetHelp = `Wipe what the ledger holds of old cases: of every enquiry that is accepted or
closed, and to which nothing has happened for so many days. What the mail server
said, who decided what and why, when it came: all of it goes, for good.

What stays is about 100 bytes for each: its ID and reference, the form and its
policy, the fingerprint of its content, its status, and when it was closed. That
is enough to answer a repeat as before, so that no enquiry is ever sent twice. It
holds no word of it and no address.

Whatever is open or needs somebody is never touched. With --dry-run nothing is
changed. A server may run meanwhile.`

func newForget(s streams, p *places) *cobra.Command {
	age, by, dry, asJSON := "", "", false, false
	c := &cobra.Command{
		Use:   "forget --older-than DAYS",
		Short: "Wipe what the ledger holds of old cases, but for their identity",
		Long:  forgetHelp,
		Args:  groupedUsage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			old, err := parseAge(age)
			if err != nil {
				return usageError{err}
			}
			return atDesk(c.Context(), *p, s, func(d *desk.Desk) error {
				now := time.Now()
				done, err := forget(c.Context(), s.err, d.Ledger, ledger.Forgetting{Before: now.Add(-old), At: now, By: by}, dry)
				done.OlderThan = age
				return errors.Join(err, printForgotten(s.out, done, asJSON))
			})
		},
	}
	c.Flags().StringVar(&age, "older-than", "", "how long nothing has happened to a case, in `days`: 400d (at least 30d)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only count; change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&by, "by", operatorName(), "your `name`, for the record")
	_ = c.MarkFlagRequired("older-than") // the flag is there
	return c
}

// parseAge reads days, such as 400d.
func parseAge(text string) (time.Duration, error) {
	days, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 16)
	if err != nil || !strings.HasSuffix(text, "d") {
		return 0, fmt.Errorf("--older-than %q is not a number of days like 400d", text)
	}
	age := time.Duration(days) * 24 * time.Hour
	if age < leastAge {
		return 0, fmt.Errorf("--older-than %s is too short: a case is kept for at least 30d, because until then somebody may ask about it", text)
	}
	return age, nil
}

// forgottenJSON is the command's JSON.
type forgottenJSON struct {
	Forgotten int       `json:"forgotten"`
	OlderThan string    `json:"older_than"`
	Before    time.Time `json:"before"`
	DryRun    bool      `json:"dry_run"`
}

func forget(ctx context.Context, w io.Writer, l ledger.Ledger, what ledger.Forgetting, dry bool) (forgottenJSON, error) {
	done := forgottenJSON{Before: what.Before.UTC().Truncate(time.Second), DryRun: dry}
	n, err := l.Forgettable(ctx, what.Before)
	if err != nil || dry {
		done.Forgotten = n
		return done, err
	}
	b := newBar(w, n)
	what.Each = func(sofar int) { b.show(sofar, max(sofar, n)) } // more may have ended meanwhile
	done.Forgotten, err = l.Forget(ctx, what)
	b.end()
	if err != nil {
		return done, err
	}
	return done, tidyNow(ctx, l)
}

// tidyPatience is how long the wiped text may keep lying in the log at most.
const tidyPatience = 30 * time.Second

// tidyNow sees to it that what was wiped is in no file any more.
func tidyNow(ctx context.Context, l ledger.Ledger) error {
	db, ok := l.(*sqlledger.DB)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tidyPatience)
	defer cancel()
	if err := db.TidyNow(ctx); err != nil {
		return fmt.Errorf("it is wiped, but the database's log still holds it, as other programs were reading there all the time; formledger forget again later empties it: %w", err)
	}
	return nil
}

func printForgotten(w io.Writer, done forgottenJSON, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(done, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, string(text))
		return err
	}
	cases, since := cases(done.Forgotten), done.Before.Format(time.DateOnly)
	switch {
	case done.Forgotten == 0:
		_, err := fmt.Fprintf(w, "Nothing is to be forgotten: no case has ended before %s and been left alone since.\n", since)
		return err
	case done.DryRun:
		_, err := fmt.Fprintf(w, "%s would be forgotten: ended, and nothing has happened to them since %s. Nothing is changed.\n", cases, since)
		return err
	}
	_, err := fmt.Fprintf(w, "%s forgotten: ended, and nothing had happened to them since %s.\nWiped is all that was said and decided about them, and when. Their IDs and the fingerprints of their content stay, so a repeat is still answered as before, and never sent again.\n", cases, since)
	return err
}

func cases(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}
