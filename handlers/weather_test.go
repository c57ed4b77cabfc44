package handlers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
)

// weather is what becomes of a request on its way to the server, and of the
// answer on its way back.
type weather func(w http.ResponseWriter, r *http.Request, server http.Handler)

// is changes the weather; nil is a fine day.
func (k *kit) is(w weather) {
	if w == nil {
		k.weather.Store(nil)
		return
	}
	k.weather.Store(&w)
}

// firstPosts does something to the first n posts, and nothing to the others.
func firstPosts(n int, what weather) weather {
	var posts atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodPost && posts.Add(1) <= int64(n) {
			what(w, r, server)
			return
		}
		server.ServeHTTP(w, r)
	}
}

// losesAnswers lets the server do its work, and drops the connection.
func losesAnswers(n int) weather {
	return firstPosts(n, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		server.ServeHTTP(httptest.NewRecorder(), r)
		drop(w)
	})
}

// losesRequests drops the connection before the server hears of it.
func losesRequests(n int) weather {
	return firstPosts(n, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { drop(w) })
}

func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

// portal answers in the server's place, as the log-in page of a hotel does.
func portal(n int) weather {
	return firstPosts(n, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		allow(w, r)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Welcome to the hotel</title>accepted")
	})
}

// says answers in the server's place, about the enquiry that was posted.
func says(n, status int, outcome string, header ...string) weather {
	return firstPosts(n, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		body, _ := io.ReadAll(r.Body)
		fields, _ := url.ParseQuery(string(body))
		allow(w, r)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"urn:formledger:problem:%[1]s","title":"%[1]s","detail":"said so","outcome":%[1]q,"id":%[2]q,"retryable":true}`,
			outcome, strings.ToLower(fields.Get("submission_id")))
	})
}

func allow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	w.Header().Set("Access-Control-Expose-Headers", "Location, Retry-After, Idempotent-Replayed")
}
