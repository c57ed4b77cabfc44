package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	mathrand "math/rand/v2"

	"github.com/google/uuid"
)

// visitor is one connection that posts one enquiry after the other. It speaks
// just enough HTTP/1.1, because it shares the processors with the server.
type visitor struct {
	conn    net.Conn
	in      *bufio.Reader
	body    []byte
	request *request
	random  *mathrand.ChaCha8
	row     row
	known   []uuid.UUID // what a replay chooses from

	sent  []uuid.UUID // filled only if keep is set
	keep  bool
	times []time.Duration
}

func newVisitor(address string, r row, known []uuid.UUID) (*visitor, error) {
	conn, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return nil, err
	}
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails: crypto/rand
	return &visitor{
		conn: conn, in: bufio.NewReader(conn), body: make([]byte, 4096), request: newRequest(address),
		random: mathrand.NewChaCha8(seed), row: r, known: known,
	}, nil
}

const (
	dialTimeout = 5 * time.Second
	// patience is how long past the end of a measurement an answer may take; the
	// server promises one within ten seconds.
	patience = 15 * time.Second
)

// post sends enquiries until a moment, or until there were that many.
func (v *visitor) post(until time.Time, most int, stopped func() bool) error {
	if err := v.conn.SetDeadline(until.Add(patience)); err != nil {
		return err
	}
	now := time.Now()
	for n := 0; n < most && now.Before(until) && !stopped(); n++ {
		id := v.nextID(now)
		if err := v.exchange(id); err != nil {
			return err
		}
		then := now
		now = time.Now()
		v.times = append(v.times, now.Sub(then))
		if v.keep {
			v.sent = append(v.sent, id)
		}
	}
	return nil
}

func (v *visitor) nextID(now time.Time) uuid.UUID {
	switch {
	case len(v.known) > 0:
		return v.known[v.random.Uint64()%uint64(len(v.known))]
	case v.row.random:
		return randomID(v.random)
	default:
		return timeID(v.random, now)
	}
}

func (v *visitor) exchange(id uuid.UUID) error {
	v.request.fill(id)
	if _, err := v.conn.Write(v.request.bytes); err != nil {
		return fmt.Errorf("sending an enquiry: %w", err)
	}
	a, err := v.read()
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	return a.check(v.row, v.request.idText())
}

// reply is what matters of an answer.
type reply struct {
	status   int
	replayed bool
	body     []byte
}

// check finds an answer that is not the one to be measured.
func (a reply) check(r row, id []byte) error {
	want, outcome := 201, `"outcome":"accepted"`
	switch {
	case r.recalls:
		want = 200
	case r.queued:
		want, outcome = 202, `"outcome":"queued"`
	}
	if a.status != want || a.replayed != r.recalls || !bytes.Contains(a.body, []byte(outcome)) || !bytes.Contains(a.body, id) {
		return fmt.Errorf("the server answered %d (replayed: %t) instead of %d: %s", a.status, a.replayed, want, a.body)
	}
	return nil
}

func (v *visitor) read() (reply, error) {
	var a reply
	line, err := v.in.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return a, fmt.Errorf("%q is no status line", line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, err
	}
	length, err := v.readHeader(&a)
	if err != nil {
		return a, err
	}
	a.body = v.body[:length]
	_, err = io.ReadFull(v.in, a.body)
	return a, err
}

// readHeader returns the length of the body.
func (v *visitor) readHeader(a *reply) (int, error) {
	length := -1
	for {
		line, err := v.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		name, value, more := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		switch {
		case !more && (length < 0 || length > len(v.body)):
			return 0, fmt.Errorf("the answer has no length that can be read (%d)", length)
		case !more:
			return length, nil
		case string(name) == "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		case string(name) == "Idempotent-Replayed":
			a.replayed = string(value) == "true"
		}
	}
}
