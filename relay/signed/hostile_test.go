package signed

import (
	"context"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"formledger/relay"
)

// hostile is an answer that proves nothing, be it forged, mangled or broken.
type hostile struct {
	name string
	want string // the cause; several, if it depends on who is faster
	does func(*heard)

	accept func(net.Conn) bool // instead, as soon as there is a connection
	slow   bool                // our own deadline has to pass
	bomb   bool                // is about what it costs
}

const (
	doubtful  = "answer_unverified@answer"
	malformed = "answer_malformed@answer"
	tooLong   = "answer_too_long@answer"
	changedTo = "epoch_changed@answer"
	broken    = "closed@answer"
	overdue   = "deadline@answer"
)

// short is the deadline of a call that has to run into it.
const short = 800 * time.Millisecond

func allHostile() []hostile {
	return slices.Concat(hostileKeys(), hostileBindings(), hostileContents(), hostileHeaders(), hostileSpellings(),
		hostileDigests(), hostileComponents(), hostileBodies(), hostileJSON(), hostileStatuses(), hostileFraming(), hostileEndings(), bombs())
}

func TestNoHostileAnswerCountsForAnything(t *testing.T) {
	all := allHostile()
	t.Logf("%d hostile answers", len(all))
	names := map[string]bool{}
	for _, c := range all {
		if names[c.name] {
			t.Errorf("%q stands there twice", c.name)
		}
		names[c.name] = true
	}
	if len(all) < 80 {
		t.Errorf("%d hostile answers", len(all))
	}
	for _, secure := range []bool{false, true} {
		for _, c := range all {
			if secure && c.accept != nil {
				continue // there is no call before TLS stands
			}
			t.Run(map[bool]string{false: "plain/", true: "TLS/"}[secure]+c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, secure)
			})
		}
	}
}

func (c hostile) run(t *testing.T, secure bool) {
	r := newRelay(t, secure)
	r.plays(c.does)
	if c.accept != nil {
		r.greets(c.accept)
	}
	limit := patience
	if c.slow {
		limit = short
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	v := newSender(t, r).Send(ctx, relay.Mail{Message: message()}, forever())
	if took := time.Since(began); took > limit/2 && !c.slow || took > limit+5*time.Second {
		t.Errorf("took %s", took)
	}
	c.check(t, v)
	if requests := r.requests.Load(); c.accept == nil && requests != 1 || requests > 1 {
		t.Errorf("%d requests", requests)
	}
	if n := r.connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func (c hostile) check(t *testing.T, v relay.Verdict) {
	t.Helper()
	if v.Finding != relay.Unknown || v.Permanent || v.Receipt != "" || v.Partly || !v.Earlier.IsZero() {
		t.Errorf("says more than unknown: %+v", v)
	}
	if !slices.Contains(strings.Split(c.want, "|"), v.Cause.String()) {
		t.Errorf("%s, want %s", v.Cause, c.want)
	}
}

// Whatever is sent without end, or unpacks to much, is put down early. The
// relay's side runs in this process too, and counts.
func TestABombCostsLittle(t *testing.T) {
	for _, c := range allHostile() {
		if !c.bomb {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := newRelay(t, false)
			r.plays(c.does)
			s := newSender(t, r)
			ctx := within(t, patience)
			if c.slow {
				ctx = within(t, short)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v := s.Send(ctx, relay.Mail{Message: message()}, forever())
			runtime.ReadMemStats(&after)
			c.check(t, v)
			if cost := after.TotalAlloc - before.TotalAlloc; cost > 1<<20 {
				t.Errorf("%d bytes", cost)
			}
		})
	}
}

// What the table's answers are made from has to be taken when nobody changes it.
func TestAGenuineAnswerCounts(t *testing.T) {
	earlierText := func(a *Answer) { a.Code, a.Stage = "smtp_550", "rcpt" }
	for _, c := range []struct {
		name, want string
		does       func(*heard)
	}{
		{"accepted", "accepted", (*heard).answersWell},
		{"accepted, signed with the other valid pair", "accepted", heldKey("k2.ack")},
		{"accepted after 103", "accepted", func(h *heard) {
			h.Write([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"))
			h.answersWell()
		}},
		{"accepted in chunks", "accepted", changed(func(a *answer) {
			a.set("Content-Length", "0")
			a.drop("Content-Length")
			a.lines = append(a.lines, "Transfer-Encoding: chunked")
			a.body = chunked(a.body)
		})},
		{"accepted without a length", "accepted", func(h *heard) { changed(func(a *answer) { a.drop("Content-Length") })(h); h.Close() }},
		{"accepted, and another answer behind it", "accepted", func(h *heard) {
			h.answersWell()
			h.Write([]byte("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))
		}},
		{"accepted byte by byte", "accepted", func(h *heard) {
			for _, b := range h.signs(h.says(StatusAccepted, nil)).bytes() {
				h.Write([]byte{b})
			}
		}},
		{"refused", "not_sent relay_refused@relay", saysOf(StatusRefused, nil)},
		{"refused with a cause", "not_sent smtp_550@relay_rcpt", saysOf(StatusRefused, earlierText)},
		{"refused for good", "not_sent! smtp_550@relay_rcpt", saysOf(StatusRefused, func(a *Answer) { earlierText(a); a.Permanent = true })},
		{"sealed", "not_sent sealed@relay", saysOf(StatusSealed, nil)},
		{"processing", "unknown relay_processing@relay", saysOf(StatusProcessing, nil)},
		{"uncertain", "unknown relay_uncertain@relay", saysOf(StatusUncertain, nil)},
		{"uncertain with a cause", "unknown smtp_550@relay_rcpt", saysOf(StatusUncertain, earlierText)},
		{"unseen", "unknown relay_unseen@relay", saysOf(StatusUnseen, nil)},
		{"accepted for good means accepted", "accepted", saysOf(StatusAccepted, func(a *Answer) { a.Partly = true })},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(map[bool]string{false: "plain/", true: "TLS/"}[secure]+c.name, func(t *testing.T) {
				t.Parallel()
				r := newRelay(t, secure)
				r.plays(c.does)
				if v := send(t, newSender(t, r)); terse(v) != c.want {
					t.Errorf("%s, want %s", terse(v), c.want)
				}
				r.saw(1, 1)
			})
		}
	}
}
