package enquiry_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"formledger/ledger/enquiry"
)

// vectorFile is testdata/vectors.json. What it says is promised for ever: the
// ledger holds hashes of these bytes, so there is no way to regenerate it here.
type vectorFile struct {
	Key     string
	Vectors []struct {
		Name            string
		Raw, Fields     [][]string
		Canonical, HMAC string
	}
}

func TestVectors(t *testing.T) {
	var file vectorFile
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(file.Key)
	if err != nil || len(file.Vectors) < 27 {
		t.Fatalf("vectors are missing: %d, %v", len(file.Vectors), err)
	}
	form := vectorForm(t)
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			e, problems := form.Normalize(rawOf(v.Raw))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if d := cmp.Diff(v.Fields, listOf(e), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("normalized (-want +got):\n%s", d)
			}
			if got := hex.EncodeToString(e.Canonical()); got != v.Canonical {
				t.Errorf("canonical bytes\n got %s\nwant %s", got, v.Canonical)
			}
			mac := hmac.New(sha256.New, key)
			mac.Write(e.Canonical())
			if got := hex.EncodeToString(mac.Sum(nil)); got != v.HMAC {
				t.Errorf("HMAC %s, want %s", got, v.HMAC)
			}
		})
	}
}

// vectorForm compiles the form that the vectors are about.
func vectorForm(t testing.TB) *enquiry.Form {
	t.Helper()
	var d enquiry.Definition
	meta, err := toml.DecodeFile("testdata/form.toml", &d)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	return compile(t, d)
}

func compile(t testing.TB, d enquiry.Definition) *enquiry.Form {
	t.Helper()
	form, faults := enquiry.Compile(d)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return form
}

func rawOf(fields [][]string) enquiry.Raw {
	var raw enquiry.Raw
	for _, f := range fields {
		raw.Add(f[0], f[1:]...)
	}
	return raw
}

func listOf(e enquiry.Enquiry) [][]string {
	var list [][]string
	for _, v := range e.Fields {
		list = append(list, append([]string{v.Name}, v.Values...))
	}
	return list
}
