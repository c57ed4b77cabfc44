package mailbox

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"formledger/relay/smtp/smtptest"
)

// dovecot is a real one, with everything of it in a folder of the test. Each
// user has a mailbox of its own, and all have one password.
type dovecot struct {
	t          *testing.T
	dir        string
	plain, tls int // ports
	delivered  int
}

// dovecotConf is for every version.
const dovecotConf = `base_dir = DIR/run
state_dir = DIR/run
log_path = DIR/log
listen = 127.0.0.1, 127.0.0.2
auth_failure_delay = 0
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  inet_listener imap {
    port = CLEAR
  }
  inet_listener imaps {
    port = SECURE
    ssl = yes
  }
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Verdacht {
    special_use = \Junk
  }
  mailbox "Gesendete Objekte" {
    special_use = \Sent
  }
}
`

// dovecot23 and dovecot24 say the same.
const dovecot23 = `protocols = imap
ssl_cert = <DIR/cert.pem
ssl_key = <DIR/key.pem
passdb {
  driver = passwd-file
  args = scheme=PLAIN DIR/passwords
}
passdb {
  driver = static
  args = password=PASSWORD
}
userdb {
  driver = static
  args = uid=UID gid=GID home=DIR/home/%u
}
mail_location = maildir:~/mail
`

const dovecot24 = `protocols = imap
ssl_server_cert_file = DIR/cert.pem
ssl_server_key_file = DIR/key.pem
passdb passwd-file {
  passwd_file_path = DIR/passwords
  default_password_scheme = PLAIN
}
passdb static {
  password = PASSWORD
}
userdb static {
  fields {
    uid = UID
    gid = GID
    home = DIR/home/%{user}
  }
}
mail_driver = maildir
mail_path = ~/mail
`

// withoutRoot keeps all of it under the user that runs the test.
const withoutRoot = `default_internal_user = ME
default_login_user = ME
default_internal_group = GROUP
service anvil {
  chroot =
}
service imap-login {
  chroot =
}
`

// untested says aloud what could not be tested, and fails where that must not
// happen.
func untested(t *testing.T, why string) {
	t.Helper()
	message := "NOT TESTED: searching a real Dovecot: " + why + "; make deps installs it"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

const nobody = 65534

func startDovecot(t *testing.T) *dovecot {
	t.Helper()
	program, err := exec.LookPath("dovecot")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/dovecot"); err != nil {
			untested(t, "it is missing")
		}
	}
	dir, err := os.MkdirTemp("", "mailbox") // a short name, for Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &dovecot{t: t, dir: dir, plain: freePort(t), tls: freePort(t)}
	d.configure(output(t, program, "--version"))
	d.start(program)
	return d
}

// configure writes everything. Dovecot wants no mail of root's own. Since version
// 2.4 the first line of a configuration says for which version it is.
func (d *dovecot) configure(version string) {
	d.t.Helper()
	os.Chmod(d.dir, 0o755)
	for _, sub := range []string{"home", "run"} {
		if err := os.Mkdir(filepath.Join(d.dir, sub), 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	conf, uid, gid := dovecotConf+dovecot23, nobody, nobody
	if !strings.HasPrefix(version, "2.3.") {
		conf = "dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\n" + dovecotConf + dovecot24
	}
	if os.Getuid() == 0 {
		os.Chown(filepath.Join(d.dir, "home"), nobody, nobody)
	} else {
		uid, gid = os.Getuid(), os.Getgid()
		me, group := output(d.t, "id", "-un"), output(d.t, "id", "-gn")
		conf += strings.NewReplacer("ME", me, "GROUP", group).Replace(withoutRoot) + fmt.Sprintf("first_valid_uid = %d\nfirst_valid_gid = %d\n", uid, gid)
	}
	d.write("dovecot.conf", strings.NewReplacer("DIR", d.dir, "CLEAR", strconv.Itoa(d.plain), "SECURE", strconv.Itoa(d.tls),
		"PASSWORD", password, "UID", strconv.Itoa(uid), "GID", strconv.Itoa(gid)).Replace(conf))
	d.write("passwords", "odd:"+oddPassword+"\n")
	certificate := smtptest.PKI(d.t).Good
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		d.t.Fatal(err)
	}
	d.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))
	d.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (d *dovecot) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dovecot) start(program string) {
	d.t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(program, "-F", "-c", filepath.Join(d.dir, "dovecot.conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if log, _ := os.ReadFile(filepath.Join(d.dir, "log")); d.t.Failed() {
			d.t.Logf("%s\n%s", said.String(), log)
		}
	})
	await(d.t, "Dovecot listens", func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.plain)))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// config reaches the mailbox of a user.
func (d *dovecot) config(user, mode string) Config {
	c := Config{Host: "127.0.0.1", Port: d.plain, TLS: mode, Username: user, Password: password, RootCAs: smtptest.PKI(d.t).Roots}
	if mode == Implicit {
		c.Port = d.tls
	}
	return c
}

// arrival is when every mail has arrived.
func arrival() time.Time { return time.Date(2025, 3, 1, 12, 30, 5, 0, time.UTC) }

// deliver puts a mail into a folder, "" for the inbox, as Maildir names it.
func (d *dovecot) deliver(user, folder, mail string) {
	d.t.Helper()
	d.put(user, folder, "new", strconv.Itoa(d.delivered)+".test", mail)
}

func (d *dovecot) put(user, folder, where, name, mail string) {
	d.t.Helper()
	d.delivered++
	home := filepath.Join(d.dir, "home", user)
	maildir := filepath.Join(home, "mail", folder)
	for _, sub := range []string{"tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(maildir, sub), 0o700); err != nil {
			d.t.Fatal(err)
		}
	}
	file := filepath.Join(maildir, where, name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(mail, "\n", "\r\n")), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chtimes(file, arrival(), arrival()); err != nil {
		d.t.Fatal(err)
	}
	if os.Getuid() == 0 {
		for _, path := range []string{home, filepath.Join(home, "mail"), maildir, filepath.Join(maildir, "tmp"), filepath.Join(maildir, "new"), filepath.Join(maildir, "cur"), file} {
			os.Chown(path, nobody, nobody)
		}
	}
}

// files are the names of all mails, which tell where Maildir keeps them and, for
// those in cur, their flags.
func (d *dovecot) files(user string) []string {
	d.t.Helper()
	all, err := filepath.Glob(filepath.Join(d.dir, "home", user, "mail", "*", "*"))
	if err != nil {
		d.t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
