package handlers

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"formledger/web"
)

// asset serves the browser's client to any page. The version in the address names
// these very bytes, so a browser need never ask again. An address of another
// version is answered like any that does not exist, and is not to be kept: after
// an update, a page may be served before the script that it names.
func (s *Server) asset(c echo.Context) error {
	asset, found := s.assets.Get(c.Param("*"))
	if !found || c.Param("version") != s.assets.Version() {
		return echo.ErrNotFound
	}
	serveAsset(c.Response(), c.Request(), asset)
	return nil
}

func serveAsset(w http.ResponseWriter, r *http.Request, asset web.Asset) {
	h := w.Header()
	h.Set("Content-Type", asset.MediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // pages may demand it (COEP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	body, tag := asset.Body, asset.Integrity
	if takesGzip(r) && r.Header.Get("Range") == "" {
		h.Set("Content-Encoding", "gzip")
		body, tag = asset.Gzipped, tag+"-gzip"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// takesGzip reads Accept-Encoding as browsers write it; whoever writes it in
// another way gets the plain bytes.
func takesGzip(r *http.Request) bool {
	for _, coding := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(coding) == "gzip" {
			return true
		}
	}
	return false
}
