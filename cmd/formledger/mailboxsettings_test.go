//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
)

const mailboxPassword = "of-the-mailbox"

// office is a mailbox that the site's mail arrives in, if a test delivers it.
type office struct {
	t    *testing.T
	user *imapmemserver.User
	port int
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, user: imapmemserver.NewUser("office@shop.example", mailboxPassword)}
	must(t, o.user.Create("INBOX", nil))
	users := imapmemserver.New()
	users.AddUser(o.user)
	server := imapserver.New(&imapserver.Options{InsecureAuth: true, Logger: log.New(io.Discard, "", 0),
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return users.NewSession(), nil, nil
		}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	o.port = listener.Addr().(*net.TCPAddr).Port
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		must(t, server.Close())
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return o
}

func (o *office) gets(mail string) {
	o.t.Helper()
	_, err := o.user.Append("INBOX", bytes.NewReader([]byte(mail)), &imap.AppendOptions{Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)})
	must(o.t, err)
}

// searches configures a site to look into the office's mailbox.
func (s *site) searches(o *office, settings ...string) {
	s.form = contactForm + fmt.Sprintf("\n[mailbox]\nhost = \"127.0.0.1\"\nport = %d\ntls = \"none\"\nusername = \"office@shop.example\"\n%s\n", o.port, strings.Join(settings, "\n"))
	s.configure(patient)
}

// doubted puts an uncertain submission into the site's ledger.
func (s *site) doubted(hash string) (row ledger.Submission) {
	s.t.Helper()
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		token, err := ledger.NewToken(bytes.NewReader(bytes.Repeat([]byte{7}, 16)))
		must(s.t, err)
		c := ledger.NewClaim{ID: uuid.Must(uuid.NewV7()), Form: "contact", Policy: ledger.Hold, PayloadHash: hash, Token: token, LeaseUntil: time.Now(), At: time.Now()}
		_, err = db.Claim(ctx, c)
		must(s.t, err)
		_, err = db.Doubt(ctx, ledger.Ended{ID: c.ID, Claim: c.Token, Cause: "closed@dot", Attempted: true, At: time.Now()})
		must(s.t, err)
		row, err = db.Submission(ctx, c.ID)
		must(s.t, err)
	})
	return row
}

// The mail that was sent is the one that is looked for.
func TestAMailIsFoundByTheMessageIDThatItWasSentWith(t *testing.T) {
	t.Parallel()
	s, o := newSite(t, patient), newOffice(t)
	s.environ = []string{"FORMLEDGER_MAILBOX_PASSWORD=" + mailboxPassword}
	s.searches(o)
	s.command("test-send", "contact").check(t, exitDone)
	_, ref, _ := strings.Cut(s.command("list").out, "\n")
	ref, _, _ = strings.Cut(ref, " ")
	s.command("evidence", ref).check(t, exitDone, "proves accepted", "The mail is not in the folders that were searched (INBOX). That proves nothing")
	o.gets(s.mails()[0])
	s.command("evidence", ref).check(t, exitDone, "mailbox   2026-05-04 03:02:01Z  proves presence", "The mail is there: in the folder INBOX since 2026-05-04 03:02:01Z")
	s.command("show", ref).check(t, exitDone, "noted by system (mailbox_found): in the folder INBOX since")
	s.command("doctor").check(t, exitDone, "ok    mailbox: 127.0.0.1 takes the login; searched for evidence: INBOX")
}

func TestNotReceivedIsRefusedWhileTheMailLiesInTheMailbox(t *testing.T) {
	t.Parallel()
	s, o := newSite(t, patient), newOffice(t)
	s.environ = []string{"FORMLEDGER_MAILBOX_PASSWORD=" + mailboxPassword}
	s.searches(o)
	keys, err := s.loaded().firstKeys()
	must(t, err)
	row := s.doubted(keys.Hash([]byte("words")))
	id, err := s.loaded().messageID(row)
	must(t, err)
	if !strings.HasSuffix(id, "@shop.example") {
		t.Errorf("the Message-ID is %s", id)
	}
	o.gets("Message-ID: <" + id + ">\r\nSubject: Enquiry\r\n\r\nHello\r\n")
	ref := string(row.Reference)
	no := []string{"resolve", ref, "--not-received", "--note", "did not look", "--by", "ada"}
	s.command(no...).check(t, exitFailed, "there is evidence that this message arrived: The mail is there: in the folder INBOX", "say so with --despite")
	s.needs(ref, ledger.NeedsUncertain)
	s.command("evidence", ref).check(t, exitDone, "proves presence, suggests received")
	s.command(append(no, "--despite")...).check(t, exitDone, "not_received by operator:ada: did not look")
	s.needsNobody()
}

func TestAMailboxOutOfReach(t *testing.T) {
	t.Parallel()
	s, o := newSite(t, patient), newOffice(t)
	file := filepath.Join(s.dir, "mailbox-password")
	must(t, os.WriteFile(file, []byte("wrong\n"), 0o600))
	s.searches(o, `password_file = "mailbox-password"`)
	s.command("doctor").check(t, exitFailed, "fail  mailbox: ", "correct the table [mailbox]")
	keys, err := s.loaded().firstKeys()
	must(t, err)
	row := s.doubted(keys.Hash([]byte("words")))
	s.command("evidence", row.ID.String()).check(t, exitDone, "could not be searched whole, so this proves nothing: ")
	s.command("resolve", row.ID.String(), "--not-received", "--note", "looked myself").check(t, exitDone, "could not be searched whole")
	must(t, os.WriteFile(file, []byte(mailboxPassword+"\n"), 0o600))
	s.command("doctor").check(t, exitDone, "ok    mailbox: ")
	s.searches(o, `password_file = "mailbox-password"`, `folders = ["INBOX", "Orders"]`)
	s.command("doctor").check(t, exitDone, "searched for evidence: INBOX", "warn  mailbox, folder Orders: ")
	s.searches(o)
	s.command("doctor").check(t, exitFailed, "[mailbox] has no password", "FORMLEDGER_MAILBOX_PASSWORD_FILE")
	s.command("config", "check").check(t, exitFailed, "[mailbox] has no password")
}

func TestWhyAMessageIDIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	_, err := s.loaded().firstKeys()
	must(t, err)
	for says, row := range map[string]ledger.Submission{
		`the form "gone" is not in the configuration`: {Form: "gone"},
		"the payload key of this message is not in":   {Form: "contact", PayloadHash: "v1.k-other.00"},
	} {
		if _, err := s.loaded().messageID(row); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
