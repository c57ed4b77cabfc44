package desk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/ledger"
)

// Webhook tells somebody by a POST of JSON, signed as Standard Webhooks are
// (https://www.standardwebhooks.com).
type Webhook struct {
	url    string
	signer *standardwebhooks.Webhook
	client *http.Client
	now    func() time.Time
}

const (
	longestHeader  = 64 << 10 // bytes of the reply
	minSecretBytes = 24       // as Standard Webhooks wants it
	secretPrefix   = "whsec_"
)

// CheckWebhook finds what is wrong with an address.
func CheckWebhook(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil || u.Fragment != "" {
		return errors.New("alert: url is not an address like https://alerts.example.com/formledger")
	}
	return nil
}

// HostOf is the part of an address that is no secret.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// NewWebhook checks an address and a secret, which is base64 of 24 bytes or more,
// with or without whsec_ before it. It connects to nothing.
func NewWebhook(address, secret string) (*Webhook, error) {
	if err := CheckWebhook(address); err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) < minSecretBytes {
		return nil, fmt.Errorf("alert: the secret has to be base64 of %d bytes or more, such as openssl rand -base64 32 prints", minSecretBytes)
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, errors.New("alert: the secret cannot be used")
	}
	return &Webhook{url: address, signer: signer, client: oneRequest(), now: time.Now}, nil
}

// alertBody is what is posted.
type alertBody struct {
	Type      AlertKind `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      alertData `json:"data"`
}

type alertData struct {
	References []alertedReference `json:"references"`
	Count      int                `json:"count"`
	Oldest     *time.Time         `json:"oldest"`
	Relay      *alertedRelay      `json:"relay,omitempty"`
}

type alertedReference struct {
	Reference ledger.Reference `json:"reference"`
	Form      string           `json:"form"`
	Needs     ledger.Need      `json:"needs"`
	Cause     string           `json:"cause"`
	Since     time.Time        `json:"since"`
	Link      string           `json:"link,omitempty"`
}

type alertedRelay struct {
	FailingSince time.Time `json:"failing_since"`
	Cause        string    `json:"cause"`
}

func bodyOf(a Alert) alertBody {
	data := alertData{References: []alertedReference{}, Count: a.Count}
	for _, r := range a.References {
		data.References = append(data.References, alertedReference{r.Reference, r.Form, r.Needs, r.Cause, r.Since.UTC(), r.Link})
	}
	if !a.Oldest.IsZero() {
		oldest := a.Oldest.UTC()
		data.Oldest = &oldest
	}
	if !a.Relay.FailingSince.IsZero() {
		data.Relay = &alertedRelay{a.Relay.FailingSince.UTC(), a.Relay.Cause}
	}
	return alertBody{a.Kind, a.At.UTC(), data}
}

// Name is webhook.
func (w *Webhook) Name() string { return "webhook" }

// Raise makes one request, and fails with an *AlertError unless the answer is a
// 2xx.
func (w *Webhook) Raise(ctx context.Context, a Alert) error {
	body, err := json.Marshal(bodyOf(a))
	if err != nil {
		return &AlertError{codeUnreachable, "the alert could not be written"}
	}
	r, err := w.request(ctx, a.ID, body)
	if err != nil {
		return &AlertError{codeUnreachable, "the request could not be made"}
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return alertError(err)
	}
	answer.Body.Close() // unread: the status is the answer
	return nil
}

func (w *Webhook) request(ctx context.Context, id string, body []byte) (*http.Request, error) {
	now := w.now()
	signature, err := w.signer.Sign(id, now, body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // or the transport might send it twice
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "formledger")
	r.Header.Set(standardwebhooks.HeaderWebhookID, id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return r, nil
}
