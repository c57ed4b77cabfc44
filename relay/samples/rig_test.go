package samples_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"formledger/relay/signed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the samples are configured to send.
const (
	from = "Bäckerei Müller <website@example.com>"
	to   = "owner@example.com"
)

// mode is what the far end behind a sample does with a message.
type mode string

const (
	accept mode = "accept"
	doubt  mode = "doubt"  // takes it, and fails all the same
	refuse mode = "refuse" // the Worker's
	deaf   mode = "deaf"   // sendmail's: ends without reading
	die    mode = "die"    // kills the relay before anything is sent
)

// rig is one sample relay on loopback, with a memory that survives restarts.
type rig struct {
	t       *testing.T
	name    string
	dir     string
	keyText string
	keys    *signed.Keys
	client  *http.Client
	address string // host:port, which changes with a restart
	cmd     *exec.Cmd
	d1      string // the Worker's database
	launch  func(*rig, mode)
}

// eachSample runs a test with either sample.
func eachSample(t *testing.T, test func(*testing.T, *rig)) {
	t.Run("worker", func(t *testing.T) { test(t, newRig(t, "worker", launchWorker(t))) })
	t.Run("php", func(t *testing.T) { test(t, newRig(t, "php", launchPHP)) })
}

func newRig(t *testing.T, name string, launch func(*rig, mode)) *rig {
	t.Helper()
	text := keyFile(t)
	keys, err := signed.ParseKeys(text)
	must(t, err)
	r := &rig{t: t, name: name, dir: t.TempDir(), keyText: text, keys: keys, launch: launch,
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	must(t, os.Mkdir(r.path("sent"), 0o700))
	must(t, os.Mkdir(r.path("calls"), 0o700))
	t.Cleanup(r.stop)
	return r
}

func keyFile(t *testing.T) string {
	t.Helper()
	text, err := signed.NewKeyFile(rand.Reader, time.Now().Add(-48*time.Hour))
	must(t, err)
	return text
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) start(m mode) {
	r.t.Helper()
	r.launch(r, m)
}

// program finds a program that a sample runs in, or ends the test: loudly, and
// under CI as a failure.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	missing := fmt.Sprintf("NOT TESTED: the sample relays: %v; make deps installs it", err)
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

var listensAt = regexp.MustCompile(`(127\.0\.0\.1:\d+)\b`)

// run starts a server of a group of its own, and waits until it says where it
// listens.
func (r *rig) run(environ []string, command ...string) {
	r.t.Helper()
	said, err := os.Create(r.path("said"))
	must(r.t, err)
	defer said.Close()
	r.cmd = exec.Command(command[0], command[1:]...)
	r.cmd.Stdout, r.cmd.Stderr = said, said
	r.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SENT=" + r.path("sent")}, environ...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	must(r.t, r.cmd.Start())
	eventually(r.t, "the sample says where it listens", func() bool {
		found := listensAt.FindStringSubmatch(r.said())
		if found != nil {
			r.address = found[1]
		}
		return found != nil
	})
}

func (r *rig) said() string {
	text, _ := os.ReadFile(r.path("said"))
	return string(text)
}

// stop kills the sample with everything that it has started.
func (r *rig) stop() {
	if r.cmd == nil {
		return
	}
	syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	r.cmd.Wait()
	r.cmd = nil
	if r.t.Failed() {
		r.t.Logf("%s said:\n%s", r.name, r.said())
	}
}

// launchWorker runs the Worker in Node, with a real SQLite in the place of D1.
func launchWorker(t *testing.T) func(*rig, mode) {
	node := program(t, "node")
	db := newD1(t)
	return func(r *rig, m mode) {
		r.t.Helper()
		r.d1 = db
		copyFile(r.t, "worker/relay.js", r.path("relay.mjs")) // .mjs: Node takes it for a module
		harness, err := filepath.Abs("testdata/worker.mjs")
		must(r.t, err)
		r.run([]string{"RELAY=" + r.path("relay.mjs"), "KEYS=" + r.keyText, "FROM=" + list(from), "TO=" + list(to),
			"DB_URL=" + db, "MODE=" + string(m)}, node, harness)
	}
}

func list(texts ...string) string {
	text, _ := json.Marshal(texts)
	return string(text)
}

// launchPHP runs the PHP file in PHP's own server, with a script for sendmail.
func launchPHP(r *rig, m mode) {
	r.t.Helper()
	php := program(r.t, "php")
	must(r.t, os.MkdirAll(r.path("web"), 0o700))
	copyFile(r.t, "php/relay.php", r.path("web/relay.php"))
	must(r.t, os.WriteFile(r.path("keys"), []byte(r.keyText), 0o600))
	r.run([]string{"MODE=" + string(m), "PHP_CLI_SERVER_WORKERS=4"}, php, "-S", "127.0.0.1:0", "-t", r.path("web"), r.path("web/relay.php"))
	sendmail, err := filepath.Abs("testdata/sendmail.sh")
	must(r.t, err)
	if m == refuse {
		sendmail = "/nonexistent/sendmail"
	}
	r.configure(r.path("calls"), sendmail)
}

// configure writes the PHP file's configuration, which is read for every call.
func (r *rig) configure(folder, sendmail string) {
	r.t.Helper()
	text := fmt.Sprintf(`<?php return ['authority' => '%s', 'keys' => '%s', 'folder' => '%s', 'from' => ['%s'], 'to' => ['%s'],
		'sendmail' => ['%s', '-i']];`, r.address, r.path("keys"), folder, from, to, sendmail)
	must(r.t, os.WriteFile(r.path("config.part"), []byte(text), 0o600))
	must(r.t, os.Rename(r.path("config.part"), r.path("web/relay-config.php")))
}

// anHourPasses for what is recorded.
func (r *rig) anHourPasses() {
	r.t.Helper()
	if r.d1 != "" {
		resp, err := r.client.Post(r.d1, "application/json", strings.NewReader(`{"sql": "UPDATE calls SET at = at - 3600000"}`))
		must(r.t, err)
		must(r.t, resp.Body.Close())
		return
	}
	entries, err := os.ReadDir(r.path("calls"))
	must(r.t, err)
	for _, e := range entries {
		must(r.t, os.Chtimes(r.path("calls/"+e.Name()), time.Time{}, time.Now().Add(-time.Hour)))
	}
}

// sent is what was handed on, in no order.
func (r *rig) sent() []string {
	r.t.Helper()
	entries, err := os.ReadDir(r.path("sent"))
	must(r.t, err)
	var all []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.path("sent"), e.Name()))
		must(r.t, err)
		all = append(all, string(text))
	}
	return all
}

func (r *rig) wantSent(n int) {
	r.t.Helper()
	if got := r.sent(); len(got) != n {
		r.t.Fatalf("%d messages were handed on, want %d: %q", len(got), n, got)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, text, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// call is a signed request that was not made yet.
type call struct {
	*http.Request
	question signed.Question
	body     []byte
}

// sign makes a call. Tests then change it where they want to.
func (r *rig) sign(tag signed.Tag, path, id string, body []byte, at time.Time) *call {
	return r.signBy(r.keys, tag, path, id, body, at)
}

func (r *rig) signBy(keys *signed.Keys, tag signed.Tag, path, id string, body []byte, at time.Time) *call {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodPost, "http://"+r.address+path, nil)
	must(r.t, err)
	question, err := keys.SignCall(request, r.address, tag, id, body, at, rand.Reader)
	must(r.t, err)
	return &call{request, question, body}
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r *rig) try(c *call) (reply, error) {
	c.Body = io.NopCloser(bytes.NewReader(c.body))
	c.ContentLength = int64(len(c.body))
	resp, err := r.client.Do(c.Request)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}

// answered makes a call, which has to be answered with a signature.
func (r *rig) answered(c *call) []byte {
	r.t.Helper()
	got, err := r.try(c)
	must(r.t, err)
	if err := r.keys.VerifyAnswer(got.status, got.header, got.body, c.question, time.Now()); err != nil {
		r.t.Fatalf("the answer is %v: %d %v %s", err, got.status, got.header, got.body)
	}
	return got.body
}

// told is the signed answer to a call about a claim.
func (r *rig) told(c *call) signed.Answer {
	r.t.Helper()
	a, err := signed.ParseAnswer(r.answered(c))
	must(r.t, err)
	return a
}

// turnedAway makes a call, which has to get this status and no signature.
func (r *rig) turnedAway(status int, c *call) {
	r.t.Helper()
	got, err := r.try(c)
	must(r.t, err)
	if got.status != status {
		r.t.Errorf("the status is %d, want %d: %s", got.status, status, got.body)
	}
	for _, name := range []string{"Signature", "Signature-Input", "Content-Digest"} {
		if got.header.Get(name) != "" {
			r.t.Errorf("the answer has a %s", name)
		}
	}
}
