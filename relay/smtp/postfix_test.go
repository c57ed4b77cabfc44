package smtp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// postfix is a real one, with everything of it in a folder of the test.
type postfix struct {
	t         *testing.T
	dir, sbin string
	port      int
}

// untested says aloud what could not be tested, and fails where that must not
// happen.
func untested(t *testing.T, why string) {
	t.Helper()
	message := "NOT TESTED: sending through a real Postfix: " + why + "; make deps installs it"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

const mainCF = `compatibility_level = 3.6
queue_directory = DIR/queue
data_directory = DIR/data
maillog_file = DIR/log/mail
maillog_file_prefixes = DIR
mail_owner = postfix
setgid_group = postdrop
myhostname = mail.test.example
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
smtpd_recipient_restrictions = reject_unauth_destination
smtputf8_enable = UTF8
virtual_mailbox_domains = shop.example
virtual_mailbox_base = DIR/mail
virtual_mailbox_maps = static:all/
virtual_mailbox_limit = 0
virtual_minimum_uid = 1
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
`

const masterCF = `127.0.0.1:PORT inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`

func startPostfix(t *testing.T, utf8 bool) *postfix {
	t.Helper()
	sbin := postfixProgram(t)
	p := &postfix{t: t, dir: t.TempDir(), sbin: sbin, port: freePort(t)}
	for dir := p.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // Postfix gives up root
		os.Chmod(dir, 0o755)
	}
	for _, sub := range []string{"conf", "queue", "data", "mail", "log"} {
		if err := os.Mkdir(filepath.Join(p.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.run("chown", "postfix", p.dir+"/data")
	p.run("chown", "65534:65534", p.dir+"/mail")
	setting := "no"
	if utf8 {
		setting = "yes"
	}
	p.write("main.cf", strings.NewReplacer("DIR", p.dir, "UTF8", setting).Replace(mainCF))
	p.write("master.cf", strings.ReplaceAll(masterCF, "PORT", fmt.Sprint(p.port)))
	p.run("postfix", "-c", p.dir+"/conf", "check")
	p.startMaster()
	return p
}

// postfixProgram is the folder of its daemons.
func postfixProgram(t *testing.T) string {
	if os.Getuid() != 0 {
		untested(t, "that needs root")
	}
	out, err := exec.Command("postconf", "-d", "-h", "daemon_directory").Output()
	if err != nil {
		untested(t, "it is missing")
	}
	return strings.TrimSpace(string(out))
}

func (p *postfix) startMaster() {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.sbin, "master"), "-c", p.dir+"/conf", "-d")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if p.t.Failed() {
			p.t.Log(p.log())
		}
	})
	p.await("it listens", func() bool {
		conn, err := net.Dial("tcp", addressOf(p.port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func freePort(t *testing.T) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func (p *postfix) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, "conf", name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *postfix) run(name string, args ...string) {
	p.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func (p *postfix) log() string {
	b, _ := os.ReadFile(filepath.Join(p.dir, "log", "mail"))
	return string(b)
}

// await polls a condition; what never comes true fails the test.
func (p *postfix) await(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited in vain until %s\n%s", what, p.log())
		}
	}
}

// mails are all messages that were delivered.
func (p *postfix) mails() (all []string) {
	names, _ := filepath.Glob(filepath.Join(p.dir, "mail", "all", "new", "*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}

// delivered waits for the one message that the queue took under this ID.
func (p *postfix) delivered(messageID string) string {
	p.t.Helper()
	header := regexp.MustCompile(`(?im)^Message-ID: <` + regexp.QuoteMeta(messageID) + `>`)
	var found []string
	p.await("the mail "+messageID+" is delivered", func() bool {
		found = nil
		for _, m := range p.mails() {
			if header.MatchString(m) {
				found = append(found, m)
			}
		}
		return len(found) > 0
	})
	if n := len(p.queued(messageID)); n != 1 || len(found) != 1 {
		p.t.Errorf("%s: %d queue entries and %d mails, want one", messageID, n, len(found))
	}
	return found[0]
}

// queued are the queue IDs that Postfix took responsibility for. The line with
// the Message-ID alone stands there for an aborted mail too.
func (p *postfix) queued(messageID string) (ids []string) {
	log := p.log()
	for _, m := range regexp.MustCompile(`(\w+): message-id=<`+regexp.QuoteMeta(messageID)+`>`).FindAllStringSubmatch(log, -1) {
		if regexp.MustCompile(m[1] + `: from=.*\(queue active\)`).MatchString(log) {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// parse is what a mail program makes of a delivered file, with LF line ends.
func parse(t *testing.T, raw string) (mail.Header, string) {
	t.Helper()
	for line := range strings.Lines(raw) {
		if len(line) > 999 {
			t.Errorf("a line of %d octets", len(line))
		}
	}
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	body := io.Reader(quotedprintable.NewReader(m.Body))
	if m.Header.Get("Content-Transfer-Encoding") == "base64" {
		body = base64.NewDecoder(base64.StdEncoding, m.Body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return m.Header, string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}
