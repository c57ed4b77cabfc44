package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/mattn/go-sqlite3"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
	"formledger/relay/smtp/smtptest"
)

// Timings. A process that stands still may hold the database's write lock, and
// then nobody can go on; so the sweep of one that is to be stopped rests.
const (
	short = `
[timing]
answer = "1500ms"
call = "1500ms"
settle = "500ms"
lease = "3600ms"
`
	quick   = short + "sweep = \"50ms\"\n"   // a test can wait for the lease to end
	resting = short + "sweep = \"1h\"\n"     // likewise, but another process has to sweep
	patient = "\n[timing]\nsweep = \"1h\"\n" // no test reaches the deadlines
)

const contactForm = `
[[form]]
name = "contact"
title = "Contact us"
to = "office@shop.example"
from = "Website <form@shop.example>"
contact = "Call us on 01234 567890."

[[form.field]]
name = "name"
kind = "text"
rules = "required"

[[form.field]]
name = "email"
kind = "email"
rules = "required"

[[form.field]]
name = "services"
kind = "multi"
options = ["Advice", "Repair", "A new installation"]

[[form.field]]
name = "message"
kind = "textarea"
rules = "required"
`

// site is one folder with a configuration, on which processes and commands run.
type site struct {
	t       *testing.T
	dir     string
	config  string
	data    string
	environ []string // of commands and processes, besides what the test adds

	server *smtptest.Server // nil: the mail goes into a folder
	smtp   string           // the table of the server
	form   string
}

func newSite(t *testing.T, timing string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, config: filepath.Join(dir, "formledger.toml"), data: filepath.Join(dir, "data"), form: contactForm}
	s.configure(timing)
	return s
}

func (s *site) configure(timing string) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.config, []byte("trusted_proxies = [\"127.0.0.1\"]\n"+timing+s.smtp+s.form), 0o600))
}

// newMailSite sends through a mail server, which is yet to be started.
func newMailSite(t *testing.T, timing string, server *smtptest.Server, settings ...string) *site {
	t.Helper()
	s := newSite(t, timing)
	s.server = server
	s.setSMTP(timing, server.Mode, server.Port(), settings...)
	return s
}

// setSMTP writes the table of the mail server.
func (s *site) setSMTP(timing, mode string, port int, settings ...string) {
	s.t.Helper()
	host, _, err := net.SplitHostPort(s.server.Address())
	must(s.t, err)
	s.smtp = fmt.Sprintf("\n[smtp]\nhost = %q\nport = %d\ntls = %q\nhello = \"client.example\"\ndkim_selector = \"k1\"\n%s\n", host, port, mode, strings.Join(settings, "\n"))
	s.configure(timing)
}

// mails are the messages that have arrived, whole.
func (s *site) mails() []string {
	s.t.Helper()
	if s.server != nil {
		return s.server.Mails()
	}
	return s.folder("new")
}

func (s *site) folder(sub string) []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.data, "mail", sub, "*.formledger"))
	must(s.t, err)
	texts := []string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(s.t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// wantMails fails unless exactly so many messages have arrived.
func (s *site) wantMails(n int) {
	s.t.Helper()
	if got := s.mails(); len(got) != n {
		s.t.Fatalf("%d mails have arrived, want %d:\n%s", len(got), n, strings.Join(got, "\n"))
	}
}

func (s *site) ledgerFile() string { return filepath.Join(s.data, "ledger", "formledger.db") }

// row reads a submission beside whoever else works on the ledger.
func (s *site) row(id uuid.UUID) ledger.Submission {
	s.t.Helper()
	db, err := sqlledger.Open(context.Background(), s.ledgerFile(), sqlledger.Options{})
	must(s.t, err)
	defer db.Close()
	row, err := db.Submission(context.Background(), id)
	must(s.t, err)
	return row
}

// lock takes the database's write lock, so that whoever wants to write waits.
func (s *site) lock() (unlock func()) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+s.ledgerFile()+"?_txlock=immediate&_busy_timeout=10000")
	must(s.t, err)
	tx, err := db.Begin()
	must(s.t, err)
	return func() {
		s.t.Helper()
		must(s.t, tx.Rollback())
		must(s.t, db.Close())
	}
}

// result is what a command came to.
type result struct {
	code     int
	out, err string
}

// command runs one of the operator's commands, as main does.
func (s *site) command(args ...string) result {
	return command(s.environ, append(args, "--config", s.config, "--data", s.data)...)
}

func command(environ []string, args ...string) result {
	var out, err bytes.Buffer
	code := run(context.Background(), args, streams{out: &out, err: &err, environ: environ})
	return result{code, out.String(), err.String()}
}

// check fails unless the command ended with the code, and printed all texts.
func (r result) check(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("%q is not in\n%s%s", text, r.out, r.err)
		}
	}
}

// needs fails unless the operator's list says this of a reference.
func (s *site) needs(ref string, need ledger.Need) {
	s.t.Helper()
	list := s.command("list")
	list.check(s.t, exitDone)
	for line := range strings.Lines(list.out) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == ref && f[3] == string(need) {
			return
		}
	}
	s.t.Errorf("%s is not listed as %s:\n%s", ref, need, list.out)
}

func (s *site) needsNobody() {
	s.t.Helper()
	s.command("queue").check(s.t, exitDone, "Nothing needs you.")
}

// files reads every file below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}))
	if len(texts) == 0 {
		t.Fatal(fmt.Errorf("%s holds no files", dir))
	}
	return texts
}
