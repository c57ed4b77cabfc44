package smtp

import (
	"context"
	"strings"
	"testing"

	"formledger/relay/smtp/smtptest"
)

// A login says what it met and leaves nothing behind: no message, no connection,
// no password in the conversation.
func TestALoginAlone(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(*smtptest.Server)
		cause   string
		quits   int
	}{
		{"taken", func(*smtptest.Server) {}, "", 1},
		{"a wrong password", func(f *smtptest.Server) { f.Ends(stageAuth, "5xx") }, "auth_refused@auth", 0},
		{"not for now", func(f *smtptest.Server) { f.Ends(stageAuth, "4xx") }, "smtp_451@auth", 0},
		{"refused at the door", func(f *smtptest.Server) { f.Ends(stageBanner, "5xx") }, "smtp_550@banner", 0},
		{"gone at the farewell", func(f *smtptest.Server) { f.Ends("quit", "close") }, "", 1},
		{"nobody listens", func(f *smtptest.Server) { f.Refuse() }, "connect_refused@connect", 0},
	} {
		for _, mode := range []TLSMode{StartTLS, Implicit} {
			f := newFake(t, mode)
			c.prepare(f)
			f.Start()
			s, line := newSender(t, configOf(t, f))
			cause, conversation := s.Login(context.Background())
			f.Finish()
			if cause.String() != c.cause || f.Quits() != c.quits || line.opened.Load() != line.closed.Load() {
				t.Errorf("%s, %s: %s, want %s; %d times QUIT\n%s", c.name, mode, cause, c.cause, f.Quits(), conversation)
			}
			if c.cause == "" && !strings.HasSuffix(conversation, "C: QUIT\n") && !strings.HasSuffix(conversation, "S: 221 bye\n") {
				t.Errorf("%s, %s: no leave taken\n%s", c.name, mode, conversation)
			}
			if strings.Contains(conversation, password) || strings.Contains(strings.Join(f.Heard(), "\n"), "MAIL") {
				t.Errorf("%s, %s: a password or a message in\n%s", c.name, mode, conversation)
			}
		}
	}
}

func TestALoginWithoutAPassword(t *testing.T) {
	f := newFake(t, Plain)
	f.Start()
	s, _ := newSender(t, configOf(t, f))
	if cause, conversation := s.Login(context.Background()); cause.Code != "" || strings.Contains(conversation, "AUTH [") {
		t.Errorf("%s\n%s", cause, conversation)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if cause, _ := s.Login(ctx); cause.Code != codeDeadline {
		t.Errorf("cancelled: %s", cause)
	}
}
