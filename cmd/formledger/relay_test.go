//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"formledger/ledger"
)

// relaySite is a form server's folder, and the folder of its relay.
type relaySite struct {
	*site
	relayConfig string
	relayData   string
	address     string // of the relay
}

// newRelaySite makes the keys and both configurations, as a newcomer would.
func newRelaySite(t *testing.T, timing string) *relaySite {
	t.Helper()
	s := &relaySite{site: newSite(t, timing), address: freeAddress(t)}
	s.relayConfig, s.relayData = filepath.Join(s.dir, "relay.toml"), filepath.Join(s.dir, "relay-data")
	command(nil, "keygen", "relay", "--out", s.dir).check(t, exitDone, keysOfForm, keysOfRelay)
	s.allow("form@shop.example", "office@shop.example")
	s.form = fmt.Sprintf("\n[relay]\nurl = \"http://%s\"\nkeys = %q\nreconcile = \"off\"\n", s.address, keysOfForm) + contactForm
	s.configure(timing)
	return s
}

// allow writes the relay's configuration.
func (s *relaySite) allow(from, to string) {
	s.t.Helper()
	text := fmt.Sprintf("listen = %q\n\n[[caller]]\nname = \"website\"\nkeys = %q\nfrom = [%q]\nto = [%q]\n", s.address, keysOfRelay, from, to)
	must(s.t, os.WriteFile(s.relayConfig, []byte(text), 0o600))
}

// freeAddress is one of this machine that nobody listens at. Its port is below
// those that the system gives away by itself, or another test could get it
// meanwhile: Linux begins at 32768, RFC 6335 at 49152.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))
		if l, err := net.Listen("tcp", address); err == nil {
			must(t, l.Close())
			return address
		}
	}
}

// startRelay runs the relay. failpoint is empty, or the step at which it ends.
func (s *relaySite) startRelay(failpoint string) *process {
	s.t.Helper()
	var environ []string
	if failpoint != "" {
		environ = append(environ, "FORMLEDGER_FAILPOINT="+failpoint)
	}
	return launch(s.t, s.dir, environ, "relay", "--config", s.relayConfig, "--data", s.relayData).serving()
}

// relayed are the mails that the relay has sent.
func (s *relaySite) relayed() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.relayData, "mail", "new", "*.formledger"))
	must(s.t, err)
	return files
}

func (s *relaySite) wantRelayed(n int) {
	s.t.Helper()
	if got := s.relayed(); len(got) != n {
		s.t.Errorf("the relay has sent %d mails, want %d: %v", len(got), n, got)
	}
}

func TestTwoProcessesPassAnEnquiryOn(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, patient), newWords()
	far := s.startRelay("")
	p := s.start("")
	p.post(w, http.StatusCreated, "accepted")
	p.replay(w)
	s.wantRelayed(1)
	row := s.row(w.ID)
	if row.RelayEpoch == "" || !strings.HasPrefix(row.Receipt, "relay:maildir:") {
		t.Errorf("%+v", row)
	}
	text, err := os.ReadFile(s.relayed()[0])
	must(t, err)
	for _, want := range []string{string(row.Reference), "Reply-To: <" + w.Email + ">", "form@shop.example"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the mail:\n%s", want, text)
		}
	}
	s.command("test-send", "contact").check(t, exitDone, "accepted. The mail system took the message.")
	s.wantRelayed(2)
	far.stop()
	p.stop()
}

func TestADeadRelayIsNotSentAndTheNextTryArrives(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, patient), newWords()
	p := s.start("")
	if a := p.post(w, http.StatusServiceUnavailable, "not_sent"); a.Header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %v", a.Header)
	}
	s.startRelay("")
	p.sendsAtLast(w)
	s.wantRelayed(1)
}

// Whatever the relay's death leaves behind, it is never a false "not sent", and
// never a second mail.
func TestTheRelayKilledAtEachStepOfItsJourney(t *testing.T) {
	for _, c := range []struct {
		step  string
		mails int
		then  string // what reconciling makes of it
		need  ledger.Need
	}{
		{"server.before-claim", 0, "not_sent", ""},
		{"server.after-claim", 0, "uncertain", ledger.NeedsUncertain},
		{"maildir.after-rename", 1, "uncertain", ledger.NeedsUncertain},
		{"server.after-send", 1, "uncertain", ledger.NeedsUncertain},
		{"server.after-record", 1, "accepted", ""},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			s, w := newRelaySite(t, patient), newWords()
			far := s.startRelay(c.step + "=kill")
			p := s.start("")
			p.post(w, http.StatusConflict, "uncertain")
			far.killedItself()
			s.wantRelayed(c.mails)
			s.startRelay("")
			dry := s.command("reconcile", "--dry-run")
			dry.check(t, exitDone, string(s.row(w.ID).Reference))
			p.becomes(w.ID, "uncertain")
			s.command("reconcile").check(t, exitDone, c.then)
			p.becomes(w.ID, c.then)
			if row := s.row(w.ID); row.Needs != c.need {
				t.Errorf("it needs %q, want %q", row.Needs, c.need)
			}
			if c.then == "not_sent" {
				p.post(w, http.StatusCreated, "accepted")
				s.wantRelayed(1)
			} else {
				s.wantRelayed(c.mails)
			}
		})
	}
}

func TestReconcileAsAScriptReadsIt(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, patient), newWords()
	far := s.startRelay("server.after-record=kill")
	p := s.start("")
	p.post(w, http.StatusConflict, "uncertain")
	far.killedItself()
	ref := string(s.row(w.ID).Reference)
	s.command("reconcile").check(t, exitFailed, ref, "no answer that counts about 1 of 1", "doctor")
	s.command("reconcile", "AAAA-AAAA-AAAA").check(t, exitNoMatch, "AAAA-AAAA-AAAA")
	s.startRelay("")
	var dry, done []reconciledJSON
	r := s.command("reconcile", "--dry-run", "--json", ref)
	r.check(t, exitDone)
	must(t, json.Unmarshal([]byte(r.out), &dry))
	if len(dry) != 1 || !dry[0].DryRun || dry[0].Change != "accepted" || dry[0].Reference != ref || s.row(w.ID).Status != ledger.Uncertain {
		t.Errorf("the dry run: %+v, %+v", dry, s.row(w.ID))
	}
	r = s.command("reconcile", "--json")
	r.check(t, exitDone)
	must(t, json.Unmarshal([]byte(r.out), &done))
	if len(done) != 1 || done[0].DryRun || done[0].Change != "accepted" || s.row(w.ID).Status != ledger.Accepted {
		t.Errorf("%+v, %+v", done, s.row(w.ID))
	}
	s.command("reconcile").check(t, exitDone, "Nothing is uncertain.")
	s.command("reconcile", ref).check(t, exitDone, "accepted already")
	bySMTP := newSite(t, patient)
	bySMTP.start("").stop()
	bySMTP.command("reconcile").check(t, exitFailed, "no relay to ask")
}

// The server asks by itself, once the lease of the call is over.
func TestTheServerReconcilesByItself(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, quick), newWords()
	far := s.startRelay("server.after-record=kill")
	p := s.start("")
	p.post(w, http.StatusConflict, "uncertain")
	far.killedItself()
	p.stop()
	s.startRelay("")
	eventually(t, func() error {
		if time.Now().Before(s.row(w.ID).LeaseUntil) {
			return fmt.Errorf("the lease is not over")
		}
		return nil
	})
	s.form = strings.Replace(s.form, `reconcile = "off"`, `reconcile = "1m"`, 1)
	s.configure(quick)
	p = s.start("")
	p.becomes(w.ID, "accepted")
	p.logged(`"change":"accepted"`)
	s.wantRelayed(1)
}

func TestAnOperatorIsHeldBackByTheRelay(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, patient), newWords()
	far := s.startRelay("server.after-record=kill")
	p := s.start("")
	p.post(w, http.StatusConflict, "uncertain")
	far.killedItself()
	ref := string(s.row(w.ID).Reference)
	s.command("resolve", ref, "--not-received", "--note", "searched").check(t, exitDone, "disputed")
	s.startRelay("")
	p.sendsAtLast(w)
	s.wantRelayed(1)
	s.needs(ref, ledger.NeedsDisputed)
	s.command("show", ref).check(t, exitDone, "contradict", "accepted under the earlier claim")
}

// The keys are changed while visitors are writing: the new pair is added at the
// relay, the form server switches, the old pair goes.
func TestKeyRotationUnderLoad(t *testing.T) {
	s := newRelaySite(t, patient)
	far, p := s.startRelay(""), s.start("")
	crowd, stop := newCrowd(t, p.base)
	crowd.progress(20)
	command(nil, "keygen", "relay", "--out", filepath.Join(s.dir, "new")).check(t, exitDone)
	fresh := s.read("new/" + keysOfRelay)
	s.write(keysOfRelay, s.read(keysOfRelay)+fresh)
	far.reloads(1)
	crowd.progress(20)
	s.write(keysOfForm, s.read("new/"+keysOfForm))
	p.reloads(1)
	crowd.progress(20)
	s.write(keysOfRelay, fresh)
	far.reloads(2)
	crowd.progress(20)
	sent := stop()
	s.needsNobody()
	s.wantRelayed(sent)
	s.write(keysOfRelay, "nonsense")
	far.signal(syscall.SIGHUP)
	far.logged("the old ones stay in use")
	p.post(newWords(), http.StatusCreated, "accepted")
}

// reloads makes a process read its keys once more, for the nth time.
func (p *process) reloads(n int) {
	p.t.Helper()
	p.signal(syscall.SIGHUP)
	eventually(p.t, func() error {
		if got := strings.Count(p.log.String(), "keys are read again"); got < n {
			return fmt.Errorf("read %d times, want %d:\n%s", got, n, p.log)
		}
		return nil
	})
}

func (s *relaySite) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.t, err)
	return string(text)
}

func (s *relaySite) write(name, text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// crowd are visitors who each send one enquiry after the other.
type crowd struct {
	t        *testing.T
	mu       sync.Mutex
	accepted int
	odd      []string // what was not accepted
}

func newCrowd(t *testing.T, base string) (*crowd, func() (sent int)) {
	t.Helper()
	c, over, visitors := &crowd{t: t}, make(chan struct{}), sync.WaitGroup{}
	for range 4 {
		visitors.Go(func() {
			for {
				a, err := try(base, newWords().json())
				c.counts(a, err)
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	return c, func() int {
		t.Helper()
		close(over)
		visitors.Wait()
		if len(c.odd) > 0 {
			t.Errorf("%d answers like %s", len(c.odd), c.odd[0])
		}
		return c.accepted
	}
}

func (c *crowd) counts(a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.odd = append(c.odd, err.Error())
	case a.Outcome != "accepted":
		c.odd = append(c.odd, a.String())
	default:
		c.accepted++
	}
}

// progress waits for so many more acceptances.
func (c *crowd) progress(more int) {
	c.t.Helper()
	c.mu.Lock()
	want := c.accepted + more
	c.mu.Unlock()
	eventually(c.t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.accepted < want {
			return fmt.Errorf("%d accepted, waiting for %d", c.accepted, want)
		}
		return nil
	})
}

func TestKeygenWritesNoKeysOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(nil, "keygen", "relay", "--out", dir).check(t, exitDone)
	for _, name := range []string{keysOfForm, keysOfRelay} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	must(t, os.Remove(filepath.Join(dir, keysOfForm)))
	command(nil, "keygen", "relay", "--out", dir).check(t, exitFailed, "is there already")
	if exists(filepath.Join(dir, keysOfForm)) {
		t.Error("half of the keys were written")
	}
}

func TestDoctorOnBothSides(t *testing.T) {
	t.Parallel()
	s := newRelaySite(t, patient)
	down := s.diagnosis(goodDNS())
	about(t, down, "relay").says(t, "fail", "connect_refused", "Nothing listens")
	far := s.startRelay("")
	p := s.start("")
	up := s.diagnosis(goodDNS())
	about(t, up, "relay").says(t, "ok", "its keys are ours", "its memory is")
	about(t, up, "clocks").says(t, "ok")
	about(t, up, "form contact at the relay").says(t, "ok")
	there := s.relayDiagnosis()
	about(t, there, "calls").says(t, "ok", "its memory is")
	about(t, there, "caller website").says(t, "ok", "k-")
	about(t, there, "relay for website").says(t, "ok", "it answers at "+s.address)
	far.stop()
	about(t, s.relayDiagnosis(), "relay for website").says(t, "warn", "formledger relay")

	s.allow("other@shop.example", "office@shop.example")
	far = s.startRelay("")
	about(t, s.diagnosis(goodDNS()), "form contact at the relay").says(t, "fail", "form@shop.example")
	far.stop()
	s.allow("form@shop.example", "other@shop.example")
	far = s.startRelay("")
	about(t, s.diagnosis(goodDNS()), "form contact at the relay").says(t, "fail", "office@shop.example")
	w := newWords()
	p.post(w, http.StatusBadGateway, "not_sent")
	s.wantRelayed(0)
	far.stop()

	command(nil, "keygen", "relay", "--out", filepath.Join(s.dir, "other")).check(t, exitDone)
	s.write(keysOfRelay, s.read("other/"+keysOfRelay))
	s.startRelay("")
	about(t, s.diagnosis(goodDNS()), "relay").says(t, "fail", "http_401", "compare the key files")
}

// relayDiagnosis is what the doctor finds at the relay.
func (s *relaySite) relayDiagnosis() []finding {
	s.t.Helper()
	r := command(nil, "doctor", "--json", "--config", s.relayConfig, "--data", s.relayData)
	var found []finding
	if err := json.Unmarshal([]byte(r.out), &found); err != nil {
		s.t.Fatalf("%v in\n%s%s", err, r.out, r.err)
	}
	return found
}

func TestClocksThatGoApart(t *testing.T) {
	now := time.Now()
	for apart, state := range map[time.Duration]string{
		0: "ok", 14 * time.Second: "ok", -14 * time.Second: "ok", 16 * time.Second: "warn", -30 * time.Second: "warn", time.Minute: "fail", -time.Hour: "fail",
	} {
		if f := examineClocks(now, now.Add(apart), now); f.State != state {
			t.Errorf("%s: %+v, want %s", apart, f, state)
		}
	}
}

// The README's two files, copied as they stand, work on the first try.
func TestTheReadmesTwoConfigurationsWork(t *testing.T) {
	t.Parallel()
	_, chapter, _ := strings.Cut(readTop(t, "README.md"), "## A relay on another machine")
	files := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(chapter, 2)
	dir, here, there := t.TempDir(), freeAddress(t), freeAddress(t)
	ports := strings.NewReplacer("127.0.0.1:8080", here, "127.0.0.1:8090", there)
	must(t, os.WriteFile(filepath.Join(dir, "relay.toml"), []byte(ports.Replace(files[0][1])), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "form.toml"), []byte(ports.Replace(files[1][1])), 0o600))
	_, steps, _ := strings.Cut(chapter, "```console\n")
	steps, _, _ = strings.Cut(steps, "```")
	for line := range strings.Lines(steps) {
		args := strings.Fields(strings.TrimPrefix(line, "$ ./formledger"))
		p := launch(t, dir, nil, args...)
		if args[0] == "relay" || args[0] == "serve" {
			p.serving()
			continue
		}
		if end := p.wait(); end.ExitStatus() != exitDone {
			t.Errorf("%s ended with %v:\n%s%s", line, end, p.out, p.log)
		}
		if args[0] == "doctor" && strings.Contains(p.out.String(), "fail ") {
			t.Errorf("%s:\n%s", line, p.out)
		}
	}
	mails, err := filepath.Glob(filepath.Join(dir, "formledger-relay-data", "mail", "new", "*"))
	if err != nil || len(mails) != 1 {
		t.Errorf("%d mails have arrived, %v", len(mails), err)
	}
}

func TestAFaultyRelayNamesItsLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"no address":      {"[relay]\nkeys = \"k\"\n" + contactForm, "line 1: relay address"},
		"an open network": {"[relay]\nurl = \"http://relay.example.com\"\n" + contactForm, "can be read on the way"},
		"a path":          {"[relay]\nurl = \"https://relay.example.com/x\"\n" + contactForm, "without a path"},
		"a short wait":    {"[relay]\nurl = \"https://relay.example.com\"\nreconcile = \"1s\"\n" + contactForm, "a minute or more"},
		"no keys":         {"[relay]\nurl = \"https://relay.example.com\"\n" + contactForm, "formledger keygen relay"},
		"mail twice":      {"maildir = \"m\"\n[relay]\nurl = \"https://relay.example.com\"\n" + contactForm, "relay's own configuration"},
		"no such file":    {"[relay]\nurl = \"https://relay.example.com\"\nkeys = \"none\"\n" + contactForm, "the relay keys"},
		"no such setting": {"[relay]\nurl = \"https://relay.example.com\"\nkey = \"none\"\n" + contactForm, `line 3: there is no setting "relay.key"`},
		"a caller's name": {"[[caller]]\nkeys = \"k\"\n", "has no name"},
		"a caller's keys": {"[[caller]]\nname = \"w\"\n", "name the file of its keys"},
		"a caller's list": {"[[caller]]\nname = \"w\"\nkeys = \"k\"\n", "from and to"},
		"a caller's word": {"[[caller]]\nname = \"w\"\nkey = \"k\"\n", `line 3: there is no setting "caller.key"`},
	} {
		r := command(nil, "config", "check", "--config", written(t, c.text))
		if r.code != exitFailed || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: exit code %d, want %q in\n%s%s", name, r.code, c.says, r.out, r.err)
		}
	}
	station := written(t, "[[caller]]\nname = \"w\"\nkeys = \"k\"\nfrom = [\"a@b.example\"]\nto = [\"any\"]\n")
	command(nil, "serve", "--config", station).check(t, exitFailed, "formledger relay runs it")
	command(nil, "relay", "--config", written(t, contactForm)).check(t, exitFailed, "no setting")
	command(nil, "relay").check(t, exitFailed, "config example relay")
}

func TestTheRelaysExampleIsFine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	example := command(nil, "config", "example", "relay")
	example.check(t, exitDone, "[[caller]]")
	command(nil, "keygen", "relay", "--out", dir).check(t, exitDone)
	file := filepath.Join(dir, "relay.toml")
	must(t, os.WriteFile(file, []byte(example.out), 0o600))
	command(nil, "config", "check", "--config", file).check(t, exitDone, "website")
	command(nil, "config", "example", "else").check(t, exitUsage)
}

// A second signal is for whoever cannot wait; the first lets the call end.
func TestARelayStopsInOrder(t *testing.T) {
	t.Parallel()
	s, w := newRelaySite(t, patient), newWords()
	far := s.startRelay("server.after-claim=stop")
	p := s.start("")
	done := inBackground(p.base, w.json())
	far.stopped()
	far.signal(syscall.SIGTERM)
	far.signal(syscall.SIGCONT)
	if a := p.answers(done); a.Outcome != "accepted" {
		t.Errorf("got %v", a)
	}
	if end := far.wait(); end.ExitStatus() != exitDone {
		t.Errorf("the relay ended with %v:\n%s", end, far.log)
	}
	s.wantRelayed(1)
}
