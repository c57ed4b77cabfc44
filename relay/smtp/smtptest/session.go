package smtptest

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strings"
)

// session is one connection.
type session struct {
	*Server
	tcp     net.Conn
	conn    net.Conn // tcp, or TLS on top of it
	in      *bufio.Reader
	secured bool
	login   int // lines of LOGIN still to come
}

func (c *session) handle(line string) bool {
	c.add(&c.heard, line)
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case c.login > 0:
		return c.loginLine(line)
	case verb == "EHLO" && c.secured && c.Mode == StartTLS:
		return c.say(c.patched(line, c.extensions()))
	case verb == "EHLO":
		return c.answer(Ehlo, c.patched(line, c.extensions()))
	case verb == "STARTTLS":
		return c.answer(Starttls, c.patched(line, "220 go\r\n")) && (c.ends(Starttls) || c.encrypt())
	case line == "AUTH LOGIN":
		c.login = 2
		return c.say("334 VXNlcm5hbWU6\r\n")
	case verb == "AUTH":
		return c.answer(Auth, c.patched(line, "235 welcome\r\n"))
	case verb == "MAIL":
		return c.answer(Mail, c.patched(line, "250 ok\r\n"))
	case verb == "RCPT":
		return c.answer(Rcpt, c.patched(line, "250 ok "+rest+"\r\n"))
	case verb == "DATA":
		return c.answer(Data, c.patched(line, "354 go\r\n")) && (c.ends(Data) || c.body())
	case verb == "QUIT":
		c.mu.Lock()
		c.quits++
		c.mu.Unlock()
		return c.answer(Quit, "221 bye\r\n")
	}
	return c.say(c.patched(line, "250 ok\r\n"))
}

func (c *session) loginLine(line string) bool {
	c.login--
	if c.login == 1 {
		return c.say("334 UGFzc3dvcmQ6\r\n")
	}
	return c.answer(Auth, c.patched(line, "235 welcome\r\n"))
}

func (c *session) patched(line, answer string) string {
	if c.Patch == nil {
		return answer
	}
	return c.Patch(line, answer)
}

func (c *session) extensions() string {
	lines := append([]string{"fake.example"}, c.Offers...)
	if c.Mode == StartTLS && !c.secured {
		lines = []string{"fake.example", "STARTTLS"}
	}
	return "250-" + strings.Join(lines[:len(lines)-1], "\r\n250-") + "\r\n250 " + lines[len(lines)-1] + "\r\n"
}

// encrypt does TLS, or has the ending in its place once the client has begun.
func (c *session) encrypt() bool {
	if c.ends(TLS) {
		c.tcp.Read(make([]byte, 4096))
		if c.end(TLS) && !c.plays("late") {
			return c.drain()
		}
	}
	secure := tls.Server(c.tcp, &tls.Config{Certificates: []tls.Certificate{c.Cert}})
	if secure.Handshake() != nil {
		return false
	}
	c.conn, c.in, c.secured = secure, bufio.NewReader(secure), true
	return true
}

// body takes the message up to its dot.
func (c *session) body() bool {
	if c.ends(Body) && !c.endInBody() {
		return false
	}
	var body strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			c.add(&c.halves, body.String()+line)
			return false
		}
		if line == ".\r\n" {
			break
		}
		body.WriteString(strings.TrimPrefix(line, "."))
	}
	c.add(&c.mails, body.String())
	return c.answer(Dot, c.patched(".", "250 2.0.0 Ok: queued as 4F2A\r\n"))
}

// answer says the line of the script, or has the ending in its place.
func (c *session) answer(stage, line string) bool {
	if !c.ends(stage) {
		return c.say(line)
	}
	again := c.end(stage)
	if again && c.plays("late") {
		return c.say(line)
	}
	return again
}

func (c *session) say(line string) bool {
	_, err := io.WriteString(c.conn, line)
	return err == nil
}

func (c *session) drain() bool {
	io.Copy(io.Discard, c.conn)
	return false
}
