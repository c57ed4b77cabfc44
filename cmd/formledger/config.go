package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"formledger/handlers"
	"formledger/ledger/enquiry"
	"formledger/relay"
	"formledger/web"
)

// settings is the configuration file of a form server.
type settings struct {
	station
	TrustedProxies []string             `toml:"trusted_proxies"`
	PayloadKeys    string               `toml:"payload_keys"` // a file
	OutboxKeys     string               `toml:"outbox_keys"`  // a file
	Relay          *relaySettings       `toml:"relay"`
	Timing         relay.Timing         `toml:"timing"`
	Senders        int                  `toml:"senders"`
	Queue          relay.QueuePatience  `toml:"queue"`
	Retry          relay.RetryPatience  `toml:"retry"`
	Alert          *alertSettings       `toml:"alert"`
	Console        consoleSettings      `toml:"console"`
	Mailbox        *mailboxSettings     `toml:"mailbox"`
	Forms          []enquiry.Definition `toml:"form"`

	// Patience is what senders, queue and retry come to.
	Patience relay.Patience `toml:"-"`

	keyText    string // the keys themselves, from the environment
	outboxText string // likewise
	demo       bool   // no configuration file: the demo form
}

// config is a checked configuration.
type config struct {
	settings
	forms   []*enquiry.Form
	proxies []*net.IPNet
}

const (
	defaultListen = "127.0.0.1:8080"
	defaultData   = "formledger-data"
)

func (c config) ledgerFile() string { return filepath.Join(c.Data, "ledger", "formledger.db") }

// load reads the configuration: flags go before the environment, that before
// the file, and that before what is built in.
func load(p places, listen string, environ []string) (config, error) {
	env, err := readEnvironment(environ)
	if err != nil {
		return config{}, err
	}
	s, err := readSettings(firstOf(p.config, env.Config))
	if err != nil {
		return config{}, err
	}
	s.place(p, listen, env, defaultListen, defaultData)
	if len(env.TrustedProxies) > 0 {
		s.TrustedProxies = env.TrustedProxies
	}
	s.PayloadKeys = firstOf(env.PayloadKeysFile, s.PayloadKeys, filepath.Join(s.Data, "keys", "payload-hash"))
	s.OutboxKeys = firstOf(env.OutboxKeysFile, s.OutboxKeys, filepath.Join(s.Data, "keys", "outbox"))
	s.keyText, s.outboxText = env.PayloadKeys, env.OutboxKeys
	if err := errors.Join(s.readPassword(env), s.Relay.readKeys(env), s.readAlert(env), s.Mailbox.readPassword(env)); err != nil {
		return config{}, err
	}
	return check(s)
}

// readSettings reads a file, or the demo's settings if there is none.
func readSettings(file string) (settings, error) {
	if file == "" {
		s, err := parse("the demo", demoConfig)
		s.demo = true
		return s, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return settings{}, fmt.Errorf("reading the configuration: %w", err)
	}
	if ofRelay(string(text)) {
		return settings{}, fmt.Errorf("%s is the configuration of a relay; formledger relay runs it", file)
	}
	s, err := parse(file, string(text))
	s.beside(filepath.Dir(file))
	beside(filepath.Dir(file), &s.PayloadKeys, &s.OutboxKeys)
	s.webhooksBeside(file)
	if s.Alert != nil {
		beside(filepath.Dir(file), &s.Alert.SecretFile, &s.Alert.ServicesFile)
	}
	if s.Mailbox != nil {
		beside(filepath.Dir(file), &s.Mailbox.PasswordFile, &s.Mailbox.CAFile)
	}
	if s.Relay != nil {
		beside(filepath.Dir(file), &s.Relay.Keys, &s.Relay.CAFile)
	}
	return s, err
}

// beside makes relative paths of a file mean the file's own folder.
func beside(dir string, paths ...*string) {
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
}

// parse decodes and checks a file. Every fault names its line.
func parse(name, text string) (settings, error) {
	s := settings{}
	lines, faults, err := readTOML(name, text, &s)
	if err != nil {
		return s, err
	}
	s.Timing = s.timing()
	s.Patience = s.patience()
	impatient := s.Patience.Check(s.Timing)
	faults = append(faults, at(name, lines.first("timing"), s.Timing.Check()), at(name, lines.first("smtp"), s.SMTP.check()),
		at(name, lines.first("relay"), s.Relay.check()), at(name, lines.first(settingOf(impatient)), impatient),
		at(name, lines.first("alert"), s.Alert.check()), at(name, lines.first("console"), s.Console.check()), at(name, lines.first("mailbox"), s.Mailbox.check()))
	if s.Relay != nil && (s.SMTP != nil || s.Maildir != "") {
		faults = append(faults, at(name, lines.first("relay"), errors.New("the mail goes to the relay, so smtp and maildir belong into the relay's own configuration; please remove them here")))
	}
	texts, err := web.LoadTexts()
	if err != nil {
		return s, err
	}
	return s, errors.Join(append(faults, formFaults(name, lines, s.Forms, texts)...)...)
}

// at names the line of a fault; no fault stays none.
func at(name string, line int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s, line %d: %w", name, line, err)
}

// readTOML decodes a file, and finds the settings that there are none of.
func readTOML(name, text string, into any) (lines, []error, error) {
	meta, err := toml.Decode(text, into)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, nil, fmt.Errorf("%s, line %d: %s", name, syntax.Position.Line, syntax.Message)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := linesOf(text)
	var faults []error
	for _, key := range meta.Undecoded() {
		faults = append(faults, fmt.Errorf("%s, line %d: there is no setting %q; please check its spelling with formledger config example", name, lines.unknown(key), key.String()))
	}
	return lines, faults, nil
}

func formFaults(name string, lines lines, forms []enquiry.Definition, texts *web.Texts) []error {
	var faults []error
	named := map[string]bool{}
	for i, d := range forms {
		form, found := enquiry.Compile(d)
		if form != nil {
			if err := relay.CheckForm(form, handlers.MailWords(texts, form)); err != nil {
				found = append(found, enquiry.Fault{Message: err.Error()})
			}
		}
		if d.Lang != "" && texts.Lookup(d.Lang) == nil {
			found = append(found, enquiry.Fault{Path: []any{"lang"}, Message: fmt.Sprintf("there are no texts in the language %q; there are %s", d.Lang, texts.Tags())})
		}
		if named[d.Name] {
			found = append(found, enquiry.Fault{Path: []any{"name"}, Message: "another form has this name; every form needs its own"})
		}
		named[d.Name] = true
		for _, f := range found {
			faults = append(faults, fmt.Errorf("%s, line %d: form %q: %s", name, lines.of("form", i, f.Path...), d.Name, f.Message))
		}
	}
	return faults
}

// check compiles what the settings say.
func check(s settings) (config, error) {
	c := config{settings: s}
	if len(s.Forms) == 0 {
		return c, errors.New("the configuration has no [[form]]; formledger config example shows one")
	}
	if err := c.checkPublicURL(); err != nil {
		return c, err
	}
	for _, text := range s.TrustedProxies {
		network, err := parseNetwork(text)
		if err != nil {
			return c, err
		}
		c.proxies = append(c.proxies, network)
	}
	return c, c.compileForms()
}

func (c *config) compileForms() error {
	for _, d := range c.Forms {
		f, faults := enquiry.Compile(d)
		if len(faults) > 0 {
			return faults[0]
		}
		c.forms = append(c.forms, f)
	}
	return nil
}

// parseNetwork reads a network like 10.0.0.0/8, or a single address.
func parseNetwork(text string) (*net.IPNet, error) {
	if ip := net.ParseIP(text); ip != nil {
		bits := 8 * len(ip)
		if four := ip.To4(); four != nil {
			ip, bits = four, 32
		}
		return &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)}, nil
	}
	_, network, err := net.ParseCIDR(text)
	if err != nil {
		return nil, fmt.Errorf("trusted_proxies: %q is neither an address nor a network like 10.0.0.0/8", text)
	}
	return network, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
