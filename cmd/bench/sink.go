package main

import (
	"bufio"
	"io"
	"net"
	"net/textproto"
	"strings"

	"formledger/relay"
	"formledger/relay/smtp"
)

// sink is a mail server that takes everything and keeps nothing.
type sink struct{ listener net.Listener }

func openSink() (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{listener}
	go s.run()
	return s, nil
}

// sender hands messages to the sink as formledger does to any mail server.
func (s *sink) sender() (relay.Sender, error) {
	at := s.listener.Addr().(*net.TCPAddr)
	return smtp.New(smtp.Config{Host: at.IP.String(), Port: at.Port, TLS: smtp.Plain})
}

func (s *sink) run() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go converse(conn)
	}
}

func (s *sink) close() error {
	if s == nil {
		return nil
	}
	return s.listener.Close()
}

// converse is one conversation; a client that breaks it off is its own fault.
func converse(conn net.Conn) {
	defer conn.Close()
	lines := textproto.NewReader(bufio.NewReader(conn))
	for reply := "220 sink"; ; {
		if _, err := io.WriteString(conn, reply+"\r\n"); err != nil {
			return
		}
		line, err := lines.ReadLine()
		if err != nil {
			return
		}
		switch verb := strings.ToUpper(line); {
		case verb == "DATA":
			if _, err := io.WriteString(conn, "354 go on\r\n"); err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, lines.DotReader()); err != nil {
				return
			}
			reply = "250 taken"
		case verb == "QUIT":
			_, _ = io.WriteString(conn, "221 bye\r\n")
			return
		default:
			reply = "250 sink"
		}
	}
}
