package desk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"formledger/relay/netcause"
)

// Alert says that a message needs somebody. It holds no word of the message, and
// nothing by which a stranger could reach its receipt.
type Alert struct {
	Reference, Form, Needs, Cause string

	At time.Time // when it came to need somebody
}

// AlertError is why nobody could be told. It holds neither the address, which
// may be a secret, nor what the other side said.
type AlertError struct {
	Code string // a cause code
	Why  string
}

func (e *AlertError) Error() string { return e.Why }

// Webhook tells somebody by a POST of JSON, signed as Standard Webhooks are
// (https://www.standardwebhooks.com).
type Webhook struct {
	url    string
	signer *standardwebhooks.Webhook
	client *http.Client
	now    func() time.Time
}

const (
	alertTime       = 10 * time.Second
	alertType       = "formledger.needs_somebody"
	longestHeader   = 64 << 10 // bytes of the reply
	minSecretBytes  = 24       // as Standard Webhooks wants it
	secretPrefix    = "whsec_"
	codeRefused     = "alert_refused"
	codeUnreachable = "alert_failed"
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

// oneRequest is a client that makes the one request that it is told to: a fresh
// connection, no redirect, and no proxy that the environment names.
func oneRequest() *http.Client {
	return &http.Client{
		Timeout:       alertTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: alertTime}).DialContext,
			TLSHandshakeTimeout:    alertTime,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: longestHeader,
		},
	}
}

// alertBody is what is posted.
type alertBody struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      alertData `json:"data"`
}

type alertData struct {
	Reference string `json:"reference"`
	Form      string `json:"form"`
	Needs     string `json:"needs"`
	Cause     string `json:"cause"`
}

// Raise makes one request, and fails with an *AlertError unless the answer is a
// 2xx. The webhook-id is the same whenever the same alert is raised again, so that
// the receiver can tell.
func (w *Webhook) Raise(ctx context.Context, a Alert) error {
	body, err := json.Marshal(alertBody{alertType, a.At.UTC(), alertData{a.Reference, a.Form, a.Needs, a.Cause}})
	if err != nil {
		return &AlertError{codeUnreachable, "the alert could not be written"}
	}
	r, err := w.request(ctx, fmt.Sprintf("alert_%s_%d", a.Reference, a.At.UnixMilli()), body)
	if err != nil {
		return &AlertError{codeUnreachable, "the request could not be made"}
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return unreached(err)
	}
	answer.Body.Close() // unread: the status is the answer
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &AlertError{codeRefused, "the receiver answered " + strconv.Itoa(answer.StatusCode)}
	}
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

// unreached names an error of the way there. Its text would hold the address.
func unreached(err error) *AlertError {
	code := netcause.Of(err)
	switch code {
	case "":
		return &AlertError{codeUnreachable, "the receiver could not be reached"}
	case netcause.Timeout:
		return &AlertError{code, "the receiver did not answer in time; it may have the alert all the same"}
	}
	return &AlertError{code, "the receiver could not be reached (" + code + ")"}
}
