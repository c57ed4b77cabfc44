package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
)

// settings is the configuration file.
type settings struct {
	Listen         string               `toml:"listen"`
	Data           string               `toml:"data"`
	PublicURL      string               `toml:"public_url"`
	TrustedProxies []string             `toml:"trusted_proxies"`
	PayloadKeys    string               `toml:"payload_keys"` // a file
	Maildir        string               `toml:"maildir"`
	SMTP           *smtpSettings        `toml:"smtp"`
	Timing         relay.Timing         `toml:"timing"`
	Forms          []enquiry.Definition `toml:"form"`

	keyText string // the keys themselves, from the environment
	demo    bool   // no configuration file: the demo form
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
	s.Listen = firstOf(listen, env.Listen, s.Listen, defaultListen)
	s.Data = firstOf(p.data, env.Data, s.Data, defaultData)
	s.PublicURL = firstOf(env.PublicURL, s.PublicURL)
	if len(env.TrustedProxies) > 0 {
		s.TrustedProxies = env.TrustedProxies
	}
	s.Maildir = firstOf(s.Maildir, filepath.Join(s.Data, "mail"))
	s.PayloadKeys = firstOf(env.PayloadKeysFile, s.PayloadKeys, filepath.Join(s.Data, "keys", "payload-hash"))
	s.keyText = env.PayloadKeys
	if err := s.readSecrets(env); err != nil {
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
	s, err := parse(file, string(text))
	beside(filepath.Dir(file), &s.Data, &s.Maildir, &s.PayloadKeys)
	if s.SMTP != nil {
		beside(filepath.Dir(file), &s.SMTP.PasswordFile, &s.SMTP.CAFile)
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
	meta, err := toml.Decode(text, &s)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return s, fmt.Errorf("%s, line %d: %s", name, syntax.Position.Line, syntax.Message)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	s.Timing = s.timing()
	lines := linesOf(text)
	var faults []error
	for _, key := range meta.Undecoded() {
		faults = append(faults, fmt.Errorf("%s, line %d: there is no setting %q; please check its spelling with formledger config example", name, lines.unknown(key), key.String()))
	}
	if err := s.Timing.Check(); err != nil {
		faults = append(faults, fmt.Errorf("%s, line %d: %w", name, lines.first("timing"), err))
	}
	if err := s.SMTP.check(); err != nil {
		faults = append(faults, fmt.Errorf("%s, line %d: %w", name, lines.first("smtp"), err))
	}
	return s, errors.Join(append(faults, formFaults(name, lines, s.Forms)...)...)
}

func formFaults(name string, lines lines, forms []enquiry.Definition) []error {
	var faults []error
	named := map[string]bool{}
	for i, d := range forms {
		form, found := enquiry.Compile(d)
		if form != nil {
			if err := relay.CheckForm(form); err != nil {
				found = append(found, enquiry.Fault{Message: err.Error()})
			}
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
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || strings.TrimSuffix(s.PublicURL, "/") != u.Scheme+"://"+u.Host {
			return c, fmt.Errorf("public_url %q is not an address like https://forms.example.com", s.PublicURL)
		}
		c.PublicURL = strings.TrimSuffix(s.PublicURL, "/")
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

// firstKeys opens the keys, and makes them at the first start, apart from the
// database.
func (c config) firstKeys() (*ledger.KeyRing, error) {
	if c.keyText == "" {
		if err := makeKeys(c.PayloadKeys, c.ledgerFile()); err != nil {
			return nil, err
		}
	}
	return c.openKeys()
}

// openKeys reads the keys of the payload hash.
func (c config) openKeys() (*ledger.KeyRing, error) {
	if c.keyText != "" {
		return ledger.ParseKeyRing(c.keyText)
	}
	return keysFrom(c.PayloadKeys)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
