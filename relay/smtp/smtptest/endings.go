package smtptest

import (
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// ends reports whether the stage has its ending, so that its effect must not
// happen.
func (s *Server) ends(stage string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at == stage
}

// plays reports whether the ending is one of these.
func (s *Server) plays(endings ...string) bool { return slices.Contains(endings, s.playing()) }

func (s *Server) playing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// end plays the ending. It reports whether the connection goes on.
func (c *session) end(stage string) bool {
	switch c.playing() {
	case "close":
		c.tcp.Close()
	case "reset":
		c.tcp.(*net.TCPConn).SetLinger(0)
		c.tcp.Close()
	case "silence":
		return c.stall(stage)
	case "4xx":
		return c.say("451 4.3.0 not now, anna@example.org\r\n")
	case "5xx":
		if stage == Auth {
			return c.say("535 5.7.8 bad credentials\r\n")
		}
		return c.say("550 5.7.1 no\r\n")
	case "421":
		c.say("421 4.3.2 closing\r\n")
		c.drainThenClose()
	case "garbage":
		return c.say("\x01\xffSSH-2.0-nonsense\r\n")
	case "half":
		c.say("25")
		c.drainThenClose()
	case "line":
		return c.say(code(stage) + " " + strings.Repeat("x", 1<<20) + "\r\n")
	case "endless":
		for c.say(code(stage) + "-and more\r\n") {
		}
	case "late":
		time.Sleep(c.Late)
		return true
	}
	return false
}

// endInBody plays the ending in the middle of a message. It reports whether the
// message is taken all the same.
func (c *session) endInBody() bool {
	if !c.plays("silence", "late") {
		c.in.ReadString('\n')
		c.in.Discard(c.in.Buffered()) // unread octets would turn a close into a reset
	}
	if c.plays("line", "endless") { // these fill the line until the client goes on
		c.say(strings.Repeat(code(Body)+"-"+strings.Repeat("x", 3000)+"\r\n", 2))
		c.signal()
		return c.end(Body) && c.drain()
	}
	again := c.end(Body)
	c.signal()
	return again && (c.plays("late") || c.drain())
}

// drainThenClose ends our side of the stream, and takes what still comes, since
// unread octets would make it a reset.
func (c *session) drainThenClose() {
	c.tcp.(*net.TCPConn).CloseWrite()
	c.signal()
	io.Copy(io.Discard, c.tcp)
}

func (s *Server) signal() { s.once.Do(func() { close(s.acted) }) }

// code is what a server that goes well would begin with.
func code(stage string) string {
	switch stage {
	case Connect, Banner, Starttls:
		return "220"
	case Auth:
		return "235"
	case Data:
		return "354"
	}
	return "250"
}

// stall neither reads nor writes until the client is gone. At the body it must
// not even read, so that the client's writing stalls.
func (c *session) stall(stage string) bool {
	if stage != Body {
		return c.drain()
	}
	time.Sleep(c.Late)
	return false
}
