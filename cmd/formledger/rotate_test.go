//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"formledger/ledger"
	"formledger/ledger/sqlledger"
)

// states reads the IDs and states of a key file, and fails unless the program
// would take the file.
func states(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	f, err := parseKeyFile(string(text))
	must(t, err)
	var all []string
	for i := range f.lines {
		if id, state, ok := f.key(i); ok {
			all = append(all, id+" "+string(state))
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys: %v, %v", info, err)
	}
	return strings.Join(all, ", ")
}

var secretText = regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)

// tells fails if a command fails, or tells a secret.
func (r result) tells(t *testing.T, texts ...string) {
	t.Helper()
	r.check(t, exitDone, texts...)
	if secretText.MatchString(r.out + r.err) {
		t.Errorf("a secret is told: %s", r.out)
	}
}

func TestOutboxKeysAreRotatedAndOldWordsOpen(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	row := s.stores(ledger.Queue)
	first := strings.TrimSuffix(states(t, s.outboxFile()), " use")
	s.command("keys", "list").tells(t, "the payload keys in "+s.keyFile(), "the outbox keys in "+s.outboxFile(), first+"  use  1 message")
	s.command("keys", "rotate", "--outbox").tells(t, "will be in use, and "+first+" goes on", "at its next start", "Keep a copy")
	now := states(t, s.outboxFile())
	if !strings.HasPrefix(now, first+" verify, k-") || !strings.HasSuffix(now, " use") {
		t.Errorf("the keys are %s", now)
	}
	text, err := os.ReadFile(s.outboxFile())
	must(t, err)
	if !strings.HasPrefix(string(text), outboxHeader) {
		t.Errorf("the header is gone:\n%s", text)
	}
	s.command("show", row.ID.String(), "--words").check(t, exitDone, "confidential")
	s.command("keys", "list").tells(t, first+"  verify  1 message")
	s.command("resolve", row.ID.String(), "--close", "--wipe-words", "--note", "x").check(t, exitDone)
	s.command("keys", "list").tells(t, first+"  verify  no message: it can go, once every server was started again")
}

func TestAKeyIsPreparedForSeveralMachines(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	old := newSecret()
	must(t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	must(t, os.WriteFile(s.keyFile(), []byte("# my own words\nk1\tuse "+strings.Fields(key("k1", "use", old))[2]+"\r\n\n# more\n"+key("k0", "verify", newSecret())), 0o600))
	s.command("keys", "rotate", "--payload", "--prepare").tells(t, "is prepared, and k1 stays in use", "every machine")
	now := states(t, s.keyFile())
	if !strings.HasPrefix(now, "k1 use, k0 verify, k-") || !strings.HasSuffix(now, " next") {
		t.Fatalf("the keys are %s", now)
	}
	next := strings.TrimSuffix(strings.Split(now, ", ")[2], " next")
	s.command("keys", "rotate", "--payload", "--prepare").check(t, exitFailed, next+" is prepared already")
	s.command("keys", "list").tells(t, next+"  next", "k1")
	p, w := s.start(""), newWords()
	a := p.send(w.json())
	if !a.is(201, "accepted") {
		t.Fatalf("a server beside a prepared key: %v", a)
	}
	s.hashedUnder(w, "k1")
	s.command("keys", "rotate", "--payload").tells(t, next+" will be in use, and k1 goes on") // beside the running server
	if now := states(t, s.keyFile()); now != "k1 verify, k0 verify, "+next+" use" {
		t.Errorf("the keys are %s", now)
	}
	text, err := os.ReadFile(s.keyFile())
	must(t, err)
	if !strings.HasPrefix(string(text), "# my own words\nk1 verify ") || !strings.Contains(string(text), "\n\n# more\n") {
		t.Errorf("comments are gone:\n%s", text)
	}
	p.replay(w)
	p.stop()
	p, late := s.start(""), newWords()
	p.replay(w)
	p.post(late, 201, "accepted")
	s.hashedUnder(late, next)
}

func TestKeysThatCannotBeRotated(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	s.command("keys", "rotate", "--payload").check(t, exitFailed, "the payload keys are not made yet")
	s.command("keys", "list").tells(t, "the payload keys: none yet", "the outbox keys: none yet")
	must(t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	for text, says := range map[string]string{"k1 use x": "line 1", "": "no key is in use"} {
		must(t, os.WriteFile(s.keyFile(), []byte(text), 0o600))
		s.command("keys", "rotate", "--payload").check(t, exitFailed, s.keyFile()+": ", says)
		s.command("keys", "list").check(t, exitFailed, says)
	}
	good := key("k1", "use", newSecret())
	must(t, os.WriteFile(s.keyFile(), []byte(good), 0o644))
	must(t, os.Chmod(s.keyFile(), 0o644))
	s.command("keys", "rotate", "--payload").check(t, exitFailed, "chmod 600")
	must(t, os.Chmod(s.keyFile(), 0o600))
	must(t, os.WriteFile(s.keyFile()+".new", nil, 0o600))
	s.command("keys", "rotate", "--payload").check(t, exitFailed, "another rotation is at work, or one has died")
	must(t, os.Remove(s.keyFile()+".new"))
	if text, err := os.ReadFile(s.keyFile()); err != nil || string(text) != good {
		t.Errorf("the keys have changed: %s, %v", text, err)
	}
	for _, name := range []string{"PAYLOAD", "OUTBOX"} {
		s.environ = []string{"FORMLEDGER_" + name + "_KEYS=" + good}
		s.command("keys", "rotate", "--"+strings.ToLower(name)).check(t, exitFailed, "have to be changed there", "FORMLEDGER_"+name+"_KEYS")
		s.command("keys", "list").tells(t, "in FORMLEDGER_"+name+"_KEYS", "k1  use")
	}
}

// Of many that rotate at once each goes after the other, or says that it cannot:
// no key is lost.
func TestRotationsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	link := filepath.Join(s.dir, "link")
	must(t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	must(t, os.WriteFile(s.keyFile(), []byte(key("k1", "use", newSecret())), 0o600))
	must(t, os.Symlink(s.keyFile(), link))
	s.environ = []string{"FORMLEDGER_PAYLOAD_KEYS_FILE=" + link}
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 8 {
		all.Go(func() {
			if r := s.command("keys", "rotate", "--payload"); r.code == exitDone {
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	now := states(t, s.keyFile())
	if n := strings.Count(now, ","); n != done || done == 0 || !strings.HasPrefix(now, "k1 verify") {
		t.Errorf("%d rotations, and the keys are %s", done, now)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if exists(s.keyFile() + ".new") {
		t.Error("a file was left")
	}
}

func TestRotatedKeysStayTheServers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: keys of another user. Only root can make them.")
	}
	s := newSite(t, patient)
	must(t, os.MkdirAll(filepath.Dir(s.keyFile()), 0o700))
	must(t, os.WriteFile(s.keyFile(), []byte(key("k1", "use", newSecret())), 0o600))
	must(t, os.Chown(s.keyFile(), 65534, 65534))
	s.command("keys", "rotate", "--payload").check(t, exitDone)
	info, err := os.Stat(s.keyFile())
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 65534 || owner.Gid != 65534 {
		t.Errorf("they belong to %d:%d", owner.Uid, owner.Gid)
	}
}

// loaded is the site's configuration as a server would have it.
func (s *site) loaded() config {
	s.t.Helper()
	cfg, err := load(places{s.config, s.data}, "", s.environ)
	must(s.t, err)
	return cfg
}

func TestOutboxKeysAreMadeOnlyWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	s := newSite(t, patient)
	loaded := s.loaded
	if seals, err := loaded().firstSeals(nil); err != nil || seals != nil || exists(s.outboxFile()) {
		t.Errorf("under hold: %v, %v", seals, err)
	}
	s.inPolicy("retry")
	seals, err := loaded().firstSeals(nil)
	must(t, err)
	words, err := seals.Seal([16]byte{}, "h", []byte("words"), rand.Reader)
	must(t, err)
	kept := []ledger.Kept{{Form: "contact", Key: words.Key, Rows: 2}, {Form: "gone", Key: words.Key, Rows: 1}}
	if again, err := loaded().firstSeals(kept); err != nil || !again.Holds(words.Key) {
		t.Errorf("%v", err)
	}
	s.form = contactForm // the form keeps no words any more, and old ones are there
	s.configure(patient)
	if again, err := loaded().firstSeals(kept); err != nil || again == nil {
		t.Errorf("%v, %v", again, err)
	}
	if err := refuseRemoved(kept, loaded().forms); err == nil || !strings.Contains(err.Error(), `the form "gone" is not in the configuration any more, and the ledger keeps the words of 1 message`) || !strings.Contains(err.Error(), "list --form gone --waiting") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(s.outboxFile()))
	if _, err := loaded().firstSeals(kept); err == nil || !strings.Contains(err.Error(), "the words of 3 messages in the ledger are sealed under the outbox key "+words.Key) || exists(s.outboxFile()) {
		t.Errorf("%v", err)
	}
	s.environ = []string{"FORMLEDGER_OUTBOX_KEYS=" + key("k9", "use", newSecret())}
	if _, err := loaded().firstSeals(kept); err == nil || !strings.Contains(err.Error(), "not in FORMLEDGER_OUTBOX_KEYS") {
		t.Errorf("%v", err)
	}
	if seals, err := loaded().firstSeals(nil); err != nil || !seals.Holds("k9") || exists(s.outboxFile()) {
		t.Errorf("%v", err)
	}
}

func TestKeysThatWordsAreMissing(t *testing.T) {
	t.Parallel()
	s := newShop(t, ledger.Queue)
	s.stores(ledger.Queue)
	id := strings.TrimSuffix(states(t, s.outboxFile()), " use")
	must(t, os.Remove(s.outboxFile()))
	s.command("keys", "list").tells(t, id+"  missing  1 message")
	s.inLedger(func(ctx context.Context, db *sqlledger.DB) {
		if kept, err := db.Kept(ctx); err != nil || len(kept) != 1 {
			t.Errorf("%v, %v", kept, err)
		}
	})
}
