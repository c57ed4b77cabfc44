package signed

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/failpoint"
	"formledger/relay"
)

// Config is how a relay is reached.
type Config struct {
	URL  string // https://relay.example.com
	Keys *Keys
	// Plain allows http:// to other machines than this one. What is sent can then
	// be read on the way, though not changed.
	Plain bool
	// Authority is the name that the relay goes by, if it is not that of the URL.
	Authority string
	// RootCAs is nil for the authorities that the system trusts.
	RootCAs *x509.CertPool
	Now     func() time.Time // nil: time.Now
	Random  io.Reader        // nil: crypto/rand
}

// Deadlines of what is not the call itself.
const (
	connectTime = 15 * time.Second // looking up the name, TCP and TLS
	helloTime   = 3 * time.Second  // a visitor waits for it
	inquiryTime = 20 * time.Second
)

// Sender hands messages to a relay on another machine. It is safe for concurrent
// use.
type Sender struct {
	keys      atomic.Pointer[Keys]
	address   string // host:port
	host      string // for TLS and Host
	authority string
	tls       *tls.Config // nil: plain HTTP
	now       func() time.Time
	random    io.Reader
	memory    memory
}

var _ relay.Remembering = (*Sender)(nil)

// New checks a configuration. It connects to nothing.
func New(c Config) (*Sender, error) {
	u, err := url.Parse(c.URL)
	if err != nil || !onlyHost(u) {
		return nil, fmt.Errorf("relay address %q: want one like https://relay.example.com, without a path", c.URL)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("relay address %q: want https://", c.URL)
	}
	secure := u.Scheme == "https"
	if !secure && !c.Plain && !onThisMachine(u.Hostname()) {
		return nil, fmt.Errorf("relay address %q: without https what visitors write can be read on the way; if that network is your own, set plain", c.URL)
	}
	if c.Keys == nil {
		return nil, errors.New("relay: no keys; formledger keygen relay makes them")
	}
	s := &Sender{host: u.Host, authority: orElse(c.Authority, Authority(u.Host, secure)), now: c.Now, random: c.Random}
	s.UseKeys(c.Keys)
	s.address = net.JoinHostPort(u.Hostname(), portOf(u, secure))
	if secure {
		s.tls = &tls.Config{ServerName: u.Hostname(), RootCAs: c.RootCAs, NextProtos: []string{"http/1.1"}}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	return s, nil
}

// UseKeys changes the keys for the calls that begin from now on.
func (s *Sender) UseKeys(keys *Keys) { s.keys.Store(keys) }

// onlyHost reports whether an address has one spelling: scheme and host, with a
// port or none, and nothing that a signature would not cover.
func onlyHost(u *url.URL) bool {
	return u.Hostname() != "" && !strings.HasSuffix(u.Host, ":") && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && strings.Trim(u.Path, "/") == ""
}

func portOf(u *url.URL, secure bool) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case secure:
		return "443"
	}
	return "80"
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// The causes that are this package's own; see netcause for the others. An
// unsigned status has its number, "http_502".
const (
	codeNoEpoch      = "relay_unknown"     // never answered a hello, so nothing was called
	codeNoKey        = "no_valid_key"      // none of our keys is valid now
	codeLapsed       = relay.CodeLapsed    //
	codeDeadline     = "deadline"          // the call's own time ran out
	codeUnverified   = "answer_unverified" // not this relay's acknowledgment of this call
	codeMalformed    = "answer_malformed"  // signed, but not what the protocol says
	codeTooLong      = "answer_too_long"   //
	codeTooLarge     = "message_too_large" // longer than any relay takes
	codeSealed       = "sealed"            //
	codeRefused      = "relay_refused"     //
	stageConnect     = "connect"
	stageTLS         = "tls"
	stageSign        = "sign"
	stageCall        = "call"
	stageAnswer      = "answer"
	stageRelay       = "relay" // the relay's own word
	stageInquiry     = "inquiry"
	maxAnswerReceipt = 2 << 10
)

// Send makes the one call of a claim. Accepted means that the relay's verified
// acknowledgment of this very call says so. Not sent means that no byte of the
// call was written, or that the relay has durably refused the claim, under the
// memory that the claim relies on. Everything else is unknown.
//
// ctx carries the deadline of the call: it should be longer than the relay's own
// conversation with its mail server, or there is doubt without need.
func (s *Sender) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	if m.RelayEpoch == "" {
		return unreached(relay.Cause{Code: codeNoEpoch, Stage: stageConnect})
	}
	failpoint.Hit("signed.before-connect")
	body, err := encode(NewMessage(m.Message))
	if err != nil {
		return relay.ProvenNotSent(codeMalformed, stageSign)
	}
	if len(body) > MaxCall {
		return relay.Verdict{Finding: relay.NotSent, Permanent: true, Cause: relay.Cause{Code: codeTooLarge, Stage: stageSign}}
	}
	r := s.exchange(ctx, call{path: PathSend, tag: TagSend, id: m.SubmissionID.String(), body: body, lease: lease.Held})
	return s.verdict(r, claimOf(m.SubmissionID, m.PayloadHash, m.Claim, m.RelayEpoch))
}

// Inquire asks what became of a claim; see relay.Remembering.
func (s *Sender) Inquire(ctx context.Context, row ledger.Submission, peek bool) relay.Verdict {
	ctx, cancel := context.WithTimeout(ctx, inquiryTime)
	defer cancel()
	asked := claimOf(row.ID, row.PayloadHash, row.Claim, row.RelayEpoch)
	if row.RelayEpoch == "" || row.Claim.IsZero() {
		return relay.UnknownAfter(codeNoEpoch, stageInquiry)
	}
	body, err := encode(Inquiry{SubmissionID: asked.id, PayloadHash: asked.hash, Claim: asked.claim, Epoch: asked.epoch, Peek: peek})
	if err != nil {
		return relay.UnknownAfter(codeMalformed, stageInquiry)
	}
	r := s.exchange(ctx, call{path: PathInquire, tag: TagInquiry, id: asked.id.String(), body: body})
	if !r.verified() {
		return relay.UnknownAfter(r.cause.Code, stageInquiry) // that it was not asked says nothing of the claim
	}
	return inquired(s.verdict(r, asked))
}

// inquired gives every doubt of the relay's own one name: where its conversation
// broke is on record already, by the answer to the call.
func inquired(v relay.Verdict) relay.Verdict {
	own := strings.HasPrefix(v.Cause.Stage, stageRelay)
	if v.Finding == relay.Unknown && own && v.Cause.Code != relay.CodeRelayProcessing && v.Cause.Code != relay.CodeRelayUnseen {
		v.Cause.Code = relay.CodeRelayUncertain
	}
	return v
}

// claimed is what an answer has to be about.
type claimed struct {
	id                 uuid.UUID
	hash, claim, epoch string
}

func claimOf(id uuid.UUID, hash string, claim ledger.Token, epoch string) claimed {
	return claimed{id, hash, claim.String(), epoch}
}

// verdict is what a call came to. An answer counts only if it is about this
// claim, and from the memory that the claim relies on.
func (s *Sender) verdict(r reply, about claimed) relay.Verdict {
	switch {
	case r.written == 0:
		return unreached(r.cause)
	case !r.verified():
		return relay.Verdict{Cause: r.cause}
	}
	a, err := ParseAnswer(r.body)
	if err != nil || a.SubmissionID != about.id || a.PayloadHash != about.hash || a.Claim != about.claim {
		return relay.UnknownAfter(codeMalformed, stageAnswer)
	}
	if a.Epoch == "" || a.Epoch != about.epoch {
		s.memory.forget(about.epoch)
		return relay.UnknownAfter(relay.CodeEpochChanged, stageAnswer)
	}
	v := a.tidy().verdict()
	v.Conversation = a.Conversation
	return v
}

// unreached is the verdict of a call that never began, for the relay's own
// reason unless the claim's time was over.
func unreached(c relay.Cause) relay.Verdict {
	return relay.Verdict{Finding: relay.NotSent, Unreached: c.Code != relay.CodeLapsed, Cause: c}
}

// verdict is what the relay's word means.
func (a Answer) verdict() relay.Verdict {
	stage := stageRelay
	if a.Stage != "" {
		stage += "_" + a.Stage
	}
	switch a.Status {
	case StatusAccepted:
		earlier, err := earlierOf(a)
		if err != nil {
			return relay.UnknownAfter(codeMalformed, stageAnswer)
		}
		return relay.Verdict{Finding: relay.Accepted, Receipt: shortened("relay:" + a.Receipt), Partly: a.Partly, Earlier: earlier}
	case StatusRefused:
		// where the relay's own conversation broke tells whether its mail server let it in
		before := relay.Cause{Code: a.Code, Stage: a.Stage}.BeforeMessage()
		return relay.Verdict{Finding: relay.NotSent, Permanent: a.Permanent, Unreached: before, Cause: relay.Cause{Code: orElse(a.Code, codeRefused), Stage: stage}}
	case StatusSealed:
		return relay.ProvenNotSent(codeSealed, stageRelay)
	case StatusProcessing:
		return relay.UnknownAfter(relay.CodeRelayProcessing, stageRelay)
	case StatusUncertain:
		return relay.UnknownAfter(orElse(a.Code, relay.CodeRelayUncertain), stage)
	case StatusUnseen:
		return relay.UnknownAfter(relay.CodeRelayUnseen, stageRelay)
	}
	return relay.UnknownAfter(codeMalformed, stageAnswer)
}

// earlierOf is the earlier claim that an acceptance names; its own is none.
func earlierOf(a Answer) (ledger.Token, error) {
	if a.Earlier == "" || a.Earlier == a.Claim {
		return ledger.Token{}, nil
	}
	return ledger.ParseToken(a.Earlier)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func shortened(text string) string {
	if len(text) <= maxAnswerReceipt {
		return text
	}
	return strings.ToValidUTF8(text[:maxAnswerReceipt], "")
}

// memory is the relay's epoch, as far as it is known. One question at a time
// finds it out, and who comes meanwhile waits for the same answer.
type memory struct {
	mu     sync.Mutex
	epoch  string
	asking chan struct{} // closed when the question under way has ended
	failed time.Time     // when nobody answered last
}

// forgetFailure is how long a relay that did not answer is not asked again: at
// most one visitor in this time waits for the network.
const forgetFailure = time.Second

// forget drops an epoch that proved not to be the relay's any more.
func (m *memory) forget(epoch string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch == epoch {
		m.epoch = ""
	}
}

// Epoch is the relay's memory: as it was learned, or by asking now.
func (s *Sender) Epoch(ctx context.Context) string {
	m := &s.memory
	for {
		m.mu.Lock()
		if m.epoch != "" || m.asking == nil && time.Since(m.failed) < forgetFailure {
			defer m.mu.Unlock()
			return m.epoch
		}
		asking := m.asking
		if asking == nil {
			m.asking = make(chan struct{})
			go s.learn()
			asking = m.asking
		}
		m.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return ""
		}
	}
}

func (s *Sender) learn() {
	ctx, cancel := context.WithTimeout(context.Background(), helloTime)
	defer cancel()
	hello, _ := s.Hello(ctx)
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch = hello.Epoch; m.epoch == "" {
		m.failed = time.Now()
	}
	close(m.asking)
	m.asking = nil
}

// Hello asks the relay who it is. The cause is empty if it answered.
func (s *Sender) Hello(ctx context.Context) (Hello, relay.Cause) {
	r := s.exchange(ctx, call{path: PathHello, tag: TagHello, id: uuid.Nil.String(), body: []byte("{}")})
	if !r.verified() {
		return Hello{}, r.cause
	}
	var h Hello
	if err := decode(r.body, &h); err != nil || h.Epoch == "" {
		return Hello{}, relay.Cause{Code: codeMalformed, Stage: stageAnswer}
	}
	return h, relay.Cause{}
}
