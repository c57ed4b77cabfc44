package signed

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp/smtptest"
)

// attempt is a call that does not begin, and why.
type attempt struct {
	name, want string
	secure     bool
	prepare    func(*testing.T, *scripted)
	config     func(*Config)
	message    func(*relay.Message)
	ctx        func(*testing.T) context.Context
	lease      relay.Lease
	connects   int
}

// fails is a source of randomness that has none.
type fails struct{}

func (fails) Read([]byte) (int, error) { return 0, errors.New("no randomness") }

func attempts(t *testing.T) []attempt {
	began := time.Now()
	lapsed := relay.NewLease(began.Add(time.Minute), func() time.Time { return began.Add(time.Minute) })
	setBack := relay.NewLease(began.Add(time.Minute), func() time.Time { return began.Round(0).Add(2 * time.Minute) })
	stopped, stop := context.WithCancel(context.Background())
	lastMoment := relay.NewLease(began.Add(time.Hour), func() time.Time { stop(); return began })
	url := func(address string) func(*Config) { return func(c *Config) { c.URL = address } }
	keys := func(text string) func(*Config) { return func(c *Config) { c.Keys = keysOf(t, text) } }
	shows := func(which func(smtptest.Certificates) (c smtptest.Certificates)) func(*testing.T, *scripted) {
		return func(t *testing.T, r *scripted) { r.shows(which(smtptest.PKI(t)).Good) }
	}
	return []attempt{
		{name: "nobody listens", want: "connect_refused@connect", prepare: func(_ *testing.T, r *scripted) { r.ln.Close() }},
		{name: "nobody listens, with TLS", want: "connect_refused@connect", secure: true, prepare: func(_ *testing.T, r *scripted) { r.ln.Close() }},
		{name: "a name that does not exist", want: "dns@connect", config: url("https://relay.invalid")},
		{name: "a port that does not exist", want: "connect_failed@connect|dns@connect", config: url("http://127.0.0.1:70000")},
		{name: "an unknown authority", want: "certificate_untrusted@tls", secure: true, connects: 1, config: func(c *Config) { c.RootCAs = nil }},
		{name: "another name", want: "certificate_name@tls", secure: true, connects: 1,
			prepare: shows(func(c smtptest.Certificates) smtptest.Certificates { c.Good = c.Other; return c })},
		{name: "an expired certificate", want: "certificate_expired@tls", secure: true, connects: 1,
			prepare: shows(func(c smtptest.Certificates) smtptest.Certificates { c.Good = c.Expired; return c })},
		{name: "no TLS there", want: "not_tls@tls", secure: true, connects: 1, prepare: func(_ *testing.T, r *scripted) {
			r.greets(func(c net.Conn) bool { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); return false })
		}},
		{name: "closed before TLS stands", want: "closed@tls|reset@tls", secure: true, connects: 1, prepare: func(_ *testing.T, r *scripted) {
			r.greets(func(net.Conn) bool { return true })
		}},
		{name: "silence before TLS stands", want: "deadline@tls", secure: true, connects: 1, ctx: within0(short), prepare: func(_ *testing.T, r *scripted) {
			r.greets(func(c net.Conn) bool { c.Read(make([]byte, 1)); time.Sleep(2 * short); return true })
		}},
		{name: "the lease has lapsed", want: "lease_lapsed@call", connects: 1, lease: lapsed},
		{name: "the lease has lapsed, with TLS", want: "lease_lapsed@call", secure: true, connects: 1, lease: lapsed},
		{name: "the lease has lapsed by the wall clock", want: "lease_lapsed@call", connects: 1, lease: setBack},
		{name: "our time is over", want: "deadline@connect", ctx: within0(-time.Second)},
		{name: "we are told to stop", want: "deadline@connect", ctx: func(*testing.T) context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		}},
		{name: "we are told to stop at the last moment", want: "deadline@call", connects: 1, lease: lastMoment,
			ctx: func(*testing.T) context.Context { return stopped }},
		{name: "no key counts any more", want: "no_valid_key@sign", connects: 1, config: keys(line("k1", Call, "-", "2020-01-01") + line("k1", Ack, "-", "-"))},
		{name: "no key counts yet", want: "no_valid_key@sign", connects: 1, config: keys(line("k1", Call, "2200-01-01", "-") + line("k1", Ack, "-", "-"))},
		{name: "no key counts that could sign the answer", want: "no_valid_key@sign", connects: 1, config: keys(line("k1", Call, "-", "-") + line("k1", Ack, "-", "2020-01-01"))},
		{name: "no randomness", want: "no_valid_key@sign", connects: 1, config: func(c *Config) { c.Random = fails{} }},
		{name: "no epoch", want: "relay_unknown@connect", message: func(m *relay.Message) { m.RelayEpoch = "" }},
		{name: "longer than a relay takes", want: "message_too_large@sign", message: func(m *relay.Message) { m.Text = strings.Repeat("x", MaxCall) }},
		{name: "a date that JSON cannot hold", want: "answer_malformed@sign", message: func(m *relay.Message) { m.Date = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }},
	}
}

func within0(d time.Duration) func(*testing.T) context.Context {
	return func(t *testing.T) context.Context { return within(t, d) }
}

// Not sent is said if no byte of the call can have left, and the relay indeed
// has none.
func TestNotSentIsSaidIfNoByteLeft(t *testing.T) {
	for _, a := range attempts(t) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.run(t)
		})
	}
}

func (a attempt) run(t *testing.T) {
	r := newRelay(t, a.secure)
	if a.prepare != nil {
		a.prepare(t, r)
	}
	config := Config{URL: r.url(), Keys: r.keys, RootCAs: smtptest.PKI(t).Roots}
	if a.config != nil {
		a.config(&config)
	}
	s, err := New(config)
	must(t, err)
	m := message()
	if a.message != nil {
		a.message(&m)
	}
	ctx, lease := within(t, patience), a.lease
	if a.ctx != nil {
		ctx = a.ctx(t)
	}
	if lease.Until().IsZero() {
		lease = forever()
	}
	v := s.Send(ctx, relay.Mail{Message: m}, lease)
	if v.Finding != relay.NotSent || v.Permanent != (v.Cause.Code == codeTooLarge) || !strings.Contains("|"+a.want+"|", "|"+v.Cause.String()+"|") {
		t.Errorf("%s, want %s", terse(v), a.want)
	}
	if !strings.Contains(a.want, "refused") {
		r.saw(a.connects, 0)
	}
}
