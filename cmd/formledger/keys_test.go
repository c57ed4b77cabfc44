//go:build linux

package main

import (
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

// key is a line of a key file.
func key(id, use string, secret []byte) string {
	return id + " " + use + " " + base64.StdEncoding.EncodeToString(secret) + "\n"
}

func newSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}

func (s *site) keyFile() string { return filepath.Join(s.data, "keys", "payload-hash") }

// startWith starts the server with these keys.
func (s *site) startWith(keys string) *process {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	must(s.t, os.WriteFile(s.keyFile(), []byte(keys), 0o600))
	return s.start("")
}

func (s *site) hashedUnder(w words, id string) {
	s.t.Helper()
	if hash := s.row(w.ID).PayloadHash; !strings.HasPrefix(hash, "v1."+id+".") {
		s.t.Errorf("hashed as %s, want the key %s", hash, id)
	}
}

func TestKeysAreRotatedAndOldRowsStillCompare(t *testing.T) {
	t.Parallel()
	s, one, two := newSite(t, patient), newSecret(), newSecret()
	old, mid, late, static := newWords(), newWords(), newWords(), newWords()
	static.ID = uuid.Nil // its ID is derived under a key
	p := s.startWith(key("k1", "use", one))
	p.post(old, http.StatusCreated, "accepted")
	p.post(static, http.StatusCreated, "accepted")

	p.stop() // the new key is known, and not used yet
	p = s.startWith(key("k1", "use", one) + key("k2", "verify", two))
	p.replay(old)
	p.replay(static)
	p.post(mid, http.StatusCreated, "accepted")
	s.hashedUnder(mid, "k1")

	p.stop()
	p = s.startWith(key("k1", "verify", one) + key("k2", "use", two))
	p.post(late, http.StatusCreated, "accepted")
	s.hashedUnder(late, "k2")
	for _, w := range []words{old, mid, late, static} {
		p.replay(w)
	}
	for _, w := range []words{old, mid, late} {
		w.Message += " and more"
		p.post(w, http.StatusConflict, "conflict")
	}
	s.wantMails(4)

	p.stop() // a key that is gone makes no conflict, and sends nothing
	p = s.startWith(key("k2", "use", two))
	p.replay(late)
	for _, w := range []words{old, mid} {
		a := p.post(w, http.StatusServiceUnavailable, "")
		if !a.Retryable || a.SafeNewID || a.Header.Get("Retry-After") == "" {
			t.Errorf("without the row's key: %v", a)
		}
	}
	s.wantMails(4)
	if a := p.receipt(old.ID); !a.is(http.StatusOK, "accepted") {
		t.Errorf("the receipt needs no key: %v", a)
	}
	s.needsNobody()
}

// A row that is free is sent again under its own key, so that its hash, its
// Message-ID and every later comparison stay as they are.
func TestAFreeRowIsSentUnderItsOwnKey(t *testing.T) {
	t.Parallel()
	s, one, two, w := newSite(t, quick), newSecret(), newSecret(), newWords()
	must(t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	must(t, os.WriteFile(s.keyFile(), []byte(key("k1", "use", one)), 0o600))
	s.diesAt("maildir.before-rename", w)
	p := s.startWith(key("k1", "verify", one) + key("k2", "use", two))
	p.becomes(w.ID, "uncertain")
	s.command("resolve", string(s.row(w.ID).Reference), "--not-received", "--note", "looked").check(t, exitDone)
	other := w
	other.Message = "other"
	p.post(other, http.StatusConflict, "conflict")
	p.post(w, http.StatusCreated, "accepted")
	s.hashedUnder(w, "k1")
	s.wantMails(1)
}

func TestKeysFromTheEnvironment(t *testing.T) {
	t.Parallel()
	s, w, text := newSite(t, patient), newWords(), key("env", "use", newSecret())
	s.environ = []string{"FORMLEDGER_PAYLOAD_KEYS=" + text}
	p := s.start("")
	p.post(w, http.StatusCreated, "accepted")
	s.hashedUnder(w, "env")
	p.stop()
	if exists(s.keyFile()) {
		t.Error("keys were made beside those of the environment")
	}
	file := filepath.Join(s.dir, "mounted-secret")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	s.environ = []string{"FORMLEDGER_PAYLOAD_KEYS_FILE=" + file}
	p = s.start("")
	p.replay(w)
	s.wantMails(1)
}

// refuses starts the server, which has to end with a clear message.
func (s *site) refuses(says ...string) {
	s.t.Helper()
	r := s.command("serve", "--listen", "127.0.0.1:0")
	r.check(s.t, exitFailed, says...)
	if strings.Contains(r.out, "is running") {
		s.t.Errorf("it ran: %s", r.out)
	}
}

func TestKeysThatCannotBeTrustedAreRefused(t *testing.T) {
	t.Parallel()
	s, secret := newSite(t, patient), newSecret()
	p := s.start("")
	if info, err := os.Stat(s.keyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys that were made: %v, %v", info, err)
	}
	p.stop()
	must(t, os.Chmod(s.keyFile(), 0o644))
	s.refuses("can be read by others", "0644", "chmod 600 "+s.keyFile())
	must(t, os.Chmod(s.keyFile(), 0o600))
	for text, says := range map[string]string{
		"": "no key is in use", "k1 use\n": "line 1", "k1 use !!!\n": "not base64", key("k1", "use", secret[:31]): "31 bytes long; it needs at least 32",
		"# two\n" + key("k1", "use", secret) + key("k2", "use", secret): "both in use", key("k1", "verify", secret): "no key is in use",
	} {
		must(t, os.WriteFile(s.keyFile(), []byte(text), 0o600))
		s.refuses(s.keyFile(), says)
	}
	must(t, os.Remove(s.keyFile()))
	s.refuses("but its keys "+s.keyFile()+" are not", "put the keys back")
	if exists(s.keyFile()) {
		t.Error("new keys were made beside an old ledger")
	}
}

func TestPlacesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	at := taken.Addr().String()
	s.command("serve", "--listen", at).check(t, exitFailed, "cannot listen on "+at, "already in use", "--listen")
	s.command("serve", "--listen", "nowhere").check(t, exitFailed, "cannot listen on nowhere")
	s.data = filepath.Join(s.dir, "file")
	must(t, os.WriteFile(s.data, nil, 0o600))
	s.refuses(s.data, "not a directory")
}

func TestAFolderWithoutPermission(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	must(t, os.MkdirAll(s.data, 0o500))
	for dir := s.data; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o555))
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	}
	must(t, os.Chmod(s.config, 0o644))
	file, err := program()
	must(t, err)
	c := exec.Command(file, "serve", "--config", s.config, "--data", s.data)
	if os.Geteuid() == 0 { // root may write everywhere
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	said, _ := c.CombinedOutput() // how it ended is in ProcessState
	if code := c.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{s.data, "permission denied"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}
