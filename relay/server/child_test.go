package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

// serveAsChild is a relay in a process of its own. It writes its address, and
// every mail that it sends, into files.
func serveAsChild(dir string) {
	if err := child(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "keys"))
	if err != nil {
		return err
	}
	keys, err := signed.ParseKeys(string(text))
	if err != nil {
		return err
	}
	calls, err := OpenCalls(context.Background(), filepath.Join(dir, "calls.db"))
	if err != nil {
		return err
	}
	s, err := New(Config{
		Callers: []Caller{{Name: "shop", Keys: keys, From: []string{shop}, To: []string{owner}}},
		Calls:   calls, Sender: fileSender(filepath.Join(dir, "sent")), CallTimeout: 10 * time.Second,
		Settle: 5 * time.Second, Lease: time.Minute, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	unfinished := filepath.Join(dir, "address.tmp")
	if err := os.WriteFile(unfinished, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(unfinished, filepath.Join(dir, "address")); err != nil {
		return err
	}
	return s.HTTPServer().Serve(l)
}

// fileSender adds a line to a file for each mail.
type fileSender string

func (name fileSender) Send(_ context.Context, m relay.Mail, _ relay.Lease) relay.Verdict {
	f, err := os.OpenFile(string(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return relay.ProvenNotSent("no_file", "open")
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, m.Claim); err != nil {
		return relay.UnknownAfter("no_line", "write")
	}
	return relay.AcceptedWith("file")
}
