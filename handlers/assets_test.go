package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"formledger/web"
)

// fetched is an asset as it came over the line.
type fetched struct {
	status int
	header http.Header
	body   []byte
}

func (k *kit) fetch(method, path string, header ...string) fetched {
	k.t.Helper()
	req, err := http.NewRequest(method, k.url+path, nil)
	must(k.t, err)
	req.Header.Set("Accept-Encoding", "identity") // or the client unpacks it on its own
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := k.client.Do(req)
	must(k.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(k.t, err)
	return fetched{res.StatusCode, res.Header, body}
}

func (f fetched) wantHeader(t *testing.T, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := f.header.Get(pairs[i]); got != pairs[i+1] {
			t.Errorf("%s: %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

func TestTheClientIsServedToAnyPage(t *testing.T) {
	k := newKit(t)
	assets, err := web.NewAssets()
	must(t, err)
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".json": "application/json", "": "text/javascript; charset=utf-8"}
	for _, name := range assets.Names() {
		asset, _ := assets.Get(name)
		kind := kinds[""]
		for suffix, is := range kinds {
			if suffix != "" && strings.HasSuffix(name, suffix) {
				kind = is
			}
		}
		for _, method := range []string{"GET", "HEAD"} {
			f := k.fetch(method, assets.Path(name), "Origin", "https://elsewhere.example")
			f.wantHeader(t, "Content-Type", kind, "Cache-Control", "public, max-age=31536000, immutable",
				"Access-Control-Allow-Origin", "*", "Cross-Origin-Resource-Policy", "cross-origin",
				"X-Content-Type-Options", "nosniff", "Content-Encoding", "")
			want := asset.Body
			if method == "HEAD" {
				want = nil
			}
			if f.status != http.StatusOK || !bytes.Equal(f.body, want) {
				t.Errorf("%s %s: %d with %d bytes", method, name, f.status, len(f.body))
			}
		}
	}
}

func TestAnAssetIsAskedForOnce(t *testing.T) {
	k := newKit(t)
	assets, err := web.NewAssets()
	must(t, err)
	asset, _ := assets.Get(web.ClientScript)
	path := assets.Path(web.ClientScript)
	packed := k.fetch("GET", path, "Accept-Encoding", "gzip, br")
	packed.wantHeader(t, "Content-Encoding", "gzip", "Vary", "Accept-Encoding")
	r, err := gzip.NewReader(bytes.NewReader(packed.body))
	must(t, err)
	if body, err := io.ReadAll(r); err != nil || !bytes.Equal(body, asset.Body) {
		t.Errorf("the packed script unpacks to something else: %v", err)
	}
	plain := k.fetch("GET", path)
	if tag := plain.header.Get("ETag"); tag == "" || tag == packed.header.Get("ETag") {
		t.Errorf("the ETag is %q, packed and plain", tag)
	}
	if again := k.fetch("GET", path, "If-None-Match", plain.header.Get("ETag")); again.status != http.StatusNotModified || len(again.body) > 0 {
		t.Errorf("asked again: %d", again.status)
	}
}

func TestAnotherVersionIsNotThere(t *testing.T) {
	k := newKit(t)
	assets, err := web.NewAssets()
	must(t, err)
	for _, path := range []string{
		"/js/000000000000/formledger.js", "/js/" + assets.Version() + "/page.css", "/js/" + assets.Version() + "/", "/js/" + assets.Version(),
		"/js/", "/js/" + assets.Version() + "/..%2fassets.go", "/js/" + assets.Version() + "/texts/xx.json",
	} {
		f := k.fetch("GET", path)
		if f.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, f.status)
		}
		f.wantHeader(t, "Cache-Control", "no-store")
	}
}
