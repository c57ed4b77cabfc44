package server

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

// Whoever has stolen a key is held to the lists of its caller.
func TestOnlyTheListedAddressesAreAllowed(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Callers[0].From = []string{"Shop <form@Shop.Example>", "Other@shop.example"}
		c.Callers[0].To = []string{"The owner <owner@shop.example>", "office@shop.example"}
	})
	for from, ok := range map[string]bool{
		shop: true, "form@SHOP.example": true, "Anybody <form@shop.example>": true, "Other@shop.example": true,
		"Form@shop.example": false, "other@shop.example": false, "form@shop.example.evil.example": false,
		"form@evil.example": false, "": false, "form@shop.example, x@evil.example": false,
		"form@shop.example <x@evil.example>": false, `"form@shop.example" <x@evil.example>`: false,
		"x@evil.example (form@shop.example)": false, "form@shop.example\r\nBcc: x@evil.example": false,
	} {
		m := b.message()
		m.From = from
		if a := b.sends(m); ok != (a.Status == signed.StatusAccepted) || !ok && a.Code != "from_not_allowed" {
			t.Errorf("from %q: %+v", from, a)
		}
	}
	for to, ok := range map[string]bool{
		owner: true, "owner@SHOP.EXAMPLE": true, "X <office@shop.example>": true,
		"owner@shop.example;office@shop.example": true,
		"owner@shop.example;x@evil.example":      false, "x@evil.example": false, "Owner@shop.example": false,
		"owner@shop.example, x@evil.example": false, "owner@shop.example\r\nBcc: x@evil.example": false,
		"owner@evil.example": false, "": false, "any": false,
	} {
		m := b.message()
		m.To = strings.Split(to, ";")
		if a := b.sends(m); ok != (a.Status == signed.StatusAccepted) || !ok && (a.Code != "to_not_allowed" || !a.Permanent) {
			t.Errorf("to %q: %+v", to, a)
		}
	}
	for _, mail := range b.box.mails {
		if strings.Contains(string(mail.Bytes), "evil") {
			t.Errorf("sent: %s", mail.Bytes)
		}
	}
}

func anyone(limit int) func(*Config) {
	return func(c *Config) { c.Callers[0].AnyRecipient, c.Callers[0].DailyLimit = true, limit }
}

func (b *bench) messageTo(to ...string) signed.Message {
	m := b.message()
	m.To = to
	return m
}

func TestAnyRecipientIsAllowedUpToTheDailyLimit(t *testing.T) {
	b := newBench(t, anyone(3))
	b.wants(b.sends(b.messageTo("a@one.example")), signed.StatusAccepted, "")
	b.clock.advance(time.Hour)
	b.wants(b.sends(b.messageTo("a@one.example", "b@two.example")), signed.StatusAccepted, "")
	third := b.messageTo("c@three.example")
	for range 2 {
		a := b.sends(third)
		b.wants(a, signed.StatusRefused, "daily_limit")
		if a.Permanent {
			t.Error("permanent, though there is another day")
		}
	}
	b.wantMails(2)
	b.clock.advance(23*time.Hour + time.Minute) // the first is a day old
	b.wants(b.sends(again(t, third)), signed.StatusAccepted, "")
	b.wants(b.sends(again(t, third)), signed.StatusAccepted, "") // before, so it is not counted
	b.wants(b.sends(b.messageTo("d@four.example")), signed.StatusRefused, "daily_limit")
	b.wants(b.sends(third), signed.StatusRefused, "daily_limit")
	b.wantMails(3)
}

func TestMoreRecipientsThanADayAllowsIsForGood(t *testing.T) {
	b := newBench(t, anyone(1))
	a := b.sends(b.messageTo("a@one.example", "b@two.example"))
	b.wants(a, signed.StatusRefused, "daily_limit")
	if !a.Permanent {
		t.Error("not permanent")
	}
}

func TestWhatIsProvenNotSentDoesNotCountForTheDailyLimit(t *testing.T) {
	b := newBench(t, anyone(1))
	b.box.says(relay.ProvenNotSent("greylisted", "rcpt"))
	b.wants(b.sends(b.message()), signed.StatusRefused, "greylisted")
	b.box.says(relay.UnknownAfter("timeout", "dot"))
	b.wants(b.sends(b.message()), signed.StatusUncertain, "timeout")
	b.wants(b.sends(b.message()), signed.StatusRefused, "daily_limit") // the uncertain one does
}

func TestCallsAtOnceKeepTheDailyLimit(t *testing.T) {
	b := newBench(t, anyone(3))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { b.sendsAside(b.message()) })
	}
	all.Wait()
	b.wantMails(3)
}

func TestACallerWithListedRecipientsHasADailyLimitToo(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Callers[0].DailyLimit = 1 })
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
	b.wants(b.sends(b.message()), signed.StatusRefused, "daily_limit")
}

// twoCallers adds a second form server to the relay.
func twoCallers(keys *signed.Keys) func(*Config) {
	return func(c *Config) {
		c.Callers = append(c.Callers, Caller{Name: "school", Keys: keys, From: []string{"form@school.example"}, To: []string{"office@school.example"}, DailyLimit: 1})
	}
}

func TestCallersHaveNothingInCommon(t *testing.T) {
	keys := freshKeys(t)
	b := newBench(t, twoCallers(keys))
	m := b.message()
	b.sends(m)
	school := &formServer{keys: keys, now: b.clock.now, address: b.form.address}
	res, err := school.send(b.message())
	must(t, err)
	if a, err := signed.ParseAnswer(res.body); err != nil || !res.signed || a.Code != "from_not_allowed" {
		t.Errorf("%v, %+v", err, a)
	}
	same := again(t, m) // the same ID, of another form server
	same.From, same.To = "form@school.example", []string{"office@school.example"}
	res, err = school.send(same)
	must(t, err)
	if a, err := answer(res, same); err != nil || a.Status != signed.StatusAccepted || a.Earlier != "" {
		t.Errorf("%v, %+v", err, a)
	}
	res, err = school.inquire(m, false)
	b.turnedAway(http.StatusConflict, res, err)
	b.wants(b.asks(m), signed.StatusAccepted, "")
	b.wantMails(2)
}

// With another name in the configuration a form server is somebody else: it may
// not hear that its accepted claims were never seen.
func TestARenamedCallerGetsNoFalseProof(t *testing.T) {
	b := newBench(t)
	m := b.message()
	b.sends(m)
	b.start(b.calls, func(c *Config) { c.Callers[0].Name = "store" })
	res, err := b.form.inquire(m, false)
	b.turnedAway(http.StatusConflict, res, err)
	res, err = b.form.send(m)
	b.turnedAway(http.StatusConflict, res, err)
	b.wantMails(1)
	b.wantRows(1)
}

func TestKeysAreRotatedWithoutAGap(t *testing.T) {
	one, two := pair(t), pair(t)
	b := newBench(t)
	b.form.keys = readKeys(t, one)
	b.start(b.calls)
	m := b.message()
	b.sends(m)

	b.form.keys = readKeys(t, one, two) // the relay learns the second pair
	b.start(b.calls)
	b.form.keys = readKeys(t, one)
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
	b.form.keys = readKeys(t, two) // the form server changes over
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
	b.wants(b.asks(m), signed.StatusAccepted, "")

	b.start(b.calls) // the relay forgets the first
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
	b.form.keys = readKeys(t, one)
	res, err := b.form.send(b.message())
	b.turnedAway(http.StatusUnauthorized, res, err)
	b.wantMails(4)
	b.wantRows(4)
}

func TestCallersAreChangedWhileTheRelayRuns(t *testing.T) {
	b := newBench(t)
	m, old := b.message(), b.form.keys
	entered, letGo := held(b, relay.AcceptedWith("250 taken"))
	defer letGo()
	first := make(chan signed.Answer, 1)
	go func() { first <- b.sendsAside(m) }()
	<-entered
	shopWith := func(keys *signed.Keys) Caller {
		return Caller{Name: "shop", Keys: keys, From: []string{shop}, To: []string{owner}}
	}
	if err := b.server.SetCallers([]Caller{shopWith(old), shopWith(old)}); err == nil {
		t.Error("two callers of one name were taken")
	}
	b.wants(b.asks(m), signed.StatusProcessing, "") // the keys of before
	fresh := freshKeys(t)
	must(t, b.server.SetCallers([]Caller{shopWith(fresh)}))
	res, err := b.form.inquire(m, false)
	b.turnedAway(http.StatusUnauthorized, res, err)
	letGo()
	b.wants(<-first, signed.StatusAccepted, "") // verified before, so signed with the key of before
	b.form.keys = fresh
	b.wants(b.asks(m), signed.StatusAccepted, "")
	b.wantMails(1)
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	keys := freshKeys(t)
	for says, spoil := range map[string]func(*Config){
		"no caller":        func(c *Config) { c.Callers = nil },
		"same key":         func(c *Config) { c.Callers = append(c.Callers, c.Callers[0]); c.Callers[1].Name = "twin" },
		"two callers":      func(c *Config) { c.Callers = append(c.Callers, c.Callers[0]); c.Callers[1].Keys = freshKeys(t) },
		"needs a daily":    func(c *Config) { c.Callers[0].AnyRecipient = true },
		"daily limit of":   func(c *Config) { c.Callers[0].DailyLimit = -1 },
		"from: address":    func(c *Config) { c.Callers[0].From = []string{"nobody"} },
		"to: address":      func(c *Config) { c.Callers[0].To = []string{owner, ""} },
		"from no address":  func(c *Config) { c.Callers[0].From = nil },
		"to no address":    func(c *Config) { c.Callers[0].To = nil },
		"no name":          func(c *Config) { c.Callers[0].Name = "" },
		"no keys":          func(c *Config) { c.Callers[0].Keys = nil },
		"lease is":         func(c *Config) { c.Lease = c.CallTimeout + c.Settle },
		"is no duration":   func(c *Config) { c.Settle = 0 },
		"-1s is no":        func(c *Config) { c.CallTimeout = -time.Second },
		"0s is no duratio": func(c *Config) { c.Lease = 0 },
	} {
		c := Config{
			Callers: []Caller{{Name: "shop", Keys: keys, From: []string{shop}, To: []string{owner}}},
			Now:     time.Now, CallTimeout: time.Second, Settle: time.Second, Lease: time.Minute,
		}
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
