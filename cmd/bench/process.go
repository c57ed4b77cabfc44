package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a child, seen from the parent.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	address string
}

// stopTimeout is how long a child may take to close its database.
const stopTimeout = 30 * time.Second

// start runs this program again as a server, with a folder of its own.
func start(ctx context.Context, o options, log io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, "-server="+string(o.server), "-data="+o.data, "-cpuprofile="+o.profile,
		fmt.Sprintf("-senders=%d", o.senders[0]), fmt.Sprintf("-submissions=%d", o.most))}
	p.cmd.Stderr, p.cmd.WaitDelay = log, stopTimeout
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the %s server did not start: %w", o.server, err), p.stop())
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// ask sends a question and reads the counters.
func (p *process) ask(question string) (counters, error) {
	var c counters
	if _, err := fmt.Fprintln(p.in, question); err != nil {
		return c, fmt.Errorf("asking the server: %w", err)
	}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c)
	}
	if err != nil {
		return c, fmt.Errorf("the server's answer: %w", err)
	}
	return c, nil
}

// stop lets the child close its database, and waits for it.
func (p *process) stop() error {
	timer := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended badly: %w", err)
	}
	return nil
}
