package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"formledger/relay"
	"formledger/relay/signed"
)

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// waitFor lets a condition come true.
func waitFor(t testing.TB, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not come true")
		}
	}
}

func TestACallerThatLeavesCancelsNothing(t *testing.T) {
	b := newBench(t)
	m := b.message()
	entered, letGo := held(b, relay.AcceptedWith("250 taken"))
	defer letGo()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.form.send(m, func(r *http.Request) { *r = *r.WithContext(ctx) })
		left <- err
	}()
	<-entered
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.wants(b.asks(m), signed.StatusProcessing, "")
	letGo()
	waitFor(t, func() bool { return b.asks(m).Status != signed.StatusProcessing })
	b.wants(b.asks(m), signed.StatusAccepted, "")
	b.wantMails(1)
}

func TestACallThatBreaksOffInItsBodyLeavesNothing(t *testing.T) {
	b := newBench(t)
	m := b.message()
	body := jsonOf(m)
	r, _, err := b.form.request(signed.PathSend, signed.TagSend, m.SubmissionID.String(), body)
	must(t, err)
	conn, err := net.Dial("tcp", r.URL.Host)
	must(t, err)
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", r.URL.Path, r.URL.Host, len(body))
	must(t, r.Header.Write(conn))
	fmt.Fprintf(conn, "\r\n%s", body[:len(body)/2])
	must(t, conn.(*net.TCPConn).CloseWrite())
	res := make([]byte, 12)
	if _, err := conn.Read(res); err != nil || string(res) != "HTTP/1.1 400" {
		t.Errorf("%v, %q", err, res)
	}
	must(t, conn.Close())
	b.wantRows(0)
	b.wants(b.asks(m), signed.StatusSealed, "")
	b.wantMails(0)
}

func TestFinishWaitsForTheCallsUnderWay(t *testing.T) {
	b := newBench(t)
	must(t, b.server.Finish(t.Context())) // none is
	entered, letGo := held(b, relay.AcceptedWith("250 taken"))
	defer letGo()
	first := make(chan signed.Answer, 1)
	go func() { first <- b.sendsAside(b.message()) }()
	<-entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.server.Finish(over); !errors.Is(err, context.Canceled) {
		t.Errorf("did not wait: %v", err)
	}
	finished := make(chan error, 2)
	for range 2 {
		go func() { finished <- b.server.Finish(t.Context()) }()
	}
	letGo()
	for range 2 {
		must(t, <-finished)
	}
	b.wants(<-first, signed.StatusAccepted, "")
}

func TestTheServerHasEveryLimit(t *testing.T) {
	b := newBench(t)
	h := b.server.HTTPServer()
	if shortest := min(h.ReadHeaderTimeout, h.ReadTimeout, h.WriteTimeout, h.IdleTimeout); shortest <= 0 || h.MaxHeaderBytes <= 0 || h.ErrorLog == nil || h.Handler == nil {
		t.Errorf("%+v", h)
	}
	if h.WriteTimeout <= b.server.callTimeout+b.server.settle || h.WriteTimeout <= b.server.lease {
		t.Errorf("answers are cut off after %s", h.WriteTimeout)
	}
	h.ErrorLog.Print("http: TLS handshake error from 192.0.2.7:1: EOF")
	if text := b.log.String(); strings.Contains(text, "192.0.2.7") || !strings.Contains(text, "connection trouble") {
		t.Errorf("the log: %s", text)
	}
}

func TestSomethingThatPanicsIsAnsweredWithoutASignature(t *testing.T) {
	b := newBench(t)
	m := b.message()
	commit := b.calls.commit
	b.calls.commit = nil
	res, err := b.form.inquire(m, false)
	b.turnedAway(http.StatusInternalServerError, res, err)
	b.calls.commit = commit
	b.wants(b.asks(m), signed.StatusSealed, "")
	b.wants(b.sends(b.message()), signed.StatusAccepted, "")
}

func TestHealth(t *testing.T) {
	b := newBench(t)
	look := func() int {
		w := httptest.NewRecorder()
		b.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		return w.Code
	}
	if got := look(); got != http.StatusOK {
		t.Error(got)
	}
	close(b.calls.broken)
	if got := look(); got != http.StatusServiceUnavailable {
		t.Error(got)
	}
}

func TestSeldom(t *testing.T) {
	q, now := seldom{}, time.Now()
	for i, want := range []struct {
		after time.Duration
		n     int
	}{{0, 1}, {0, 0}, {time.Second, 0}, {time.Minute, 3}, {time.Second, 0}, {time.Hour, 2}} {
		now = now.Add(want.after)
		if n, ok := q.say(now); n != want.n || ok != (want.n > 0) {
			t.Errorf("event %d: %d, %v", i, n, ok)
		}
	}
}
