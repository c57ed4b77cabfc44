package samples_test

import (
	"encoding/json"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
	"formledger/relay/signed"
)

// TestTheSenderAndTheSamples lets the real sender talk to them.
func TestTheSenderAndTheSamples(t *testing.T) {
	eachSample(t, func(t *testing.T, r *rig) {
		r.start(accept)
		s, err := signed.New(signed.Config{URL: "http://" + r.address, Keys: r.keys})
		must(t, err)
		ctx := t.Context()
		m, err := r.message(s.Epoch(ctx)).Relayed()
		must(t, err)
		row := ledger.Submission{ID: m.SubmissionID, PayloadHash: m.PayloadHash, Claim: m.Claim, RelayEpoch: m.RelayEpoch}
		if v := s.Inquire(ctx, row, true); v.Finding != relay.Unknown || v.Cause.Code != relay.CodeRelayUnseen {
			t.Errorf("before the call: %+v", v)
		}
		lease := relay.NewLease(time.Now().Add(time.Minute), time.Now)
		if v := s.Send(ctx, relay.Mail{Message: m}, lease); v.Finding != relay.Accepted || v.Receipt == "" {
			t.Errorf("the call: %+v", v)
		}
		if v := s.Inquire(ctx, row, false); v.Finding != relay.Accepted {
			t.Errorf("after the call: %+v", v)
		}
		r.wantSent(1)

		row.Claim, err = ledger.ParseToken(claim(t))
		must(t, err)
		if v := s.Inquire(ctx, row, false); v.Finding != relay.NotSent || v.Cause.Code != "sealed" {
			t.Errorf("another claim: %+v", v)
		}
		m.SubmissionID, m.Claim, m.To = uuid.New(), ledger.Token{1}, []string{"victim@example.net"}
		if v := s.Send(ctx, relay.Mail{Message: m}, lease); v.Finding != relay.NotSent || !v.Permanent || v.Cause.Code != "to_not_allowed" {
			t.Errorf("to a stranger: %+v", v)
		}
		r.wantSent(1)
	})
}

func TestTheWorkerHandsTheWholeMessageOn(t *testing.T) {
	r := newRig(t, "worker", launchWorker(t))
	r.start(accept)
	m := r.message(r.hello().Epoch)
	r.told(r.send(m))
	r.wantSent(1)
	var got signed.Message
	must(t, json.Unmarshal([]byte(r.sent()[0]), &got))
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("the message is another (-want +got):\n%s", diff)
	}
}

// phpMail is what sendmail was given: its arguments, and the mail.
func phpMail(t *testing.T, sent string) (arguments string, head mail.Header, text string) {
	t.Helper()
	arguments, raw, _ := strings.Cut(sent, "\n")
	for line := range strings.Lines(raw) {
		if len(line) > 78 {
			t.Errorf("a line has %d characters: %s", len(line), line)
		}
	}
	m, err := mail.ReadMessage(strings.NewReader(raw))
	must(t, err)
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	must(t, err)
	return arguments, m.Header, strings.ReplaceAll(string(body), "\r\n", "\n")
}

func TestThePHPMail(t *testing.T) {
	r := newRig(t, "php", launchPHP)
	r.start(accept)
	m := r.message(r.hello().Epoch)
	r.told(r.send(m))
	r.wantSent(1)
	arguments, head, text := phpMail(t, r.sent()[0])
	if want := "-i -f website@example.com -- owner@example.com"; arguments != want {
		t.Errorf("sendmail is called with %q, want %q", arguments, want)
	}
	sender, err := head.AddressList("From")
	must(t, err)
	date, err := head.Date()
	must(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject"))
	must(t, err)
	got := []string{sender[0].Name, sender[0].Address, head.Get("To"), head.Get("Reply-To"), subject, head.Get("Message-Id"),
		head.Get("X-Submission-Reference"), head.Get("Content-Type"), date.UTC().Format(time.RFC3339)}
	want := []string{"Bäckerei Müller", "website@example.com", to, m.ReplyTo, m.Subject + " [" + string(m.Reference) + "]", "<" + m.MessageID + ">",
		string(m.Reference), "text/plain; charset=UTF-8", m.Date.Format(time.RFC3339)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the head is another (-want +got):\n%s", diff)
	}
	if text != words {
		t.Errorf("the text is %q", text)
	}
}

// TestThePHPMailHasNoHeaderOfTheVisitors: what a visitor or a form's definition
// says can end no header, however it is spelled.
func TestThePHPMailHasNoHeaderOfTheVisitors(t *testing.T) {
	r := newRig(t, "php", launchPHP)
	r.start(accept)
	good := r.message(r.hello().Epoch)
	for what, change := range map[string]func(*signed.Message, string){
		"subject":    func(m *signed.Message, end string) { m.Subject += end },
		"message ID": func(m *signed.Message, end string) { m.MessageID += end },
		"reference":  func(m *signed.Message, end string) { m.Reference = "2YZ9" + "\nBcc: victim@example.net" },
	} {
		for _, end := range []string{"\nBcc: victim@example.net", "\r\nBcc: victim@example.net", "\rBcc: victim@example.net", "\x00"} {
			m := good
			m.SubmissionID, m.Claim = uuid.New(), claim(t)
			change(&m, end)
			if a := r.told(r.send(m)); a.Status != signed.StatusRefused || a.Code != "not_rendered" {
				t.Errorf("%s with %q: %+v", what, end, a)
			}
		}
	}
	r.wantSent(0)

	for _, address := range []string{"ada@example.org\nBcc: victim@example.net", "ada@example.org, victim@example.net", "müller@example.org", "-oQ/tmp@a b"} {
		must(t, os.RemoveAll(r.path("sent")))
		must(t, os.Mkdir(r.path("sent"), 0o700))
		m := good
		m.SubmissionID, m.Claim, m.ReplyTo = uuid.New(), claim(t), address
		r.told(r.send(m))
		r.wantSent(1)
		_, head, text := phpMail(t, r.sent()[0])
		if head.Get("Reply-To") != "" || head.Get("Bcc") != "" || text != words {
			t.Errorf("%q: %v %q", address, head, text)
		}
	}
}

// TestPHPWithADeafSendmail: a program that ends without reading may have sent all
// the same.
func TestPHPWithADeafSendmail(t *testing.T) {
	r := newRig(t, "php", launchPHP)
	r.start(deaf)
	m := r.message(r.hello().Epoch)
	m.Text = strings.Repeat(words, 5000) // more than a pipe holds
	wantAnswer(t, r.told(r.send(m)), m, signed.Answer{Status: signed.StatusUncertain, Code: "sendmail_exit_75"})
}

// TestPHPKeepsItsMemoryOutOfTheWeb refuses to work with a folder that a browser
// could read.
func TestPHPKeepsItsMemoryOutOfTheWeb(t *testing.T) {
	r := newRig(t, "php", launchPHP)
	r.start(accept)
	m := r.message(r.hello().Epoch)
	must(t, os.Mkdir(r.path("web/calls"), 0o700))
	for _, folder := range []string{r.path("web/calls"), r.path("nowhere")} {
		r.configure(folder, "/bin/true")
		r.turnedAway(http.StatusServiceUnavailable, r.send(m))
	}
	r.wantSent(0)
}
