package mailbox

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
)

func TestCheck(t *testing.T) {
	good := Config{Host: "imap.example", Username: user, Password: password}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"host":               func(c *Config) { c.Host = "" },
		"ASCII":              func(c *Config) { c.Host = "imap.exämple" },
		"port":               func(c *Config) { c.Port = 70000 },
		"TLS mode":           func(c *Config) { c.TLS = "ssl" },
		"on this machine":    func(c *Config) { c.TLS = None },
		"a user name":        func(c *Config) { c.Username = "" },
		"and a password":     func(c *Config) { c.Password = "" },
		"cannot be typed":    func(c *Config) { c.Password = "pass\r\nword" },
		"no folder":          func(c *Config) { c.Folders = []string{""} },
		"can be called that": func(c *Config) { c.Folders = []string{"a\nb"} },
		"51 folders": func(c *Config) {
			c.Folders = make([]string, 51)
			for i := range c.Folders {
				c.Folders[i] = "x"
			}
		},
		"negative": func(c *Config) { c.Timeout = -time.Second },
	} {
		c := good
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, err := c.Search(context.Background(), wanted); err == nil {
			t.Errorf("%s: searched all the same", want)
		}
	}
	if c, _ := good.complete(); c.Port != 993 || c.Timeout != 30*time.Second || c.TLS != Implicit {
		t.Errorf("%+v", c)
	}
}

func TestMessageIDs(t *testing.T) {
	for _, id := range []string{"", "<>", "a b@c", "a@b> <c@d", "a@b\r\nX: y", "ä@b", strings.Repeat("a", 901), "<a@b"} {
		_, err := bare(id)
		if ok := id == "<a@b"; (err == nil) != ok { // one bracket is a slip, not an attack
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestChoose(t *testing.T) {
	box := func(name string, delim rune, attrs ...imap.MailboxAttr) *imap.ListData {
		return &imap.ListData{Mailbox: name, Delim: delim, Attrs: attrs}
	}
	for name, c := range map[string]struct {
		listed []*imap.ListData
		want   []string
	}{
		"Gmail, in German": {[]*imap.ListData{
			box("INBOX", '/'), box("[Gmail]", '/', imap.MailboxAttrNoSelect), box("[Gmail]/Alle Nachrichten", '/', imap.MailboxAttrAll),
			box("[Gmail]/Gesendet", '/', imap.MailboxAttrSent), box("[Gmail]/Papierkorb", '/', imap.MailboxAttrTrash),
			box("[Gmail]/Spam", '/', imap.MailboxAttrJunk), box("[Gmail]/Wichtig", '/', imap.MailboxAttrImportant),
		}, []string{"INBOX", "[Gmail]/Spam", "[Gmail]/Alle Nachrichten", "[Gmail]/Papierkorb"}},
		"Courier, without marks": {[]*imap.ListData{
			box("INBOX", '.'), box("INBOX.Archives", '.'), box("INBOX.Archives.2024", '.'), box("INBOX.Archives.2024.Q1", '.'),
			box("INBOX.Sent", '.'), box("INBOX.TRASH", '.'), box("INBOX.Junk E-mail", '.'), box("INBOX.Spammers", '.'),
		}, []string{"INBOX", "INBOX.Junk E-mail", "INBOX.Archives", "INBOX.Archives.2024", "INBOX.Archives.2024.Q1", "INBOX.TRASH"}},
		"no tree, and folders that are none": {[]*imap.ListData{
			box("Spam", 0), box("x/Spam", 0), box("Archive", '/', imap.MailboxAttrNonExistent), box("Archive/Old", '/'), box("|", 0), box("", 0),
		}, []string{"INBOX", "Spam", "Archive/Old"}},
		"nothing at all": {nil, []string{"INBOX"}},
	} {
		if got := distinct(choose(c.listed)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestEnabledIsSeen in any shape that go-imap would take for it, and in no other.
func TestEnabledIsSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"* OK\r\n* ENABLED X": true, "* 000000000001 enabled": true, "*  ENABLED": true, "\n* 1\n* ENaBLED": true,
		"* OK ENABLED": false, "* LIST () \"/\" ENABLED": false, "T1 OK ENABLED": false, "* ENABLEMENT": false, "* ENABLE\r\nD": false,
	} {
		w, seen := &wire{plain: true}, false
		for _, b := range []byte(text) {
			seen = w.enabled(b) || seen
		}
		if seen != want {
			t.Errorf("%q: %t", text, seen)
		}
	}
}
