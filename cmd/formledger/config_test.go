package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/smtp"
)

// written puts a configuration into a file.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "formledger.toml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// twoForms is a configuration without faults; a test breaks one of its lines.
const twoForms = `listen = "127.0.0.1:0"
public_url = "https://forms.example.com"

[timing]
sweep = "1s"

[[form]]
name = "contact"
to = "office@shop.example"
from = "form@shop.example"
contact = "Call us."
policy = "hold"

[[form.field]]
name = "email"
kind = "email"
rules = "required"

[[form]] # the second one
name = "booking"
to = ["office@shop.example"]
from = "form@shop.example"
contact = "Call us."
[[form.field]]
name = "name"
kind = "text"

[[form.field]]
name = "guests"
kind = "select"
options = ["one", "two"]
rules = "required,max=3"
`

func TestAFaultyConfigurationNamesItsLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		line     int
		says     string
	}{
		"unknown key":               {"[timing]", "lisen = 1\n[timing]", 4, `there is no setting "lisen"`},
		"unknown key of a form":     {"name = \"booking\"", "name = \"booking\"\nrecipient = \"x\"", 21, `"form.recipient"`},
		"unknown key of a field":    {"kind = \"select\"", "knd = \"select\"", 30, `"form.field.knd"`},
		"unknown table":             {"[timing]", "[timings]", 4, `"timings`},
		"no recipient":              {"to = \"office@shop.example\"\n", "", 7, "at least one recipient"},
		"an empty recipient":        {"to = [\"office@shop.example\"]", "to = []", 21, "at least one recipient"},
		"no contact line":           {"contact = \"Call us.\"\npolicy", "policy", 7, "needs a contact line"},
		"an empty contact line":     {"contact = \"Call us.\"\n[[", "contact = \" \"\n[[", 23, "needs a contact line"},
		"no such rule":              {"rules = \"required\"", "rules = \"requird\"", 17, "requird"},
		"no such rule, second form": {"rules = \"required,max=3\"", "rules = \"required,max=x\"", 32, `form "booking"`},
		"no such kind":              {"kind = \"select\"", "kind = \"choice\"", 30, "kind is one of"},
		"no options":                {"options = [\"one\", \"two\"]", "options = []", 31, "needs options"},
		"no such policy":            {"policy = \"hold\"", "policy = \"held\"", 12, `policy is "hold", "queue" or "retry"`},
		"a pause of nothing":        {"[[form]]\nname = \"contact\"", "[queue]\npauses = [\"1m\", \"0s\"]\n[[form]]\nname = \"contact\"", 7, "0s is no pause"},
		"no pause":                  {"[[form]]\nname = \"contact\"", "[queue]\npauses = [\"soon\"]\n[[form]]\nname = \"contact\"", 8, "invalid duration"},
		"a lease too short":         {"[[form]]\nname = \"contact\"", "[retry]\nlease = \"40s\"\n[[form]]\nname = \"contact\"", 7, "retry: lease is 40s; it has to be longer"},
		"more attempts than claims": {"[[form]]\nname = \"contact\"", "[retry]\nattempts = 20\n[[form]]\nname = \"contact\"", 7, "attempts is 20 and claims is 16"},
		"too many senders":          {"listen =", "senders = 1000\nlisten =", 1, "senders has to be between 1 and 256"},
		"no address to alert":       {"[[form]]\nname = \"contact\"", "[alert]\nurl = \"ops\"\n[[form]]\nname = \"contact\"", 7, "alert: url is not an address"},
		"a secret for nothing":      {"[[form]]\nname = \"contact\"", "[alert]\nsecret_file = \"x\"\n[[form]]\nname = \"contact\"", 7, "no url that it is for"},
		"gathered for a day":        {"[[form]]\nname = \"contact\"", "[alert]\ngather = \"24h\"\n[[form]]\nname = \"contact\"", 7, "gather is 24h0m0s; it has to be between"},
		"old at once":               {"[[form]]\nname = \"contact\"", "[alert]\nolder = \"1s\"\n[[form]]\nname = \"contact\"", 7, "older is 1s; it has to be between"},
		"no address of a console":   {"[[form]]\nname = \"contact\"", "[console]\nurl = \"desk.example.com\"\n[[form]]\nname = \"contact\"", 7, "is not an address like https://desk.example.com"},
		"no host of the mailbox":    {"[[form]]\nname = \"contact\"", "[mailbox]\nusername = \"x\"\n[[form]]\nname = \"contact\"", 7, "the host of the mailbox"},
		"no such language":          {"policy = \"hold\"", "lang = \"tlh\"", 12, `no texts in the language "tlh"; there are ar, de`},
		"one name twice":            {"name = \"booking\"", "name = \"contact\"", 20, "another form has this name"},
		"a bad name":                {"name = \"booking\"", "name = \"Booking!\"", 20, "lower-case letters"},
		"contradicting deadlines":   {"sweep = \"1s\"", "lease = \"1s\"", 4, "lease is 1s; it has to be longer"},
		"no duration":               {"sweep = \"1s\"", "sweep = \"1 s\"", 5, "invalid duration"},
		"an answer too late":        {"[timing]\nsweep", "timing.answer = \"11s\"\ntiming.sweep", 4, "visitors wait 10s at most"},
		"syntax":                    {"kind = \"select\"", "kind = \"select", 30, "newline"},
		"a key twice":               {"policy = \"hold\"", "name = \"other\"", 12, "already been defined"},
		"a number for a text":       {"listen = \"127.0.0.1:0\"", "listen = 8080", 1, "listen"},
	} {
		text := strings.Replace(twoForms, c.old, c.new, 1)
		if text == twoForms {
			t.Fatalf("%s: nothing was broken", name)
		}
		file := written(t, text)
		for _, args := range [][]string{{"config", "check"}, {"serve", "--data", t.TempDir()}} {
			r := command(nil, append(args, "--config", file)...)
			complaint := regexp.MustCompile(fmt.Sprintf(`line %d\b.*%s`, c.line, regexp.QuoteMeta(c.says)))
			if r.code != exitFailed || !complaint.MatchString(r.err) {
				t.Errorf("%s: exit code %d, want %d, line %d and %q:\n%s", name, r.code, exitFailed, c.line, c.says, r.err)
			}
		}
	}
}

func TestOtherFaultsOfAConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		environ []string
		says    string
	}{
		"no form":           {text: "listen = \"127.0.0.1:0\"\n", says: "has no [[form]]; formledger config example shows one"},
		"public_url":        {text: "public_url = \"forms.example.com\"\n" + twoForms[strings.Index(twoForms, "[timing]"):], says: "like https://forms.example.com"},
		"trusted_proxies":   {text: "trusted_proxies = [\"proxy\"]\n" + twoForms, says: "neither an address nor a network"},
		"unknown variable":  {text: twoForms, environ: []string{"FORMLEDGER_LISTN=x"}, says: "FORMLEDGER_LISTN is not known"},
		"two outbox keys":   {text: twoForms, environ: []string{"FORMLEDGER_OUTBOX_KEYS=a", "FORMLEDGER_OUTBOX_KEYS_FILE=b"}, says: "both FORMLEDGER_OUTBOX_KEYS and"},
		"two passwords":     {text: twoForms, environ: []string{"FORMLEDGER_MAILBOX_PASSWORD=a", "FORMLEDGER_MAILBOX_PASSWORD_FILE=b"}, says: "both FORMLEDGER_MAILBOX_PASSWORD and"},
		"two secrets":       {text: twoForms, environ: []string{"FORMLEDGER_ALERT_SECRET=a", "FORMLEDGER_ALERT_SECRET_FILE=b"}, says: "both FORMLEDGER_ALERT_SECRET and"},
		"two lists":         {text: twoForms, environ: []string{"FORMLEDGER_ALERT_SERVICES=a", "FORMLEDGER_ALERT_SERVICES_FILE=b"}, says: "both FORMLEDGER_ALERT_SERVICES and"},
		"two kinds of keys": {text: twoForms, environ: []string{"FORMLEDGER_PAYLOAD_KEYS=a", "FORMLEDGER_PAYLOAD_KEYS_FILE=b"}, says: "please set one"},
	} {
		file := written(t, c.text)
		r := command(c.environ, "serve", "--config", file, "--data", t.TempDir())
		if r.code != exitFailed || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", name, r.code, exitFailed, c.says, r.err)
		}
	}
	command(nil, "config", "check", "--config", "no such file").check(t, exitFailed, "reading the configuration", "no such file")
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("contact = \"Call us.\"\n", "", "rules = \"required\"", "rules = \"bogus\"").Replace(twoForms)
	command(nil, "config", "check", "--config", written(t, text)).check(t, exitFailed, "line 7:", "line 16:", "line 18:")
}

func TestTheExampleConfigurationIsFine(t *testing.T) {
	t.Parallel()
	example := command(nil, "config", "example")
	example.check(t, exitDone, "[[form]]", "[[form.field]]")
	command(nil, "config", "check", "--config", written(t, example.out)).check(t, exitDone, "The configuration is fine; its forms: contact")
	command(nil, "config", "check").check(t, exitDone, "contact") // the demo
	command(nil, "config", "check", "--config", written(t, twoForms)).check(t, exitDone, "contact, booking")
}

// What the example comments out stands at its default: with the comments taken
// away it means the same.
func TestTheExampleTellsTheDefaults(t *testing.T) {
	t.Parallel()
	plain := command(nil, "config", "example").out
	set := plain
	for _, setting := range []string{"answer", "call", "settle", "lease", "sweep", "unsent", "max_body", "max_fields", "max_chars", "maildir", "payload_keys",
		"outbox_keys", "senders", "pauses", "look", "lease", "sweep", "older", "attempts", "claims"} {
		before := set
		set = strings.Replace(set, "# "+setting+" = ", setting+" = ", 1)
		if set == before {
			t.Errorf("the example does not show %s", setting)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "formledger.toml")
	loaded := func(text string) string {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		c, err := load(places{config: file}, "", nil)
		must(t, err)
		return fmt.Sprintf("%+v %+v %+v %s %s %s %s", c.Timing, c.Patience, c.forms[0].Def(), c.Data, c.Maildir, c.PayloadKeys, c.OutboxKeys)
	}
	if one, two := loaded(plain), loaded(set); one != two {
		t.Errorf("without:\n%s\nwith:\n%s", one, two)
	}
}

func TestFlagsGoBeforeVariablesAndThoseBeforeTheFile(t *testing.T) {
	t.Parallel()
	file := written(t, "data = \"of-file\"\n"+twoForms)
	of := func(p places, listen string, environ ...string) config {
		t.Helper()
		c, err := load(p, listen, environ)
		must(t, err)
		return c
	}
	environ := []string{
		"FORMLEDGER_CONFIG=" + file, "FORMLEDGER_DATA=/of-variable", "FORMLEDGER_LISTEN=127.0.0.1:1", "FORMLEDGER_PUBLIC_URL=https://variable.example",
		"FORMLEDGER_TRUSTED_PROXIES=10.0.0.0/8, ::1", "FORMLEDGER_PAYLOAD_KEYS_FILE=/keys", "FORMLEDGER_FAILPOINT=x", "OTHER=x",
	}
	inFile := of(places{config: file}, "")
	if want := filepath.Join(filepath.Dir(file), "of-file"); inFile.Data != want || inFile.Maildir != want+"/mail" || inFile.PayloadKeys != want+"/keys/payload-hash" {
		t.Errorf("paths of the file: %+v", inFile.settings)
	}
	v := of(places{}, "", environ...)
	if v.Data != "/of-variable" || v.Listen != "127.0.0.1:1" || v.PublicURL != "https://variable.example" || v.PayloadKeys != "/keys" || len(v.proxies) != 2 {
		t.Errorf("variables do not go before the file: %+v", v.settings)
	}
	if !v.proxies[0].Contains(net.ParseIP("10.1.2.3")) || !v.proxies[1].Contains(net.ParseIP("::1")) || v.proxies[1].Contains(net.ParseIP("::2")) {
		t.Errorf("the proxies are %v", v.proxies)
	}
	if f := of(places{data: "/of-flag"}, "127.0.0.1:2", environ...); f.Data != "/of-flag" || f.Listen != "127.0.0.1:2" {
		t.Errorf("flags do not go before variables: %+v", f.settings)
	}
	if d := of(places{}, ""); d.Data != defaultData || d.Listen != defaultListen || !d.demo {
		t.Errorf("built in: %+v", d.settings)
	}
}

func TestPatienceFollowsTheDeadlines(t *testing.T) {
	t.Parallel()
	of := func(text string) relay.Patience {
		t.Helper()
		s, err := parse("a test", text+contactForm)
		must(t, err)
		return s.Patience
	}
	usual := relay.DefaultPatience()
	if got := of(""); !reflect.DeepEqual(got, usual) {
		t.Errorf("%+v, want %+v", got, usual)
	}
	far := of("[smtp]\nhost = \"mail.example.com\"\n")
	if work := relay.DefaultTiming().For(smtp.DefaultDeadlines().Total()).Call + relay.DefaultTiming().Settle; far.Retry.Lease <= work {
		t.Errorf("the lease is %s, and a call may take %s", far.Retry.Lease, work)
	}
	set := of("senders = 2\n[queue]\npauses = []\nlook = \"2s\"\n[retry]\nlease = \"3m\"\nsweep = \"4m\"\nolder = \"5m\"\nattempts = 3\nclaims = 4\n")
	want := relay.Patience{Queue: relay.QueuePatience{Pauses: []time.Duration{}, Look: 2 * time.Second}, Senders: 2,
		Retry: relay.RetryPatience{Lease: 3 * time.Minute, Sweep: 4 * time.Minute, Older: 5 * time.Minute, Attempts: 3, Claims: 4}}
	if !reflect.DeepEqual(set, want) {
		t.Errorf("%+v, want %+v", set, want)
	}
}
