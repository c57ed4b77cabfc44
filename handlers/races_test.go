package handlers

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"formledger/ledger"
	"formledger/relay"
)

func TestPromise2_SixtyFourIdenticalPostsAreOneMail(t *testing.T) {
	for range 10 {
		k := newKit(t)
		content := toJSON(words(newID()))
		replies := atOnce(t, 64, func(int) (reply, error) { return k.try("POST", "/f/contact", jsonType, content) })
		created := 0
		for _, r := range replies {
			if r.status == 201 {
				created++
			}
			if r.body.Outcome != Accepted {
				t.Errorf("an answer is %d %s", r.status, r.text)
			}
		}
		if created != 1 || k.far.count() != 1 {
			t.Errorf("%d answers are 201, and %d calls were made; want 1 of each", created, k.far.count())
		}
		k.wantMails(1)
	}
}

func TestPromise3_SixtyFourPostsWithTwoContentsAreOneMail(t *testing.T) {
	for range 10 {
		k := newKit(t)
		one := words(newID())
		two := words(newID())
		two["submission_id"], two["message"] = one["submission_id"], "Other words"
		contents := []string{toJSON(one), toJSON(two)}
		replies := atOnce(t, 64, func(i int) (reply, error) { return k.try("POST", "/f/contact", jsonType, contents[i%2]) })
		k.wantMails(1)
		won := 0
		if replies[0].body.Outcome == Conflict {
			won = 1
		}
		for i, r := range replies {
			want := Conflict
			if i%2 == won {
				want = Accepted
			}
			if r.body.Outcome != want {
				t.Errorf("post %d of content %d is answered with %q, want %q", i, i%2, r.body.Outcome, want)
			}
		}
	}
}

func TestARepeatWaitsForTheOwnersOutcome(t *testing.T) {
	k := newKit(t)
	k.holdCalls()
	content := toJSON(words(newID()))
	answers := make(chan reply, 2)
	post := func() {
		r, err := k.try("POST", "/f/contact", jsonType, content)
		if err != nil {
			t.Error(err)
		}
		answers <- r
	}
	go post()
	<-k.far.arrived
	go post()
	eventually(t, "the repeat waits", func() bool { return k.waiters() == 2 })
	close(k.far.gate)
	for range 2 {
		if r := <-answers; r.body.Outcome != Accepted {
			t.Errorf("an answer is %d %s", r.status, r.text)
		}
	}
	k.wantMails(1)
}

func TestARepeatSeesTheOutcomeOfAnotherProcess(t *testing.T) {
	k := newKit(t)
	id := newID()
	other := k.claimedElsewhere(id)
	answer := make(chan reply, 1)
	go func() {
		r, err := k.try("POST", "/f/contact", jsonType, toJSON(words(id)))
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	eventually(t, "the repeat waits", func() bool { return k.waiters() == 1 })
	ok, err := k.ledger.Settle(t.Context(), ledger.Acknowledgment{ID: id, PayloadHash: other.PayloadHash, Claim: other.Token, At: time.Now()})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if r := <-answer; r.status != 200 || r.body.Outcome != Accepted {
		t.Errorf("the answer is %d %s", r.status, r.text)
	}
	if k.far.count() != 0 {
		t.Error("a call was made")
	}
}

// claimedElsewhere makes the row that another process is sending.
func (k *kit) claimedElsewhere(id [16]byte) ledger.NewClaim {
	k.t.Helper()
	raw, err := decodeWords(id)
	must(k.t, err)
	e, problems := k.server.forms["contact"].Check(raw)
	if len(problems) > 0 {
		k.t.Fatal(problems)
	}
	c := ledger.NewClaim{ID: id, Form: "contact", Policy: ledger.Hold, PayloadHash: k.server.keys.Hash(e.Canonical()),
		Token: ledger.Token{1}, LeaseUntil: time.Now().Add(time.Minute), At: time.Now()}
	claimed, err := k.ledger.Claim(k.t.Context(), c)
	must(k.t, err)
	if !claimed.Owned {
		k.t.Fatal("the row was not free")
	}
	return c
}

func TestEveryPostIsAnsweredInTime(t *testing.T) {
	k := newKit(t, func(o *options) { o.timing.Answer = 300 * time.Millisecond })
	k.holdCalls()
	id := newID()
	r := k.post(words(id))
	r.want(t, 409, Processing)
	if r.header.Get("Retry-After") == "" || !r.body.Retryable || r.body.SafeNewID {
		t.Errorf("a running send is answered with %v %s", r.header, r.text)
	}
	k.post(words(id)).want(t, 409, Processing)
	k.receipt(id).want(t, 200, Processing)
	close(k.far.gate)
	eventually(t, "the outcome is recorded", func() bool { return k.row(id).Status == ledger.Accepted })
	k.post(words(id)).want(t, 200, Accepted)
	k.wantMails(1)
}

func TestAVisitorWhoHangsUpLosesNothing(t *testing.T) {
	k := newKit(t)
	k.holdCalls()
	id := newID()
	conn, err := net.Dial("tcp", strings.TrimPrefix(k.url, "http://"))
	must(t, err)
	req, err := http.NewRequest("POST", k.url+"/f/contact", strings.NewReader(toJSON(words(id))))
	must(t, err)
	req.Header.Set("Content-Type", jsonType)
	must(t, req.Write(conn))
	<-k.far.arrived
	must(t, conn.Close())
	close(k.far.gate)
	eventually(t, "the outcome is recorded", func() bool { return k.row(id).Status == ledger.Accepted })
	k.wantMails(1)
}

func TestTheEndOfTheServerWaitsForRunningSends(t *testing.T) {
	k := newKit(t, func(o *options) { o.timing.Answer = 50 * time.Millisecond })
	k.holdCalls()
	k.post(words(newID())).want(t, 409, Processing)
	k.server.Drain()
	if r := k.do("GET", "/readyz", "", ""); r.status != 503 {
		t.Errorf("a stopping server is ready: %d", r.status)
	}
	finished := make(chan error, 1)
	go func() { finished <- k.server.Finish(t.Context()) }()
	select {
	case <-finished:
		t.Error("the server ended while a send was under way")
	default:
	}
	close(k.far.gate)
	must(t, <-finished)
	k.wantMails(1)
}

// Two posts under one ID while the relay is down: the second must not go on
// trying what the first was told has failed.
func TestAWaitingRepeatOfAFailedSendIsToldSo(t *testing.T) {
	k := newKit(t)
	k.holdCalls()
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	content := toJSON(words(newID()))
	answers := make(chan reply, 2)
	for range 2 {
		go func() {
			r, err := k.try("POST", "/f/contact", jsonType, content)
			if err != nil {
				t.Error(err)
			}
			answers <- r
		}()
	}
	<-k.far.arrived
	eventually(t, "both wait", func() bool { return k.waiters() == 2 })
	close(k.far.gate)
	for range 2 {
		if r := <-answers; r.body.Outcome != NotSent {
			t.Errorf("an answer is %d %s", r.status, r.text)
		}
	}
}
