package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"formledger/ledger"
	"formledger/relay/signed"
)

// unsigned is an answer that proves nothing: an HTTP status, and a sentence for
// people.
type unsigned struct {
	status   int
	sentence string
}

func (u unsigned) Error() string { return u.sentence }

// unsignedOf is the answer to a call that failed.
func unsignedOf(err error) unsigned {
	var known unsigned
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, signed.ErrUnverified):
		return unsigned{http.StatusUnauthorized, "The call is " + err.Error() + "."}
	}
	return unsigned{http.StatusServiceUnavailable, "The relay cannot say now what became of the call; please ask again."}
}

func notTheProtocol(err error) error {
	return unsigned{http.StatusBadRequest, "Not a call of the protocol: " + err.Error() + "."}
}

// tell is the signed answer that a claim's row gives. To somebody who asks for
// another submission, or other content, under the same claim, it is not signed.
func (s *Server) tell(r, asked row) (any, error) {
	if !r.same(asked) {
		return nil, unsigned{http.StatusConflict, "The claim is known, but not of this caller, submission and content."}
	}
	s.log.Info("relay call", "caller", r.caller, "reference", ledger.ReferenceOf(r.id), "status", string(r.status), "code", r.code, "stage", r.stage)
	return signed.Answer{
		SubmissionID: r.id, PayloadHash: r.hash, Claim: r.claim, Epoch: s.calls.epoch, Status: r.status,
		Earlier: r.earlier, Receipt: r.receipt, Partly: r.partly, Permanent: r.permanent,
		Code: r.code, Stage: r.stage, Conversation: r.conversation,
	}, nil
}

// acknowledge writes a signed answer. Its status is 200 whatever it says, as
// proxies replace the bodies of others.
func (s *Server) acknowledge(w http.ResponseWriter, v verified, answer any) error {
	body, err := json.Marshal(answer)
	if err == nil {
		err = v.caller.Keys.SignAnswer(w.Header(), http.StatusOK, body, v.Opened, s.now())
	}
	if err != nil {
		return fmt.Errorf("signing the answer: %w", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body) // an error: the caller has left, and will ask
	return nil
}

// turnAway answers without a signature. The log says why, seldom enough that
// strangers cannot fill it, and never what a caller wrote.
func (s *Server) turnAway(w http.ResponseWriter, path string, v verified, err error) {
	u := unsignedOf(err)
	switch {
	case errors.Is(err, signed.ErrUnverified):
		if n, ok := s.turnedAway.say(s.now()); ok {
			s.log.Warn("calls turned away", "path", path, "calls", n, "last", err.Error())
		}
	case u.status == http.StatusServiceUnavailable:
		s.log.Error("relay call failed", "path", path, "caller", v.caller.Name, "error", err.Error())
	default:
		s.log.Warn("call turned away", "path", path, "caller", v.caller.Name, "http_status", u.status)
	}
	sayUnsigned(w, u.status, u.sentence)
}

// recovered answers after a panic. What it left in the table stays as it is: a
// claim that was taken becomes uncertain.
func (s *Server) recovered(w http.ResponseWriter, path string) {
	if p := recover(); p != nil {
		s.log.Error("relay call panicked", "path", path, "panic", fmt.Sprint(p))
		sayUnsigned(w, http.StatusInternalServerError, "The relay cannot say what became of the call; please ask again.")
	}
}

func sayUnsigned(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, sentence)
}

// seldom lets one event in a minute through, and counts the others.
type seldom struct {
	mu   sync.Mutex
	n    int
	next time.Time
}

// say reports whether this event is to be told, and how many have been since the
// last that was.
func (q *seldom) say(now time.Time) (n int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	if now.Before(q.next) {
		return 0, false
	}
	n, q.n, q.next = q.n, 0, now.Add(time.Minute)
	return n, true
}

// discardAddresses keeps net/http's own complaints, which name the caller's
// address, out of the log; only that there was one is said.
type discardAddresses struct{ slog.Handler }

func (d discardAddresses) Handle(ctx context.Context, r slog.Record) error {
	return d.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, "connection trouble", r.PC))
}
