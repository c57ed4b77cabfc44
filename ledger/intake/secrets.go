package intake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger/enquiry"
)

const (
	minSecret         = 16 // bytes, as the provider shows it
	minStandardSecret = 24 // bytes, by the Standard Webhooks specification
	maxSecrets        = 16 // each costs a hash of the body

	standardPrefix = "whsec_"
)

// readSecrets reads the secrets into the scheme that they are for. Several are
// in force at once, so that a secret can be replaced without losing a webhook.
func (h *Hook) readSecrets(read func(file string) (string, error)) error {
	text, err := read(h.webhook.SecretsFile)
	if err != nil {
		return err
	}
	lines := secretLines(text)
	switch {
	case len(lines) == 0:
		return fmt.Errorf("there is no secret in %s; please copy the signing secret of this webhook from the provider, one secret a line", h.webhook.SecretsFile)
	case len(lines) > maxSecrets:
		return fmt.Errorf("there are %d secrets in %s, but at most %d are taken; please remove those that are no longer in use", len(lines), h.webhook.SecretsFile, maxSecrets)
	case h.webhook.Scheme == enquiry.Standard:
		h.scheme, err = newStandard(lines)
	default:
		h.scheme, err = newPlain(h.webhook, lines)
	}
	if err != nil {
		return fmt.Errorf("%s, %w", h.webhook.SecretsFile, err)
	}
	return nil
}

// secretLine is one secret and where it stands, counted from 1.
type secretLine struct {
	number int
	secret string
}

// secretLines skips blank lines and comments. A byte order mark, which some
// editors put first, would make a secret that never matches.
func secretLines(text string) []secretLine {
	var found []secretLine
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, secretLine{number: i + 1, secret: line})
		}
	}
	return found
}

// newStandard checks what the library does not: it takes an empty secret, with
// which anybody can sign, and decodes text that was never meant as base64.
func newStandard(lines []secretLine) (scheme, error) {
	var s standardScheme
	for _, l := range lines {
		encoded, prefixed := strings.CutPrefix(l.secret, standardPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(key) < minStandardSecret {
			return nil, fmt.Errorf("line %d: a secret of Standard Webhooks is whsec_ and base64 of at least %d bytes; please copy it whole", l.number, minStandardSecret)
		}
		hook, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, fmt.Errorf("line %d: the secret is not taken", l.number)
		}
		s.hooks = append(s.hooks, hook)
	}
	return s, nil
}

// newPlain takes secrets as they stand: Stripe's whsec_ is a part of it.
func newPlain(w enquiry.Webhook, lines []secretLine) (scheme, error) {
	var all secrets
	for _, l := range lines {
		if len(l.secret) < minSecret {
			return nil, fmt.Errorf("line %d: a secret has at least %d bytes; please copy it whole", l.number, minSecret)
		}
		all = append(all, []byte(l.secret))
	}
	if w.Scheme == enquiry.Timestamped {
		return timestampedScheme{header: w.Header, secrets: all}, nil
	}
	return hmacScheme{header: w.Header, encoding: w.Encoding, secrets: all}, nil
}

// secrets are the keys of HMAC-SHA-256 (RFC 2104), any of which may have signed.
type secrets [][]byte

// signed reports whether a MAC is that of the parts under any secret.
func (s secrets) signed(macs [][]byte, parts ...[]byte) bool {
	found := false
	for _, secret := range s {
		h := hmac.New(sha256.New, secret)
		for _, part := range parts {
			h.Write(part)
		}
		sum := h.Sum(nil)
		for _, mac := range macs {
			if hmac.Equal(mac, sum) { // in constant time
				found = true
			}
		}
	}
	return found
}
