package mailbox

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/relay/netcause"
	"formledger/relay/smtp/smtptest"
)

// nothing is what a server does that is never out of lines.
func nothing(*actor) {}

// TestCommands: these, and no other, so that nothing can change.
func TestCommands(t *testing.T) {
	c, a := play(t, decent().act(nothing))
	r := found(t, c)
	want := []string{
		`LOGIN "` + user + `" "` + password + `"`, `LIST "" "*"`,
		"EXAMINE INBOX", `SEARCH HEADER "Message-ID" "<` + wanted + `>"`, `FETCH 2 (UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS ("Message-ID")])`,
		`EXAMINE "Junk"`, `SEARCH HEADER "Message-ID" "<` + wanted + `>"`, `FETCH 2 (UID INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS ("Message-ID")])`,
		"LOGOUT",
	}
	told := slices.DeleteFunc(a.told(), func(command string) bool { return command == "CAPABILITY" })
	for i, command := range told {
		if strings.HasPrefix(command, "FETCH") { // go-imap puts the items in any order
			told[i] = want[4]
			for _, item := range []string{" (UID ", "INTERNALDATE", "RFC822.SIZE", `BODY.PEEK[HEADER.FIELDS ("Message-ID")])`} {
				if len(command) != len(want[4]) || !strings.Contains(command, item) {
					t.Errorf("%s", command)
				}
			}
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := Mail{Folder: "INBOX", UID: 7, Arrived: arrival(), Size: 321}
	if r.Found[0].Arrived = r.Found[0].Arrived.UTC(); r.Found[0] != m {
		t.Errorf("%+v", r.Found)
	}
}

// TestReplies: what servers say about folders, searches and mails.
func TestReplies(t *testing.T) {
	header := "Message-ID: <" + wanted + ">\r\n\r\n"
	for name, c := range map[string]struct {
		lines   lines
		places  string
		skipped string // words of the reason for INBOX
	}{
		"the UID comes last":            {decent().with("FETCH", fmt.Sprintf("* 2 FETCH (BODY[HEADER.FIELDS (\"MESSAGE-ID\")] {%d}\r\n%s UID 7)\r\n$T OK done\r\n", len(header), header)), "INBOX Junk", ""},
		"another answer than asked for": {decent().with("FETCH", fmt.Sprintf("* 2 FETCH (UID 7 BODY[TEXT] {%d}\r\n%s)\r\n$T OK done\r\n", len(header), header)), "", "showed the Message-ID of 0"},
		"another ID":                    {decent().with("FETCH", "* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] \"Message-ID: <x@y>\")\r\n$T OK done\r\n"), "", ""},
		"NIL":                           {decent().with("FETCH", "* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] NIL)\r\n$T OK done\r\n"), "", ""},
		"no mail is shown":              {decent().with("FETCH", "$T OK done\r\n"), "", "1 hits here, and showed the Message-ID of 0"},
		"no answer to the search":       {decent().with("SEARCH", "$T OK done\r\n"), "", ""},
		"all the world":                 {decent().with("SEARCH", "* ESEARCH (TAG \"$T\") ALL 1:4294967295\r\n$T OK done\r\n", "FETCH", "$T OK done\r\n"), "", "newest 100"},
		"an answer of IMAP4rev2":        {decent().with("SEARCH", "* ESEARCH (TAG \"$T\") ALL 2\r\n$T OK done\r\n"), "INBOX Junk", ""},
		"an empty one":                  {decent().with("SEARCH", "* ESEARCH (TAG \"$T\")\r\n$T OK done\r\n"), "", ""},
		"no such folder":                {decent().with("EXAMINE", "$T NO [NonExistent] no\r\n"), "", "no folder of this name. It says: \"no\""},
		"a closed folder":               {decent().with("EXAMINE", "$T NO [NOPERM] not yours\r\n"), "", "does not open this folder. It says: \"not yours\""},
		"a search that is refused":      {decent().with("SEARCH", "$T BAD [SERVERBUG] oh\x1b[2J"+strings.Repeat("h", 999)+"\r\n"), "", "by Message-ID. It says: \"oh?[2Jhhh"},
		"a fetch that is refused":       {decent().with("FETCH", "$T NO\r\n"), "", "by Message-ID."},
		"a mail, and then a refusal":    {decent().with("FETCH", fmt.Sprintf("* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] {%d}\r\n%s)\r\n$T NO sorry\r\n", len(header), header)), "INBOX Junk", "sorry"},
		"more flags":                    {decent().with("EXAMINE", "* FLAGS (\\Seen)\r\n* 9 RECENT\r\n* OK [PERMANENTFLAGS ()] none\r\n* OK [UIDNEXT 9]\r\n* LIST () \"/\" INBOX\r\n$T OK\r\n"), "INBOX Junk", ""},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := play(t, c.lines.act(nothing))
			r := found(t, config)
			if places(r.Found) != c.places {
				t.Errorf("found %+v", r.Found)
			}
			if c.skipped == "" && len(r.Searched) != 2 || c.skipped != "" && (len(r.Skipped) != 2 || !strings.Contains(r.Skipped[0].Reason, c.skipped)) {
				t.Errorf("searched %q, skipped %q", r.Searched, r.Skipped)
			}
		})
	}
}

// TestImpossibleNumbers: a set that IMAP does not allow is no "nothing found".
func TestImpossibleNumbers(t *testing.T) {
	for _, reply := range []string{"* SEARCH 0", "* SEARCH -1", "* ESEARCH ALL 1:*", "* ESEARCH ALL $", "* ESEARCH UID ALL 2", "* ESEARCH ALL x"} {
		config, _ := play(t, decent().with("SEARCH", reply+"\r\n$T OK done\r\n").act(nothing))
		fails(t, config, CodeNotIMAP)
	}
}

// TestBareID: some servers find an ID only without its brackets.
func TestBareID(t *testing.T) {
	searches := 0
	c, _ := play(t, func(a *actor) {
		l := decent()
		l.with("LIST", "* LIST () \"/\" INBOX\r\n$T OK done\r\n")
		a.say("%s", l["greeting"])
		for tag, command, ok := a.next(); ok; tag, command, ok = a.next() {
			verb, _, _ := strings.Cut(command, " ")
			reply := l[verb]
			if verb == "SEARCH" {
				if searches++; strings.Contains(command, "<") {
					reply = "* SEARCH\r\n$T OK done\r\n"
				}
			}
			a.say("%s", strings.ReplaceAll(reply, "$T", tag))
			if verb == "LOGOUT" {
				return
			}
		}
	})
	if r := found(t, c); places(r.Found) != "INBOX" || searches != 2 {
		t.Errorf("%+v after %d searches", r, searches)
	}
}

// TestUTF8Names: a server of IMAP4rev2 gets names in UTF-8 once that is turned
// on, and others in UTF-7.
func TestUTF8Names(t *testing.T) {
	for caps, want := range map[string][]string{
		"IMAP4rev1":           {`EXAMINE "&ANw-bersicht"`},
		"IMAP4rev1 IMAP4rev2": {"ENABLE IMAP4rev2", `EXAMINE "Übersicht"`},
	} {
		l := decent().with("CAPABILITY", "* CAPABILITY "+caps+"\r\n$T OK done\r\n", "ENABLE", "* ENABLED IMAP4rev2\r\n$T OK done\r\n")
		c, a := play(t, l.act(nothing))
		c.Folders = []string{"Übersicht"}
		found(t, c)
		var got []string
		for _, command := range a.told() {
			if strings.HasPrefix(command, "E") {
				got = append(got, command)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", caps, got)
		}
	}
}

// TestLogin: how servers refuse us, or wave us through.
func TestLogin(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
	for name, c := range map[string]struct {
		lines lines
		code  string
		words string
	}{
		"repeats the password":  {decent().with("LOGIN", "$T NO ["+"X] "+password+"\x00"+password+strings.Repeat(password, 99)+"\r\n"), CodeLoginRefused, "[redacted]?[redacted]"},
		"repeats it encoded":    {decent().with("LOGIN", "$T NO "+basic+"\r\n"), CodeLoginRefused, "It says: \"[redacted]\""},
		"is not ready":          {decent().with("LOGIN", "$T NO [UNAVAILABLE] later\r\n"), CodeLoginLater, "later"},
		"wants privacy":         {decent().with("LOGIN", "$T NO [PRIVACYREQUIRED] no\r\n"), CodeNoLogin, "without TLS"},
		"forbids LOGIN":         {decent().with("CAPABILITY", "* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n$T OK done\r\n"), CodeNoLogin, "without TLS"},
		"turns us away":         {decent().with("greeting", "* BYE [ALERT] too many\r\n"), CodeTurnedAway, "too many"},
		"is an SMTP server":     {decent().with("greeting", "220 mail ESMTP\r\n"), CodeNotIMAP, "does not greet"},
		"lists nothing":         {decent().with("LIST", "$T NO never\r\n"), CodeNotListed, "name the folders"},
		"lists what is no UTF7": {decent().with("LIST", "* LIST () \"/\" A&B\r\n$T OK done\r\n"), CodeNotIMAP, "name the folders"},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := play(t, c.lines.act(nothing))
			fails(t, config, c.code, c.words)
		})
	}
	c, a := play(t, decent().with("greeting", "* PREAUTH hello\r\n").act(nothing))
	if r := found(t, c); len(r.Found) != 2 || slices.ContainsFunc(a.told(), func(s string) bool { return strings.HasPrefix(s, "LOGIN") }) {
		t.Errorf("PREAUTH: %+v", r)
	}
}

// TestStartTLS: the part before TLS, where anybody on the way could speak.
func TestStartTLS(t *testing.T) {
	for name, c := range map[string]struct {
		greeting, answer, code string
	}{
		"not offered":          {"* OK hello\r\n", "* X\r\nS1 BAD what?\r\n", CodeNoStartTLS},
		"turned away":          {"* bye bye\r\n", "", CodeTurnedAway},
		"logged in already":    {"* PREAUTH hello\r\n", "", CodeNotIMAP},
		"not IMAP":             {"220 mail ESMTP\r\n", "", CodeNotIMAP},
		"pushed in behind":     {"* OK hello\r\n", "S1 OK go\r\n* OK [ALERT] mine\r\n", netcause.NotTLS},
		"a long greeting":      {strings.Repeat("x", 99999), "", CodeTooMuch},
		"talks on":             {"* OK hello\r\n", strings.Repeat("* OK and\r\n", 99), CodeTooMuch},
		"closes after its yes": {"* OK hello\r\n", "S1 OK go\r\n", netcause.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			config, a := play(t, func(a *actor) {
				if a.say("%s", c.greeting); c.answer != "" {
					a.next()
					a.say("%s", c.answer)
				}
				if c.code != netcause.Closed {
					a.silence()
				}
			})
			config.TLS = StartTLS
			fails(t, config, c.code)
			if told := strings.Join(a.told(), " "); strings.Contains(told, "LOGIN") || strings.Contains(told, "AUTH") {
				t.Errorf("said in the clear: %s", told)
			}
		})
	}
}

// TestTLSServers: a decent server under TLS, whose LOGIN is the only way in.
func TestTLSServers(t *testing.T) {
	for _, mode := range []string{Implicit, StartTLS} {
		c, _ := play(t, func(a *actor) {
			l := decent()
			if mode == StartTLS {
				io.WriteString(a.conn, "* OK hello\r\n")
				a.next()
				io.WriteString(a.conn, "S1 OK go\r\n")
				l["greeting"] = ""
			}
			a.conn = tls.Server(a.conn, &tls.Config{Certificates: []tls.Certificate{smtptest.PKI(t).Good}})
			a.from.Reset(a.conn)
			l.act(nothing)(a)
		})
		c.TLS, c.RootCAs = mode, smtptest.PKI(t).Roots
		if r := found(t, c); len(r.Found) != 2 {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

// TestUnreachable: nobody to talk to.
func TestUnreachable(t *testing.T) {
	base := Config{Host: "127.0.0.1", Port: freePort(t), TLS: None, Username: user, Password: password, Timeout: 20 * time.Second}
	fails(t, base, netcause.Refused, "Nothing listens", "993")
	c := base
	c.Host, c.TLS = "imap.invalid", Implicit
	fails(t, c, netcause.DNS, "imap.invalid", "DNS")
	expired, _ := play(t, func(a *actor) {
		tls.Server(a.conn, &tls.Config{Certificates: []tls.Certificate{smtptest.PKI(t).Expired}}).Handshake()
	})
	expired.TLS, expired.RootCAs = Implicit, smtptest.PKI(t).Roots
	fails(t, expired, netcause.Expired, "out of date")
}
