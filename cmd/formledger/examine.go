package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"formledger/ledger/enquiry"
	"formledger/ledger/sqlledger"
	"formledger/relay"
	"formledger/relay/smtp"
)

func examineKeys(cfg config) finding {
	if cfg.keyText == "" && !exists(cfg.PayloadKeys) && !exists(cfg.ledgerFile()) {
		return notMade("keys", filepath.Dir(cfg.PayloadKeys))
	}
	ring, err := cfg.openKeys()
	if err != nil {
		return fail("keys", err.Error(), "put the key file back from its copy, readable by formledger alone")
	}
	where := cfg.PayloadKeys
	if cfg.keyText != "" {
		where = "the environment"
	}
	return ok("keys", fmt.Sprintf("%d in %s; keep a copy apart from the ledger", ring.Len(), where))
}

const ofUser = "see that it is a folder on a local disk and belongs to the user who runs formledger"

// notMade is said of what the first start makes, if it can.
func notMade(subject, dir string) finding {
	if err := usable(dir); err != nil {
		return fail(subject, err.Error(), ofUser)
	}
	return ok(subject, "not made yet: the first start makes it")
}

// usable reports why a folder cannot be written to, or cannot be made. It asks,
// and tries nothing.
func usable(dir string) error {
	info, err := os.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	}
	return mayWrite(dir)
}

// examineLedger looks without opening the ledger for writing: a doctor recovers
// nothing and makes nothing.
func examineLedger(ctx context.Context, cfg config) finding {
	file := cfg.ledgerFile()
	if !exists(file) {
		return notMade("ledger", filepath.Dir(file))
	}
	if err := errors.Join(usable(filepath.Dir(file)), mayWrite(file)); err != nil {
		return fail("ledger", err.Error(), ofUser)
	}
	made, err := sqlledger.Examine(ctx, file)
	switch {
	case err != nil:
		return fail("ledger", err.Error(), "name another folder as data if this is not formledger's; else stop the server, keep a copy of the folder, and start again: the restart recovers")
	case !made:
		return ok("ledger", file+" is empty: the next start makes it")
	}
	return ok("ledger", file+" can be read, and durable settings hold")
}

// Below these a disk fills up before somebody notices.
const (
	littleSpace = 1 << 30   // bytes
	noSpace     = 100 << 20 // bytes
)

func examineDisk(dir string) finding {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	free, err := freeSpace(dir)
	detail := fmt.Sprintf("%d MiB free in %s", free>>20, dir)
	remedy := "make room: when the disk is full, enquiries are refused as not sent"
	switch {
	case err != nil:
		return warn("disk", err.Error(), "see how much space is free")
	case free < noSpace:
		return fail("disk", detail, remedy)
	case free < littleSpace:
		return warn("disk", detail, remedy)
	}
	return ok("disk", detail)
}

// examineClock asks the system whether the clock is kept in step. Leases rest on
// it, and so does the date of every mail.
func examineClock(now time.Time) finding {
	const remedy = "let the system keep the time, for example with: apt-get install systemd-timesyncd"
	synced, err := clockSynced()
	switch {
	case now.Year() < 2026:
		return fail("clock", "it says "+now.UTC().Format(time.DateOnly), remedy)
	case err != nil:
		return warn("clock", "the system does not tell whether it is kept in step", remedy)
	case !synced:
		return warn("clock", now.UTC().Format(time.RFC3339)+", and nobody keeps it in step", remedy)
	}
	return ok("clock", now.UTC().Format(time.RFC3339)+", kept in step")
}

func examineMail(ctx context.Context, at *station) finding {
	if at.SMTP == nil {
		return examineMaildir(at.Maildir)
	}
	sender, err := at.smtpSender()
	if err != nil {
		return fail("mail server", err.Error(), "correct the table [smtp]")
	}
	cause, _ := sender.Login(ctx)
	if cause != (relay.Cause{}) {
		return fail("mail server", fmt.Sprintf("no login at %s (%s)", at.SMTP.Host, cause), smtp.Explain(cause, at.SMTP.server(nil)))
	}
	return ok("mail server", at.SMTP.Host+" takes the login; formledger test-send tries the whole way")
}

// examineMaildir looks without making anything.
func examineMaildir(dir string) finding {
	for _, sub := range []string{"tmp", "new"} {
		if err := usable(filepath.Join(dir, sub)); err != nil {
			return fail("mail folder", err.Error(), ofUser+", or name another one as maildir")
		}
	}
	if !exists(filepath.Join(dir, "new")) {
		return notMade("mail folder", dir)
	}
	return ok("mail folder", dir)
}

// senders are the forms'.
func (c config) senders() []string {
	var all []string
	for _, f := range c.forms {
		all = append(all, f.Def().From)
	}
	return all
}

// examineDomains looks up the senders' domains, once each. Where the mail stays
// on this machine nobody asks for them.
func examineDomains(ctx context.Context, dns txtLooker, at *station, senders []string) []finding {
	if at.SMTP == nil {
		return nil
	}
	var all []finding
	for _, domain := range domainsOf(senders) {
		all = append(all, examineDomain(ctx, dns, domain, at.SMTP.DKIMSelector)...)
	}
	return all
}

func domainsOf(senders []string) []string {
	var domains []string
	for _, from := range senders {
		a, err := mail.ParseAddress(from)
		if err != nil {
			continue
		}
		domain := a.Address[strings.LastIndexByte(a.Address, '@')+1:]
		if !slices.Contains(domains, domain) {
			domains = append(domains, domain)
		}
	}
	return domains
}

// txtLooker is net.Resolver's part that the doctor needs.
type txtLooker interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// examineDomain looks up what tells other servers that mail of this domain is
// genuine (RFC 7208, RFC 6376, RFC 7489).
func examineDomain(ctx context.Context, dns txtLooker, domain, selector string) []finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	spf := examineRecord(ctx, dns, "SPF of "+domain, domain, "v=spf1",
		"add the TXT record that the mail server's operator names, or mail may be taken for spam")
	if spf.State == "warn" && strings.HasPrefix(spf.Detail, unanswered) {
		return []finding{spf}
	}
	dmarc := examineRecord(ctx, dns, "DMARC of "+domain, "_dmarc."+domain, "v=DMARC1",
		"add a TXT record at _dmarc."+domain+", to begin with: v=DMARC1; p=none")
	return []finding{spf, examineDKIM(ctx, dns, domain, selector), dmarc}
}

// examineDKIM needs the selector: the key's name in DNS, which only a signed
// mail tells (RFC 6376, section 3.1).
func examineDKIM(ctx context.Context, dns txtLooker, domain, selector string) finding {
	subject := "DKIM of " + domain
	if selector == "" {
		return warn(subject, "not looked up: the name of its key is not configured",
			"set dkim_selector in [smtp]; it stands as s= in the DKIM-Signature of a mail by formledger test-send")
	}
	name := selector + "._domainkey." + domain
	records, err := dns.LookupTXT(ctx, name)
	for _, r := range records {
		if strings.Contains(r, "p=") {
			return ok(subject, "the key stands at "+name)
		}
	}
	var lookup *net.DNSError
	if err != nil && !(errors.As(err, &lookup) && lookup.IsNotFound) {
		return warn(subject, unanswered+", so nothing can be said", "look the records up from a machine with DNS")
	}
	return warn(subject, "there is no key at "+name, "add the TXT record that the mail server's operator names, or correct dkim_selector")
}

const unanswered = "DNS does not answer"

func examineRecord(ctx context.Context, dns txtLooker, subject, name, version, remedy string) finding {
	records, err := dns.LookupTXT(ctx, name)
	var lookup *net.DNSError
	if err != nil && !(errors.As(err, &lookup) && lookup.IsNotFound) {
		return warn(subject, unanswered+", so nothing can be said", "look the records up from a machine with DNS")
	}
	for _, r := range records {
		if strings.HasPrefix(strings.ToLower(r), strings.ToLower(version)) {
			return ok(subject, r)
		}
	}
	return warn(subject, "there is no record", remedy)
}

func examineForm(d enquiry.Definition) []finding {
	subject := "form " + d.Name
	var all []finding
	if !strings.ContainsAny(d.Contact, "@0123456789") && !strings.Contains(d.Contact, "://") {
		all = append(all, warn(subject+", contact", fmt.Sprintf("%q names no number, address or page", d.Contact),
			"say where a visitor can ask whether a message arrived"))
	}
	if len(d.Origins) == 0 && d.Webhook == nil {
		all = append(all, warn(subject+", origins", "none: only the hosted form and servers can send", "name the site of the page with the form, if there is one"))
	}
	for _, o := range d.Origins {
		if o == "*" || (strings.HasPrefix(o, "http://") && !strings.HasPrefix(o, "http://localhost")) {
			all = append(all, warn(subject+", origins", fmt.Sprintf("%q is open to others", o), "name the https:// address of your own site"))
		}
	}
	if len(all) == 0 {
		all = append(all, ok(subject, fmt.Sprintf("%d fields, policy %s, to %d recipients", len(d.Fields), d.Policy, len(d.To))))
	}
	return all
}
