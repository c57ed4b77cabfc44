//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

// process is a running formledger.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	base     string // http://127.0.0.1:port
	out, log *output
	ended    chan struct{} // closed when the process is gone
}

// output gathers what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// launch starts a process and does not wait until it serves.
func launch(t *testing.T, dir string, environ []string, args ...string) *process {
	t.Helper()
	file, err := program()
	must(t, err)
	p := &process{t: t, cmd: exec.Command(file, args...), out: &output{}, log: &output{}, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p.out, p.log
	p.cmd.Env = append(plainEnvironment(), environ...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

func plainEnvironment() []string {
	var plain []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, envPrefix) {
			plain = append(plain, e)
		}
	}
	return plain
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serving waits until the process has said where it listens.
func (p *process) serving() *process {
	p.t.Helper()
	eventually(p.t, func() error {
		if p.base = address.FindString(p.out.String()); p.base != "" {
			return nil
		}
		select {
		case <-p.ended:
			p.t.Fatalf("formledger ended at its start: %s\n%s", p.cmd.ProcessState, p.log)
		default:
		}
		return errors.New("no address was printed")
	})
	return p
}

// start serves the site. failpoint is empty, or the step at which the process
// kills or stops itself.
func (s *site) start(failpoint string) *process {
	s.t.Helper()
	environ := s.environ
	if failpoint != "" {
		environ = append(environ[:len(environ):len(environ)], "FORMLEDGER_FAILPOINT="+failpoint)
	}
	return launch(s.t, s.dir, environ, "serve", "--config", s.config, "--data", s.data, "--listen", "127.0.0.1:0").serving()
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(sig))
}

// kill ends the process whatever it does, even if it is stopped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// wait gives how the process ended.
func (p *process) wait() syscall.WaitStatus {
	p.t.Helper()
	eventually(p.t, func() error {
		select {
		case <-p.ended:
			return nil
		default:
			return fmt.Errorf("the process still runs:\n%s", p.log)
		}
	})
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// stop ends the process gracefully.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if end := p.wait(); end.ExitStatus() != exitDone {
		p.t.Fatalf("the process ended with %v:\n%s", end, p.log)
	}
}

// stopsAt starts a process that stands still at the step of this enquiry, once
// the sweep of its start is over.
func (s *site) stopsAt(step string, r request) (*process, <-chan attempt) {
	s.t.Helper()
	p := s.start(step + "=stop")
	p.alive()
	done := inBackground(p.base, r)
	p.stopped()
	return p, done
}

// killedItself waits for the end that a fail point makes.
func (p *process) killedItself() {
	p.t.Helper()
	if end := p.wait(); !end.Signaled() || end.Signal() != syscall.SIGKILL {
		p.t.Fatalf("the process ended with %v, want SIGKILL:\n%s", end, p.log)
	}
}

// stopped waits until the process has stopped itself at its fail point.
func (p *process) stopped() {
	p.t.Helper()
	eventually(p.t, func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			return err
		}
		// proc_pid_stat(5): the state follows the name, which stands in brackets
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); string(fields[0]) != "T" {
			return fmt.Errorf("the process is not stopped, its state is %s", fields[0])
		}
		return nil
	})
}

// logged waits for a text in the log.
func (p *process) logged(text string) {
	p.t.Helper()
	eventually(p.t, func() error {
		if strings.Contains(p.log.String(), text) {
			return nil
		}
		return fmt.Errorf("%q is not in the log:\n%s", text, p.log)
	})
}

func (p *process) send(r request) answer {
	p.t.Helper()
	a, err := try(p.base, r)
	must(p.t, err)
	return a
}

// post sends an enquiry, and fails unless the answer is this one.
func (p *process) post(w words, status int, outcome string) answer {
	p.t.Helper()
	a := p.send(w.json())
	if !a.is(status, outcome) {
		p.t.Fatalf("got %v\nwant %d %s\n%s", a, status, outcome, p.log)
	}
	return a
}

// sendsAtLast repeats a post, as a visitor who was told "not sent", until it is
// accepted.
func (p *process) sendsAtLast(w words) {
	p.t.Helper()
	eventually(p.t, func() error {
		if a := p.send(w.json()); a.Outcome != "accepted" {
			return fmt.Errorf("got %v, want accepted", a)
		}
		return nil
	})
}

// replay sends an enquiry that was accepted before.
func (p *process) replay(w words) answer {
	p.t.Helper()
	a := p.send(w.json())
	if !a.replayed() {
		p.t.Fatalf("got %v\nwant a replay of accepted\n%s", a, p.log)
	}
	return a
}

func (p *process) get(path, accept string) answer {
	p.t.Helper()
	a, err := get(p.base+path, accept)
	must(p.t, err)
	return a
}

func (p *process) receipt(id uuid.UUID) answer {
	p.t.Helper()
	return p.get("/receipts/"+id.String(), "application/json")
}

// becomes waits for the outcome on a receipt.
func (p *process) becomes(id uuid.UUID, outcome string) {
	p.t.Helper()
	eventually(p.t, func() error {
		if a := p.receipt(id); a.Outcome != outcome {
			return fmt.Errorf("the receipt says %v, want %s", a, outcome)
		}
		return nil
	})
}

// answers waits for the answer of a post in the background.
func (p *process) answers(done <-chan attempt) answer {
	p.t.Helper()
	got := <-done // bounded by the client's own deadline
	must(p.t, got.err)
	return got.answer
}

// alive makes some requests, so that the process has had time for its others.
func (p *process) alive() {
	p.t.Helper()
	for range 50 {
		if a := p.get("/healthz", "*/*"); a.Status != http.StatusOK {
			p.t.Fatalf("not alive: %v", a)
		}
	}
}
