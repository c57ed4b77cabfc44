package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The browser's client, made of web/client and web/texts by go generate ./web.
// The folder is embedded whole, so that it can be generated when it is empty.
//
//go:embed static
var staticFiles embed.FS

// The scripts that a page of HTML loads: for a form, and for the receipt's page.
const (
	ClientScript  = "formledger.js"
	ReceiptScript = "receipt.js"
)

// Assets are the files of the browser's client, which pages on other sites load
// too. All of them stand under one version, which changes if and only if one of
// them does; so an address stands for the same bytes for ever.
type Assets struct {
	version string
	files   []Asset // by name
}

// Asset is one file of the browser's client.
type Asset struct {
	Name      string // like formledger.js or texts/de.json
	MediaType string
	Body      []byte
	Gzipped   []byte // Body, compressed
	Integrity string // for Subresource Integrity, like sha384-…
}

// NewAssets reads the embedded files.
func NewAssets() (*Assets, error) {
	a := &Assets{}
	err := fs.WalkDir(staticFiles, "static", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || file == "static/page.css" { // that one is part of the pages
			return err
		}
		asset, err := newAsset(file)
		a.files = append(a.files, asset)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("web: read the browser's client: %w", err)
	}
	a.version = versionOf(a.files)
	return a, nil
}

func newAsset(file string) (Asset, error) {
	body, err := staticFiles.ReadFile(file)
	if err != nil {
		return Asset{}, err
	}
	kind, err := mediaType(file)
	if err != nil {
		return Asset{}, err
	}
	gzipped, err := compressed(body)
	sum := sha512.Sum384(body)
	return Asset{
		Name: strings.TrimPrefix(file, "static/"), MediaType: kind, Body: body, Gzipped: gzipped,
		Integrity: "sha384-" + base64.StdEncoding.EncodeToString(sum[:]),
	}, err
}

// mediaType does not ask the machine, which may have its own opinion.
func mediaType(file string) (string, error) {
	switch path.Ext(file) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8", nil // RFC 9239
	case ".css":
		return "text/css; charset=utf-8", nil
	case ".json":
		return "application/json", nil
	}
	return "", fmt.Errorf("%s has no media type", file)
}

func compressed(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// versionOf is a hash over names and contents: its first 12 hexadecimal digits.
func versionOf(files []Asset) string {
	sum := sha256.New()
	for _, f := range files { // fs.WalkDir goes in order
		fmt.Fprintf(sum, "%s %d\n", f.Name, len(f.Body))
		sum.Write(f.Body)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Version is the part of the addresses that names this very set of files.
func (a *Assets) Version() string { return a.version }

// Names lists the files in order.
func (a *Assets) Names() []string {
	names := make([]string, len(a.files))
	for i, f := range a.files {
		names[i] = f.Name
	}
	return names
}

// Get finds a file by its name.
func (a *Assets) Get(name string) (Asset, bool) {
	i, found := slices.BinarySearchFunc(a.files, name, func(f Asset, name string) int { return cmp.Compare(f.Name, name) })
	if !found {
		return Asset{}, false
	}
	return a.files[i], true
}

// Path is where a server of formledger serves a file.
func (a *Assets) Path(name string) string { return "/js/" + a.version + "/" + name }

// ScriptTag is the element that loads ClientScript or ReceiptScript into one of the
// server's own pages. Besides what such a page has, its policy needs script-src
// 'self' and connect-src 'self'. A name that is not served gives an empty tag.
func (a *Assets) ScriptTag(name string) template.HTML {
	script, found := a.Get(name)
	if !found {
		return ""
	}
	return template.HTML(`<script src="` + a.Path(name) + `" integrity="` + script.Integrity + `" defer></script>`)
}
