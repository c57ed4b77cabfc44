package smtp

import (
	"fmt"
	"time"
)

// Deadlines are how long each step may take. A step is one command and its
// whole reply, unless it says otherwise.
type Deadlines struct {
	Connect  time.Duration // looking up the name, and TCP
	TLS      time.Duration // the handshake
	Greeting time.Duration // the server's first line
	Hello    time.Duration // EHLO, and HELO if that is all the server knows; twice with STARTTLS
	StartTLS time.Duration // the command, without the handshake
	Auth     time.Duration // the whole exchange
	Mail     time.Duration
	Rcpt     time.Duration // all recipients together
	Data     time.Duration
	Body     time.Duration // writing it
	Dot      time.Duration // until the server vouches for the message
	Quit     time.Duration
}

// DefaultDeadlines are shorter than the minutes that RFC 5321 section 4.5.3.2
// proposes to mail servers: somebody waits for the answer, and before the dot
// giving up early costs only another try. The dot has two minutes instead of
// ten; giving up there makes doubt, and a lease has to last longer still.
func DefaultDeadlines() Deadlines {
	return Deadlines{
		Connect:  15 * time.Second,
		TLS:      10 * time.Second,
		Greeting: 20 * time.Second, // some servers pause before it, to catch spammers
		Hello:    10 * time.Second,
		StartTLS: 10 * time.Second,
		Auth:     20 * time.Second,
		Mail:     20 * time.Second,
		Rcpt:     30 * time.Second,
		Data:     20 * time.Second,
		Body:     60 * time.Second,
		Dot:      120 * time.Second,
		Quit:     2 * time.Second, // the message is accepted by then
	}
}

// Total is the longest that a Send can take. The deadline of the call's context
// and the lease have to be longer.
func (d Deadlines) Total() time.Duration {
	var total time.Duration
	for _, f := range d.fields() {
		total += *f
	}
	return total + d.Hello + glance
}

func (d *Deadlines) fields() []*time.Duration {
	return []*time.Duration{
		&d.Connect, &d.TLS, &d.Greeting, &d.Hello, &d.StartTLS, &d.Auth,
		&d.Mail, &d.Rcpt, &d.Data, &d.Body, &d.Dot, &d.Quit,
	}
}

func (d Deadlines) orDefaults() Deadlines {
	defaults := DefaultDeadlines()
	for i, f := range d.fields() {
		if *f == 0 {
			*f = *defaults.fields()[i]
		}
	}
	return d
}

func (d Deadlines) check() error {
	for _, f := range d.fields() {
		if *f < 0 {
			return fmt.Errorf("deadline %s: want a duration above zero", *f)
		}
	}
	return nil
}
