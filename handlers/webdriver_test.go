//go:build linux

package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// driver is a running chromedriver: as much of a WebDriver client as these
// tests need (W3C WebDriver, level 2).
type driver struct {
	t      *testing.T
	url    string
	client *http.Client
	home   string // of chromedriver and Chromium; nothing is written elsewhere
	chrome string
}

// toSend is a command's parameters.
type toSend map[string]any

// programFor finds a program of a Debian package, or ends the test: loudly, and
// under CI as a failure.
func programFor(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	missing(t, fmt.Errorf("%w; make deps installs it", err))
	return ""
}

// missing ends a test that cannot be made here: loudly, and under CI as a failure.
func missing(t *testing.T, why error) {
	t.Helper()
	said := fmt.Sprintf("NOT TESTED: the pages in a real browser: %v", why)
	if os.Getenv("CI") != "" {
		t.Fatal(said)
	}
	t.Skip(said)
}

func startDriver(t *testing.T) *driver {
	t.Helper()
	d := &driver{t: t, home: t.TempDir(), chrome: programFor(t, "chromium"),
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}
	cmd := exec.Command(programFor(t, "chromedriver"), "--port=0")
	said, err := os.Create(filepath.Join(d.home, "chromedriver.log"))
	must(t, err)
	// A file, not a pipe: Chromium inherits it, and Wait would wait for Chromium.
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = append(os.Environ(), "HOME="+d.home, "TMPDIR="+d.home)
	// A group of its own, which Chromium joins, to be killed whole. Should this
	// process die first, chromedriver dies with it, and Chromium with the pipe
	// by which it is driven.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	must(t, said.Close())
	t.Cleanup(func() { d.stop(cmd) })
	eventually(t, "chromedriver says where it listens", func() bool {
		d.url = listening(said.Name())
		return d.url != ""
	})
	return d
}

var portLine = regexp.MustCompile(`started successfully on port (\d+)`)

// listening reads the port that chromedriver was given by the system.
func listening(log string) string {
	text, err := os.ReadFile(log)
	if m := portLine.FindSubmatch(text); err == nil && m != nil {
		return "http://127.0.0.1:" + string(m[1])
	}
	return ""
}

// stop leaves no process, no connection and no file behind.
func (d *driver) stop(cmd *exec.Cmd) {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		d.t.Errorf("chromedriver had ended before: %v", err)
	}
	_ = cmd.Wait() // "signal: killed"
	d.client.CloseIdleConnections()
	// Chromium's crash handler ends a moment after Chromium, and may still write.
	eventually(d.t, "the browser's folder is gone", func() bool { return os.RemoveAll(d.home) == nil })
}

// call makes one command and decodes its value.
func (d *driver) call(method, path string, in toSend, out any) error {
	var body io.Reader
	if method == "POST" {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, d.url+path, body)
	if err != nil {
		return err
	}
	res, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return valueOf(res, out)
}

func valueOf(res *http.Response, out any) error {
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var failed struct{ Error, Message string }
		_ = json.Unmarshal(answer.Value, &failed)
		return fmt.Errorf("%s: %s", failed.Error, failed.Message)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, out)
}

// browser is one Chromium.
type browser struct {
	*driver
	session string // its path
	pid     int    // of its main process
}

// What a browser does about commands while a page is loading ("pageLoadStrategy").
const (
	patient   = "normal" // they wait
	impatient = "none"
)

// browser starts a Chromium that runs no page's script; flags come on top of the
// usual ones.
func (d *driver) browser(t *testing.T, loading string, flags ...string) *browser {
	t.Helper()
	const block = 2
	return d.start(t, loading, toSend{"profile.managed_default_content_settings.javascript": block}, d.profile(t), flags...)
}

// scripted starts a Chromium that runs scripts.
func (d *driver) scripted(t *testing.T, loading string, flags ...string) *browser {
	t.Helper()
	return d.start(t, loading, toSend{}, d.profile(t), flags...)
}

// profile is a folder for a browser's own memory.
func (d *driver) profile(t *testing.T) string {
	t.Helper()
	profile, err := os.MkdirTemp(d.home, "profile-")
	must(t, err)
	return profile
}

func (d *driver) start(t *testing.T, loading string, prefs toSend, profile string, flags ...string) *browser {
	t.Helper()
	args := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--remote-debugging-pipe", "--window-size=1000,1600", "--user-data-dir=" + profile}, flags...)
	chrome := toSend{"binary": d.chrome, "args": args, "prefs": prefs}
	wanted := toSend{"browserName": "chrome", "pageLoadStrategy": loading,
		"goog:chromeOptions": chrome, "goog:loggingPrefs": toSend{"browser": "ALL"}}
	var made struct {
		SessionID    string
		Capabilities struct {
			PID int `json:"goog:processID"`
		}
	}
	must(t, d.call("POST", "/session", toSend{"capabilities": toSend{"alwaysMatch": wanted}}, &made))
	b := &browser{driver: d, session: "/session/" + made.SessionID, pid: made.Capabilities.PID}
	t.Cleanup(b.quit)
	return b
}

// quit ends the browser, once.
func (b *browser) quit() {
	if b.session != "" {
		must(b.t, b.driver.call("DELETE", b.session, nil, nil))
		b.session = ""
	}
}

func (b *browser) call(method, path string, in toSend, out any) error {
	return b.driver.call(method, b.session+path, in, out)
}
