package mailbox

import (
	"bufio"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"formledger/relay/netcause"
)

const oddPassword = `pä"ss\wörd`

// mail is one with this Message-ID.
func mail(id string) string {
	return "From: <form@shop.example>\nMessage-ID: <" + id + ">\nSubject: Enquiry\n\nHello.\n"
}

// TestDovecot searches a real server; its users do not see each other's mail.
func TestDovecot(t *testing.T) {
	d := startDovecot(t)
	t.Run("every mode of TLS", func(t *testing.T) { testModes(t, d) })
	t.Run("folders", func(t *testing.T) { testFolders(t, d) })
	t.Run("what is no hit", func(t *testing.T) { testNoHits(t, d) })
	t.Run("odd IDs", func(t *testing.T) { testOddIDs(t, d) })
	t.Run("an odd password", func(t *testing.T) { testOddPassword(t, d) })
	t.Run("named folders", func(t *testing.T) { testNamedFolders(t, d) })
	t.Run("nothing changes", func(t *testing.T) { testNothingChanges(t, d) })
	t.Run("a full folder", func(t *testing.T) { testFullFolder(t, d) })
	t.Run("failures", func(t *testing.T) { testFailures(t, d) })
}

func testModes(t *testing.T, d *dovecot) {
	d.deliver("modes", "", mail(wanted))
	for _, mode := range []string{Implicit, StartTLS, None} {
		r := found(t, d.config("modes", mode))
		for i := range r.Found {
			r.Found[i].Arrived = r.Found[i].Arrived.UTC()
		}
		size := int64(len(strings.ReplaceAll(mail(wanted), "\n", "\r\n")))
		want := Result{Found: []Mail{{Folder: "INBOX", UID: 1, Arrived: arrival(), Size: size}}, Searched: []string{"INBOX"}}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
	r, err := lookFor(t, d.config("modes", None), "<"+wanted+">")
	if err != nil || len(r.Found) != 1 {
		t.Errorf("with angle brackets: %v, %v", r, err)
	}
}

// testFolders: "Verdacht" bears the mark of the junk folder, "Gesendete Objekte"
// that of sent mail; the others are known by name.
func testFolders(t *testing.T, d *dovecot) {
	for user, c := range map[string]struct{ folder, want string }{
		"junk-by-mark":  {".Verdacht", "Verdacht"},
		"junk-by-name":  {".INBOX.Spam", "INBOX/Spam"},
		"archive-below": {".Archive.2025", "Archive/2025"},
		"trash-abroad":  {".Gel&APY-schte Elemente", "Gelöschte Elemente"},
		"not-sent":      {".Gesendete Objekte", ""},
		"not-by-rule":   {".Anfragen", ""},
	} {
		d.deliver(user, ".Archive", mail("other@shop.example"))
		d.deliver(user, c.folder, mail(wanted))
		r := found(t, d.config(user, None))
		if places(r.Found) != c.want {
			t.Errorf("%s: found in %q, want %q", user, places(r.Found), c.want)
		}
		if !slices.Contains(r.Searched, "INBOX") || !slices.Contains(r.Searched, "Archive") || len(r.Skipped) > 0 {
			t.Errorf("%s: %+v", user, r)
		}
	}
}

func testNoHits(t *testing.T, d *dovecot) {
	d.deliver("none", "", mail("x"+wanted))
	d.deliver("none", "", mail(wanted+".org"))
	d.deliver("none", "", mail(strings.ToUpper(wanted)))
	d.deliver("none", "", mail("other@shop.example <"+wanted))
	d.deliver("none", "", "In-Reply-To: <"+wanted+">\n"+mail("reply@shop.example"))
	d.deliver("none", "", "References: <a@b> <"+wanted+">\n"+mail("thread@shop.example"))
	d.deliver("none", "", mail("quoted@shop.example")+"\nMessage-ID: <"+wanted+">\n")
	d.deliver("none", "", "X-Message-ID: <"+wanted+">\n"+mail("other@shop.example"))
	if r := found(t, d.config("none", None)); len(r.Found) > 0 || len(r.Skipped) > 0 || !slices.Equal(r.Searched, []string{"INBOX"}) {
		t.Errorf("%+v", r)
	}
	d.deliver("none", "", mail(wanted))
	d.deliver("none", "", "Message-id:\n <"+wanted+">\nSubject: folded\n\n")
	if r := found(t, d.config("none", None)); places(r.Found) != "INBOX INBOX" || r.Found[0].UID == r.Found[1].UID {
		t.Errorf("twice: %+v", r)
	}
}

func testOddIDs(t *testing.T, d *dovecot) {
	ids := []string{`quo"ted@b`, `back\slash@b`, `"both\"\\"@b`, `!&!AAAA==@b`, `{3}@b`, `(a)*%@[127.0.0.1]`, `no-at-sign`}
	for _, id := range ids {
		d.deliver("odd-ids", "", mail(id))
	}
	for i, id := range ids {
		r, err := lookFor(t, d.config("odd-ids", Implicit), id)
		if err != nil || len(r.Found) != 1 || r.Found[0].UID != uint32(i+1) {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
}

func testOddPassword(t *testing.T, d *dovecot) {
	d.deliver("odd", "", mail(wanted))
	c := d.config("odd", StartTLS)
	c.Password = oddPassword
	if r := found(t, c); len(r.Found) != 1 {
		t.Errorf("%+v", r)
	}
}

func testNamedFolders(t *testing.T, d *dovecot) {
	d.deliver("named", "", mail("other@shop.example"))
	d.deliver("named", ".&ANw-bersicht &- Anfragen", mail(wanted))
	c := d.config("named", None)
	c.Folders = []string{"inbox", "Nirgends", "Übersicht & Anfragen", "INBOX"}
	r := found(t, c)
	if places(r.Found) != "Übersicht & Anfragen" || !slices.Equal(r.Searched, []string{"INBOX", "Übersicht & Anfragen"}) {
		t.Errorf("%+v", r)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Folder != "Nirgends" || !strings.Contains(r.Skipped[0].Reason, "Mailbox doesn't exist") {
		t.Errorf("%+v", r.Skipped)
	}
}

// testNothingChanges looks at the flags over IMAP and at the files. A mail in
// "new" is \Recent, and would move to "cur" when a folder is selected.
func testNothingChanges(t *testing.T, d *dovecot) {
	d.put("same", "", "cur", "1.seen:2,FS", mail(wanted))
	d.put("same", "", "cur", "1.unseen:2,", mail(wanted))
	d.flags("same", "SELECT") // takes \Recent from these
	d.deliver("same", "", mail(wanted))
	d.deliver("same", "", mail("other@shop.example"))
	before, files := d.flags("same", "EXAMINE"), d.files("same")
	if !strings.Contains(before, `(\Flagged \Seen)`) || strings.Count(before, `\Recent`) != 2 {
		t.Fatalf("%s", before)
	}
	if r := found(t, d.config("same", None)); len(r.Found) != 3 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(before, d.flags("same", "EXAMINE")); diff != "" {
		t.Errorf("flags (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(files, d.files("same")); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// flags asks for them in a conversation of its own.
func (d *dovecot) flags(user, open string) string {
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.plain)))
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "a LOGIN %s %s\r\nb %s INBOX\r\nc FETCH 1:* (UID FLAGS)\r\n", user, password, open)
	var fetched strings.Builder
	for lines := bufio.NewScanner(conn); lines.Scan() && !strings.HasPrefix(lines.Text(), "c "); {
		if strings.Contains(lines.Text(), " FETCH ") {
			fetched.WriteString(lines.Text() + "\n")
		}
	}
	return fetched.String()
}

func testFullFolder(t *testing.T, d *dovecot) {
	for i := range 5000 {
		d.deliver("full", "", mail(fmt.Sprintf("k1.%08d@shop.example", i)))
	}
	start := time.Now()
	if r := found(t, d.config("full", Implicit)); len(r.Found) > 0 || len(r.Searched) != 1 {
		t.Errorf("absent: %+v", r)
	}
	r, err := lookFor(t, d.config("full", Implicit), "k1.00004321@shop.example")
	if err != nil || len(r.Found) != 1 {
		t.Errorf("present: %+v, %v", r, err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("two searches of 5,000 mails took %s", took)
	} else {
		t.Logf("two searches of 5,000 mails took %s", took)
	}
	r, err = lookFor(t, d.config("full", Implicit), "shop.example") // in every ID, and none itself
	if err != nil || len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "newest 100") {
		t.Errorf("a substring of all: %+v, %v", r, err)
	}
}

func testFailures(t *testing.T, d *dovecot) {
	for name, c := range map[string]struct {
		mode   string
		change func(*Config)
		code   string
		words  []string
	}{
		"a wrong password":                {Implicit, func(c *Config) { c.Password = "wrong-password" }, CodeLoginRefused, []string{"password", "Authentication failed"}},
		"TLS where there is none":         {Implicit, func(c *Config) { c.Port = d.plain }, netcause.NotTLS, []string{"TLS mode", "143", "starttls"}},
		"STARTTLS where TLS is":           {StartTLS, func(c *Config) { c.Port, c.Timeout = d.tls, time.Second }, netcause.Timeout, []string{"implicit", "993"}},
		"no TLS where TLS is":             {None, func(c *Config) { c.Port, c.Timeout = d.tls, time.Second }, netcause.Timeout, []string{"implicit", "993"}},
		"no TLS where it is wanted":       {None, func(c *Config) { c.Host = "127.0.0.2" }, CodeNoLogin, []string{"without TLS", "starttls"}},
		"an unknown authority":            {Implicit, func(c *Config) { c.RootCAs = x509.NewCertPool() }, netcause.Untrusted, []string{"certificate"}},
		"an unknown authority, STARTTLS":  {StartTLS, func(c *Config) { c.RootCAs = x509.NewCertPool() }, netcause.Untrusted, []string{"certificate"}},
		"a certificate for somebody else": {StartTLS, func(c *Config) { c.Host = "127.0.0.2" }, netcause.WrongName, []string{"certificate", "127.0.0.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := d.config("failures", c.mode)
			c.change(&config)
			fails(t, config, c.code, c.words...)
		})
	}
}
