package mailbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"formledger/relay/netcause"
)

// actor is a server that plays its part over one connection, and keeps what it
// was told.
type actor struct {
	t    *testing.T
	conn net.Conn
	from *bufio.Reader

	mu    sync.Mutex
	heard []string
	wrote int
}

// play starts a server for one connection. The test ends only when that has
// ended; that no goroutine is left is looked at behind the last test.
func play(t *testing.T, part func(a *actor)) (Config, *actor) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a, done := &actor{t: t}, make(chan struct{})
	go func() {
		defer close(done)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		a.conn, a.from = conn, bufio.NewReader(conn)
		part(a)
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	return Config{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, TLS: None, Username: user, Password: password, Timeout: 10 * time.Second}, a
}

func (a *actor) say(format string, args ...any) bool {
	n, err := fmt.Fprintf(a.conn, format, args...)
	a.mu.Lock()
	a.wrote += n
	a.mu.Unlock()
	return err == nil
}

func (a *actor) written() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrote
}

// silence ends when the other side closes.
func (a *actor) silence() { io.Copy(io.Discard, a.from) }

// next is a command, without its tag.
func (a *actor) next() (tag, command string, ok bool) {
	line, err := a.from.ReadString('\n')
	tag, command, _ = strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, command)
	return tag, command, err == nil
}

// told are the commands that came.
func (a *actor) told() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard
}

// lines are the replies of a decent server, by the verb; "$T" is the tag.
type lines map[string]string

func decent() lines {
	header := "Message-ID: <" + wanted + ">\r\n\r\n"
	return lines{
		"greeting":   "* OK ready\r\n",
		"CAPABILITY": "* CAPABILITY IMAP4rev1\r\n$T OK done\r\n",
		"LOGIN":      "$T OK done\r\n",
		"LIST":       "* LIST () \"/\" INBOX\r\n* LIST () \"/\" Junk\r\n$T OK done\r\n",
		"EXAMINE":    "* 3 EXISTS\r\n$T OK [READ-ONLY] done\r\n",
		"SEARCH":     "* SEARCH 2\r\n$T OK done\r\n",
		"FETCH": fmt.Sprintf("* 2 FETCH (UID 7 INTERNALDATE \"01-Mar-2025 12:30:05 +0000\" RFC822.SIZE 321 BODY[HEADER.FIELDS (Message-ID)] {%d}\r\n%s)\r\n$T OK done\r\n",
			len(header), header),
		"LOGOUT": "* BYE\r\n$T OK done\r\n",
	}
}

// with changes replies: verb, reply, verb, reply.
func (l lines) with(changes ...string) lines {
	for i := 0; i < len(changes); i += 2 {
		l[changes[i]] = changes[i+1]
	}
	return l
}

// act answers as the lines say, and does something else where a verb has none.
func (l lines) act(otherwise func(a *actor)) func(a *actor) {
	return func(a *actor) {
		verb, tag, ok := "greeting", "", true
		for ok {
			if reply, known := l[verb]; !known {
				otherwise(a)
				return
			} else if a.say("%s", strings.ReplaceAll(reply, "$T", tag)) && verb == "LOGOUT" {
				return
			}
			var command string
			tag, command, ok = a.next()
			verb, _, _ = strings.Cut(command, " ")
		}
	}
}

// TestHostile: whatever a server does, at whatever stage, the search ends with
// an error in its time, and leaves nothing behind.
func TestHostile(t *testing.T) {
	for _, verb := range []string{"greeting", "CAPABILITY", "LOGIN", "LIST", "EXAMINE", "SEARCH", "FETCH", "LOGOUT"} {
		for name, trick := range tricks() {
			t.Run(verb+" "+name, func(t *testing.T) { testHostile(t, verb, trick) })
		}
	}
	for _, verb := range []string{"greeting", "LIST", "SEARCH", "FETCH"} {
		for name, flood := range floods() {
			t.Run(verb+" "+name, func(t *testing.T) { testHostile(t, verb, flood) })
		}
	}
}

func tricks() map[string]func(a *actor) {
	return map[string]func(a *actor){
		"silence":        (*actor).silence,
		"closes":         func(*actor) {},
		"garbage":        func(a *actor) { a.say("\x00\xff{9}\r\n)( * *\r\n"); a.silence() },
		"half a line":    func(a *actor) { a.say("* CAPABIL") },
		"echoes":         func(a *actor) { a.say("* %s\r\n", password); a.silence() },
		"ENABLED":        func(a *actor) { a.say("* 007 EnAbLeD X\r\n"); a.silence() },
		"a strange tag":  func(a *actor) { a.say("T999 OK\r\n+ what?\r\n"); a.silence() },
		"half a literal": func(a *actor) { a.say("* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] {99}\r\nMessage") },
		"stray literal":  func(a *actor) { a.say("* 9 FETCH (BODY[] {99}\r\nMessage"); a.silence() },
	}
}

func floods() map[string]func(a *actor) {
	return map[string]func(a *actor){
		"endless line":  endless("A"),
		"endless list":  endless("* LIST () \"/\" Junk\r\n"),
		"endless fetch": endless("* 2 FETCH (FLAGS ())\r\n"),
		"open lists":    func(a *actor) { a.say("* 2 FETCH "); endless("(UID 7 BODYSTRUCTURE (")(a) },
		"literal": func(a *actor) {
			a.say("* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] {99999999999}\r\n")
			endless("x")(a)
		},
		"backwards": func(a *actor) { // the slowest way to fill go-imap's set of hits
			a.say("* SEARCH")
			for n := 1 << 30; a.say(" %d", n); n -= 2 {
			}
		},
	}
}

func endless(what string) func(a *actor) {
	block := strings.Repeat(what, 1+4096/len(what))
	return func(a *actor) {
		for a.say("%s", block) {
		}
	}
}

func testHostile(t *testing.T, verb string, trick func(a *actor)) {
	l := decent()
	delete(l, verb)
	c, a := play(t, l.act(trick))
	if verb != "LOGOUT" { // for which there is a moment of its own
		c.Timeout = 400 * time.Millisecond
	}
	start := time.Now()
	r, err := look(t, c)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if taken := a.written(); taken > 16<<20 {
		t.Errorf("%d octets were taken", taken)
	}
	if verb == "LOGOUT" {
		if err != nil || places(r.Found) != "INBOX Junk" {
			t.Errorf("%+v, %v", r, err)
		}
		return
	}
	failure, ok := errors.AsType[*Failure](err)
	if !ok || len(r.Found)+len(r.Searched) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	inFolder := verb == "EXAMINE" || verb == "SEARCH" || verb == "FETCH"
	if failure.Code != netcause.Timeout && inFolder != (len(r.Skipped) == 2) { // a busy machine may not get there
		t.Errorf("skipped: %+v", r.Skipped)
	}
}

// TestTooMuch: memory has a bound of its own, whatever time there is.
func TestTooMuch(t *testing.T) {
	for _, verb := range []string{"LIST", "FETCH"} {
		l := decent()
		delete(l, verb)
		c, a := play(t, l.act(endless("* 1 EXISTS\r\n")))
		c.Timeout = 25 * time.Second
		fails(t, c, CodeTooMuch)
		if taken := a.written(); taken > 16<<20 {
			t.Errorf("%s: %d octets were taken", verb, taken)
		}
	}
	long := "Message-ID: <" + strings.Repeat("x", maxField) + "@y>"
	c, _ := play(t, decent().with("FETCH", fmt.Sprintf("* 2 FETCH (UID 7 BODY[HEADER.FIELDS (Message-ID)] {%d}\r\n%s)\r\n$T OK done\r\n", len(long), long)).act((*actor).silence))
	fails(t, c, CodeTooMuch, "more than a search can need")
}

// TestUnasked: ENABLED ends the search at once, before go-imap reads it.
func TestUnasked(t *testing.T) {
	for _, verb := range []string{"greeting", "LIST", "SEARCH", "FETCH"} {
		c, _ := play(t, decent().with(verb, "* ENABLED X\r\n$T OK done\r\n").act(nothing))
		fails(t, c, CodeNotIMAP)
	}
	twice := decent().with("CAPABILITY", "* CAPABILITY IMAP4rev2\r\n$T OK done\r\n", "ENABLE", "* ENABLED X\r\n* ENABLED Y\r\n$T OK done\r\n")
	c, _ := play(t, twice.act(nothing))
	c.Folders = []string{"Übersicht"}
	fails(t, c, CodeNotIMAP)
}

// TestCancelled: the caller's context ends a search at once.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l := decent()
	delete(l, "SEARCH")
	c, _ := play(t, l.act(func(a *actor) { cancel(); a.silence() }))
	_, err := c.Search(ctx, wanted)
	if failure, ok := errors.AsType[*Failure](err); !ok || failure.Code != CodeCancelled {
		t.Errorf("%v", err)
	}
}
