package signed

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tricky is base64 that a key name could not be, and that shows when it leaks.
func tricky() string { return secretOf("tricky") }

func TestErrorsOfAKeyFileSayWhatIsWrong(t *testing.T) {
	secret := tricky()
	good := pair("k1")
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                     {"", "no relay key"},
		"comments alone":              {"# k\n\n  # more\n", "no relay key"},
		"one word":                    {secret, "line 1"},
		"six words":                   {"k1 call - - " + secret + " x", "line 1"},
		"in the third line":           {good + "k2 call - -\n", "line 3"},
		"name in capitals":            {"K1 call - - " + secret, "a–z"},
		"name with a dot":             {"k.1 call - - " + secret, "a–z"},
		"name too long":               {strings.Repeat("k", 33) + " call - - " + secret, "1–32"},
		"secret for a name":           {secret + " call - - k1", "a–z"},
		"direction":                   {"k1 both - - " + secret, "neither call nor ack"},
		"secret for a direction":      {"k1 " + secret + " - - call", "neither call nor ack"},
		"not before":                  {"k1 call 30.11.2026 - " + secret, "not before: neither a day like 2026-11-30"},
		"not after":                   {"k1 call - 2026-02-30 " + secret, "not after: neither a day like 2026-11-30"},
		"secret for a not before":     {"k1 call " + secret + " - -", "not before"},
		"secret for a not after":      {"k1 call - " + secret + " -", "not after"},
		"ends before it begins":       {"k1 call 2026-02-01 2026-01-01 " + secret, "ends before it begins"},
		"ends when it begins":         {"k1 call 2026-02-01 2026-02-01T00:00:00Z " + secret, "ends before it begins"},
		"secret too short":            {"k1 call - - " + secret[:60], "64 bytes"},
		"secret unpadded":             {"k1 call - - " + strings.TrimRight(secret, "="), "base64"},
		"secret in the other base64":  {"k1 call - - " + strings.Repeat("_-Aa", 22), "base64"},
		"secret with bits left over":  {"k1 call - - " + secret[:len(secret)-3] + "B==", "base64"},
		"secret in hex, too short":    {"k1 call - - " + strings.Repeat("0a", 32), "64 bytes"},
		"a key twice":                 {good + line("k1", Call, "-", "-"), `"k1" stands in the file twice`},
		"a secret twice in a pair":    {"k1 call - - " + secret + "\nk1 ack - - " + secret, "same secret"},
		"a secret twice":              {"k1 call - - " + secret + "\nk2 call - - " + secret, "same secret"},
		"half a pair, call":           {line("k1", Call, "-", "-"), `"k1" has no line for the direction ack`},
		"half a pair, ack":            {good + line("k2", Ack, "-", "-"), `"k2" has no line for the direction call`},
		"a mark before the first one": {"\ufeff" + good, "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKeys(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q in it", err, c.want)
			}
			for word := range strings.FieldsSeq(c.text) {
				if len(word) > 40 && strings.Contains(err.Error(), word[:20]) {
					t.Errorf("the error holds the secret: %v", err)
				}
			}
		})
	}
}

func TestAKeyFileMayBeWrittenByHand(t *testing.T) {
	text := "# ours\r\n\r\n  k1\tcall  2026-01-01 2027-01-01T12:00:00+01:00 " + secretOf("a") + "  \r\n" +
		"k1 ack - - " + secretOf("b") + "\r\n# end"
	keys := keysOf(t, text)
	k, _ := keys.byID("k1.call")
	if !k.NotBefore.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || !k.NotAfter.Equal(time.Date(2027, 1, 1, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", k.NotBefore, k.NotAfter)
	}
	if got := keys.Names(); !slices.Equal(got, []string{"k1"}) {
		t.Error(got)
	}
}

// Whoever prints or logs what holds keys must not print secrets.
func TestASecretIsNeverPrinted(t *testing.T) {
	keys := testKeys(t)
	k, _ := keys.byID("k1.call")
	w := newWire(t)
	var all []string
	for _, value := range []any{k, &k, keys, w.opened, &w.opened, struct{ K Key }{k}, []Key{k}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			all = append(all, fmt.Sprintf(verb, value))
		}
		all = append(all, string(must1(json.Marshal(value))))
	}
	for _, leak := range []string{"secret of", secretOf("k1.call"), "115 101 99 114", "0x73, 0x65, 0x63"} {
		if text := strings.Join(all, "\n"); strings.Contains(text, leak) {
			t.Errorf("%q in\n%s", leak, text)
		}
	}
}

func TestAKeyCountsFromAndUntil(t *testing.T) {
	keys := keysOf(t, line("k1", Call, "2026-01-01", "2026-02-01")+line("k1", Ack, "2026-01-01", "2026-03-01")+
		line("k2", Call, "2026-01-15", "2026-04-01")+line("k2", Ack, "-", "2026-03-15"))
	for _, c := range []struct{ at, signer, call1, ack1 string }{
		{"2025-12-31T23:59:59Z", "", "", ""},
		{"2026-01-01T00:00:00Z", "k1.call", "yes", "yes"},
		{"2026-01-31T23:59:59Z", "k1.call", "yes", "yes"},
		{"2026-02-01T00:00:00Z", "k2.call", "", "yes"},
		{"2026-03-01T00:00:00Z", "k2.call", "", ""},
		{"2026-03-20T00:00:00Z", "", "", ""}, // the second pair could not be answered any more
	} {
		at := must1(time.Parse(time.RFC3339, c.at))
		signer, err := keys.signer(at)
		if (c.signer == "") != errors.Is(err, ErrNoKey) || err == nil && signer.ID() != c.signer {
			t.Errorf("%s: %s, %v, want %s", c.at, signer, err, c.signer)
		}
		if check := keys.Check(at); !errors.Is(check, err) {
			t.Errorf("%s: %v, want %v", c.at, check, err)
		}
		_, call := keys.Find("k1.call", at)
		_, ack := keys.valid("k1.ack", Ack, at)
		if call != (c.call1 != "") || ack != (c.ack1 != "") {
			t.Errorf("%s: call %v, ack %v", c.at, call, ack)
		}
	}
	if _, found := keys.Find("k1.ack", must1(time.Parse(time.RFC3339, "2026-01-02T00:00:00Z"))); found {
		t.Error("a key for answers is found for calls")
	}
}

// While keys are changed, both ends take either pair, and an answer comes with
// the pair of its call.
func TestRotation(t *testing.T) {
	old, fresh := keysOf(t, pair("old")), keysOf(t, pair("new"))
	both := keysOf(t, pair("old")+pair("new"))
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name           string
		caller, relay  *Keys
		call, answered string
	}{
		{"before", old, old, "old.call", `keyid="old.ack"`},
		{"the relay has both", old, both, "old.call", `keyid="old.ack"`},
		{"the relay has both, the caller changed over", fresh, both, "new.call", `keyid="new.ack"`},
		{"both have both", both, both, "old.call", `keyid="old.ack"`},
		{"after", fresh, fresh, "new.call", `keyid="new.ack"`},
		{"too early", fresh, old, "", ""},
		{"too late", old, fresh, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := must1(http.NewRequest(http.MethodPost, "https://relay.example/v1/messages", nil))
			q, err := c.caller.SignCall(r, "relay.example", TagSend, "id", nil, now, rand.Reader)
			must(t, err)
			o, err := OpenCall(r, "relay.example", func(id string) (Key, bool) { return c.relay.Find(id, now) })
			if c.call == "" {
				if !errors.Is(err, ErrUnverified) {
					t.Errorf("%s, %v", o.Key, err)
				}
				return
			}
			must(t, err)
			h := http.Header{}
			must(t, c.relay.SignAnswer(h, 200, nil, o, now))
			if o.Key.ID() != c.call || !strings.Contains(h.Get("Signature-Input"), c.answered) {
				t.Errorf("%s, %s", o.Key, h)
			}
			must(t, c.caller.VerifyAnswer(200, h, nil, q, now))
		})
	}
}

func TestAnAnswerNeedsAValidKey(t *testing.T) {
	w := newWire(t)
	past, _ := w.keys.byID("past.call")
	w.opened.Key = past
	h := http.Header{}
	if err := w.keys.SignAnswer(h, 200, nil, w.opened, w.now); !errors.Is(err, ErrNoKey) || len(h) != 0 {
		t.Errorf("%v, %s", err, h)
	}
}

// A call is answered with the pair that it was signed with, even if the form
// server changes its keys meanwhile.
func TestKeysCanBeChangedDuringACall(t *testing.T) {
	r := newRelay(t, false)
	s := newSender(t, r)
	fresh := keysOf(t, pair("k2"))
	r.plays(func(h *heard) {
		if h.opened.Key.Name == "k1" {
			s.UseKeys(fresh)
		}
		h.answersWell()
	})
	for _, name := range []string{"first", "second"} {
		if v := send(t, s); terse(v) != "accepted" {
			t.Errorf("%s: %s", name, terse(v))
		}
	}
	r.saw(2, 2)
}

func TestManyCallsAtOnce(t *testing.T) {
	r := newRelay(t, false)
	s := newSender(t, r)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			s.UseKeys(r.keys)
			m := message()
			m.Claim[5] = byte(i)
			for _, v := range []string{terse(s.Inquire(within(t, patience), rowOf(m), i%2 == 0)), s.Epoch(within(t, patience))} {
				if v != "accepted" && v != epoch {
					t.Error(v)
				}
			}
		})
	}
	all.Wait()
	r.saw(31, 31)
}

func TestANewKeyFile(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 30, 0, 0, time.FixedZone("", -3600)) // the next day in UTC
	one, err := NewKeyFile(rand.Reader, now)
	must(t, err)
	two, err := NewKeyFile(rand.Reader, now)
	must(t, err)
	if one == two {
		t.Error("the same key twice")
	}
	both := keysOf(t, one+two)
	names := both.Names()
	if len(names) != 2 || names[0] == names[1] || !strings.HasPrefix(names[0], "k-") {
		t.Error(names)
	}
	if both.Check(now) != nil || both.Check(now.Add(-31*time.Minute)) == nil {
		t.Error("not valid from its day on")
	}
	for _, k := range both.keys {
		if len(k.secret) != secretBytes || !k.NotAfter.IsZero() {
			t.Errorf("%s: %d bytes, until %s", k, len(k.secret), k.NotAfter)
		}
	}
	for n := range 2*secretBytes + 4 {
		if text, err := NewKeyFile(strings.NewReader(strings.Repeat("x", n)), now); err == nil || text != "" {
			t.Errorf("with %d bytes of randomness: %q, %v", n, text, err)
		}
	}
}
