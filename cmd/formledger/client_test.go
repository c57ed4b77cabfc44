package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// words is an enquiry, as a visitor writes it.
type words struct {
	ID       uuid.UUID
	Name     string
	Email    string
	Services []string
	Message  string
}

func newWords() words {
	return words{
		ID: uuid.Must(uuid.NewV7()), Name: "Anna Müller", Email: "anna+form@visitor.example",
		Services: []string{"Repair", "Advice"}, Message: "Hello,\nplease call me.",
	}
}

// request is a post in one of the encodings.
type request struct {
	contentType string
	body        string
	header      http.Header
}

func (w words) json() request {
	m := map[string]any{"name": w.Name, "email": w.Email, "services": w.Services, "message": w.Message}
	if w.ID != uuid.Nil {
		m["submission_id"] = w.ID.String()
	}
	if w.Email == "" {
		delete(m, "email")
	}
	text, _ := json.Marshal(m) // strings always can be encoded
	return request{contentType: "application/json", body: string(text)}
}

func (w words) values() url.Values {
	v := url.Values{"name": {w.Name}, "email": {w.Email}, "services": w.Services, "message": {w.Message}}
	if w.ID != uuid.Nil {
		v.Set("submission_id", w.ID.String())
	}
	return v
}

func (w words) urlencoded() request {
	return request{contentType: "application/x-www-form-urlencoded", body: w.values().Encode()}
}

func (w words) multipart() request {
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for name, values := range w.values() {
		for _, v := range values {
			_ = m.WriteField(name, v) // a buffer takes everything
		}
	}
	_ = m.Close()
	return request{contentType: m.FormDataContentType(), body: body.String()}
}

func (r request) with(name, value string) request {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

// answer is what the server said.
type answer struct {
	Status    int         `json:"-"`
	Header    http.Header `json:"-"`
	Text      string      `json:"-"`
	Outcome   string      `json:"outcome"`
	ID        string      `json:"id"`
	Reference string      `json:"reference"`
	Receipt   string      `json:"receipt"`
	Retryable bool        `json:"retryable"`
	SafeNewID bool        `json:"safe_new_id"`
	Contact   string      `json:"contact"`
	Errors    []struct {
		Field string `json:"field"`
	} `json:"errors"`
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s (replayed %q): %s", a.Status, a.Outcome, a.Header.Get("Idempotent-Replayed"), a.Text)
}

// is reports whether the answer has this status and outcome.
func (a answer) is(status int, outcome string) bool {
	return a.Status == status && a.Outcome == outcome
}

// replayed reports whether the answer is a recorded acceptance.
func (a answer) replayed() bool {
	return a.is(200, "accepted") && a.Header.Get("Idempotent-Replayed") == "true"
}

// client makes a connection for each request, so that none lies idle when a
// server stops.
func client() *http.Client {
	return &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// try posts to the form at an address, and may fail as any network does.
func try(base string, r request) (answer, error) {
	q, err := http.NewRequest(http.MethodPost, base+"/f/contact", strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	if r.header != nil {
		q.Header = r.header.Clone()
	}
	q.Header.Set("Content-Type", r.contentType)
	return fetch(q)
}

func get(address, accept string) (answer, error) {
	q, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	q.Header.Set("Accept", accept)
	return fetch(q)
}

func fetch(q *http.Request) (answer, error) {
	response, err := client().Do(q)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{}
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(text, &a)
	}
	a.Status, a.Header, a.Text = response.StatusCode, response.Header, string(text)
	return a, err
}

// attempt is the answer to a post that runs in the background.
type attempt struct {
	answer answer
	err    error
}

func inBackground(base string, r request) <-chan attempt {
	done := make(chan attempt, 1)
	go func() {
		a, err := try(base, r)
		done <- attempt{a, err}
	}()
	return done
}
