package desk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"formledger/ledger"
)

// AlertKind is what an alert is about, as its receivers read it.
type AlertKind string

// The kinds of alerts.
const (
	NeedsSomebody  AlertKind = "formledger.needs_somebody"  // references came to need somebody
	StillOpen      AlertKind = "formledger.still_open"      // the queue has waited long
	RelayFailing   AlertKind = "formledger.relay_failing"   // the relay is not reached
	RelayRecovered AlertKind = "formledger.relay_recovered" // it is reached again
	TestAlert      AlertKind = "formledger.test"            // nothing has happened
)

// Alert is one message to somebody, however many references it is about. It holds
// no word of an enquiry, and nothing by which a stranger could reach a receipt.
type Alert struct {
	ID         string // the same whenever the same is told again
	Kind       AlertKind
	At         time.Time
	References []AlertReference  // the oldest, alertLists of them at most
	Count      int               // of all references
	Oldest     time.Time         // since when the oldest needs somebody
	Relay      ledger.RelayState // of RelayFailing
}

// AlertReference is one reference that needs somebody.
type AlertReference struct {
	Reference ledger.Reference
	Form      string
	Needs     ledger.Need
	Cause     string    // its code, never content
	Since     time.Time // when it came to need somebody
	Link      string    // the page to decide it on; empty: there is none
}

const (
	alertLists = 20 // references that an alert names
	alertTime  = 10 * time.Second
)

// AlertError is why nobody could be told. It holds neither the address, which
// may be a secret, nor what the other side said.
type AlertError struct {
	Code string // a cause code
	Why  string
}

func (e *AlertError) Error() string { return e.Why }

// What stands as the cause of an alert that failed, beside the codes of netcause.
const (
	codeRefused     = "alert_refused"
	codeUnreachable = "alert_failed"
	codeBusy        = "alert_busy"
	codeNoChannel   = "no_channel"
)

// Channel is a way to tell somebody.
type Channel interface {
	// Name is that of its kind, such as ntfy. It is no secret.
	Name() string
	// Raise tells somebody once, within alertTime. An error is an *AlertError.
	Raise(ctx context.Context, a Alert) error
}

// Told is how an alert went on one channel.
type Told struct {
	Channel string
	Err     *AlertError // nil: it took the alert
}

// RaiseOn tells somebody on all channels at once.
func RaiseOn(ctx context.Context, channels []Channel, a Alert) []Told {
	all := make([]Told, len(channels))
	var tries sync.WaitGroup
	for i, c := range channels {
		tries.Go(func() { all[i] = Told{c.Name(), alertError(c.Raise(ctx, a))} })
	}
	tries.Wait()
	return all
}

// anybody reports whether one channel took the alert.
func anybody(told []Told) bool {
	for _, t := range told {
		if t.Err == nil {
			return true
		}
	}
	return false
}

// alertAbout is an alert of rows, oldest first. The same rows as they are make the
// same ID, so that a receiver can tell that it has been told before.
func alertAbout(kind AlertKind, rows []ledger.Submission, console string, now time.Time) Alert {
	a := Alert{Kind: kind, At: now, Count: len(rows)}
	hash := sha256.New()
	fmt.Fprintln(hash, kind)
	for i, row := range rows {
		fmt.Fprintln(hash, row.ID, row.UpdatedAt.UnixMilli())
		if a.Oldest.IsZero() || row.UpdatedAt.Before(a.Oldest) {
			a.Oldest = row.UpdatedAt
		}
		if i < alertLists {
			a.References = append(a.References, referenceOf(row, console))
		}
	}
	a.ID = "alert_" + hex.EncodeToString(hash.Sum(nil)[:16])
	return a
}

func referenceOf(row ledger.Submission, console string) AlertReference {
	r := AlertReference{Reference: row.Reference, Form: row.Form, Needs: row.Needs, Cause: row.LastError, Since: row.UpdatedAt}
	if console != "" {
		r.Link = console + "/r/" + string(row.Reference)
	}
	return r
}
