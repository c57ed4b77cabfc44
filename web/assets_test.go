package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func newAssets(t *testing.T) *Assets {
	t.Helper()
	assets, err := NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	return assets
}

func TestAssetsAreWhatIsOnTheDisk(t *testing.T) {
	assets := newAssets(t)
	for _, name := range assets.Names() {
		want, err := os.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		asset, found := assets.Get(name)
		if !found || !bytes.Equal(asset.Body, want) {
			t.Errorf("%s is not what is on the disk", name)
		}
		sum := sha512.Sum384(want)
		if asset.Integrity != "sha384-"+base64.StdEncoding.EncodeToString(sum[:]) {
			t.Errorf("%s would be refused by its hash", name)
		}
		if got := unpacked(t, asset.Gzipped); !bytes.Equal(got, want) {
			t.Errorf("%s unpacks to something else", name)
		}
	}
	for _, name := range []string{"core.mjs", "formledger.mjs", "formledger.js", "receipt.js", "formledger.css", "texts/en.json"} {
		if !slices.Contains(assets.Names(), name) {
			t.Errorf("%s is not served", name)
		}
	}
	for _, name := range []string{"", "page.css", "texts", "../assets.go"} {
		if _, found := assets.Get(name); found {
			t.Errorf("%q is served", name)
		}
	}
}

func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestTheVersionChangesWithAnyByteOrName(t *testing.T) {
	files := newAssets(t).files
	version := versionOf(files)
	if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(version) {
		t.Errorf("version %q", version)
	}
	if versionOf(slices.Clone(files)) != version {
		t.Error("the same files have two versions")
	}
	for i := range files {
		other := slices.Clone(files)
		other[i].Body = append(slices.Clone(other[i].Body), ' ')
		if versionOf(other) == version {
			t.Errorf("%s can change under the same version", files[i].Name)
		}
		other[i] = files[i]
		other[i].Name += "x"
		if versionOf(other) == version {
			t.Errorf("%s can be renamed under the same version", files[i].Name)
		}
	}
}

// What a strict Content-Security-Policy and Trusted Types would stop.
func TestTheClientNeedsNoLooseness(t *testing.T) {
	assets := newAssets(t)
	loose := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("style"|DOMParser|createContextualFragment|\.disabled=`)
	for _, name := range assets.Names() {
		asset, _ := assets.Get(name)
		if found := loose.Find(asset.Body); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}

func TestTheScriptTagNamesWhatIsServed(t *testing.T) {
	assets := newAssets(t)
	for tag, name := range map[string]string{string(assets.ScriptTag(ClientScript)): ClientScript, string(assets.ScriptTag(ReceiptScript)): ReceiptScript} {
		script, _ := assets.Get(name)
		for _, part := range []string{`src="/js/` + assets.Version() + "/" + name + `"`, `integrity="` + script.Integrity + `"`, " defer>"} {
			if !strings.Contains(tag, part) {
				t.Errorf("%s lacks %s", tag, part)
			}
		}
	}
}
