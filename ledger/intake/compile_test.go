package intake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
)

var secretFaults = []struct{ scheme, secrets, says string }{
	{"hmac", "", "there is no secret in shop.secrets"},
	{"hmac", "\n  \n# 0123456789abcdef\n", "there is no secret in shop.secrets"},
	{"hmac", "# first\n0123456789abcde\n", "shop.secrets, line 2: a secret has at least 16 bytes"},
	{"timestamped", newSecret + "\nshort", "shop.secrets, line 2: a secret has at least 16 bytes"},
	{"hmac", strings.Repeat(newSecret+"\n", 17), "there are 17 secrets in shop.secrets"},
	{"standard", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "line 1: a secret of Standard Webhooks is whsec_"},
	{"standard", "whsec_", "line 1: a secret of Standard Webhooks is whsec_"},
	{"standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaQ=", "at least 24 bytes"}, // 23
	{"standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "copy it whole"},
	{"standard", "whsec_not base64 at all, but long enough", "copy it whole"},
	{"standard", "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "copy it whole"},
	{"standard", vectorSecret + "\n\nwhsec_MfKQ", "line 3:"},
}

func ofScheme(scheme string) enquiry.Definition {
	w := enquiry.Webhook{Scheme: scheme}
	if scheme != enquiry.Standard {
		w.Header = hubHeader
	}
	return shop(w)
}

func TestSecretFaults(t *testing.T) {
	for _, c := range secretFaults {
		h, faults := compileHook(form(t, ofScheme(c.scheme)), c.secrets, "")
		if h != nil || len(faults) != 1 || fmt.Sprint(faults[0].Path) != "[webhook secrets_file]" || !strings.Contains(faults[0].Message, c.says) {
			t.Errorf("%s %q: got %v, want %s", c.scheme, c.secrets, faults, c.says)
			continue
		}
		for _, secret := range []string{newSecret, "MfKQ", "0123456789abc", "not base64"} {
			if strings.Contains(faults[0].Message, secret) {
				t.Errorf("the fault %q tells a secret", faults[0].Message)
			}
		}
	}
}

func TestSecretsAreFoundBetweenCommentsAndBlankLines(t *testing.T) {
	secrets := "\ufeff" + newSecret + "  \r\n\r\n  # the one before\r\n\t" + oldSecret
	run(t, open(t, ofScheme(enquiry.HMAC), secrets), plainRequest, []attack{
		{"first", nothing, nil}, {"last", set(hubHeader, hexMAC(oldSecret, orderBody)), nil},
	})
}

func TestCompileReportsEveryFault(t *testing.T) {
	d := ofScheme(enquiry.HMAC)
	d.Webhook.TemplateFile = "other.txt"
	h, faults := intake.Compile(form(t, d), func(string) (string, error) { return "", errors.New("no such secrets") }, func(string) ([]byte, error) { return nil, errors.New("no such template") })
	got := fmt.Sprint(faults)
	if want := "[[webhook secrets_file]: no such secrets [webhook template_file]: no such template]"; h != nil || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAFormForVisitorsHasNoHook(t *testing.T) {
	d := shop(enquiry.Webhook{})
	d.Intake, d.Webhook = "", nil
	for i := range d.Fields {
		d.Fields[i].Path = ""
	}
	h, faults := compileHook(form(t, d), newSecret, "")
	if h != nil || len(faults) != 1 || fmt.Sprint(faults[0].Path) != "[intake]" {
		t.Errorf("got %v", faults)
	}
}
