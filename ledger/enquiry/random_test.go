package enquiry_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"formledger/ledger/enquiry"
)

// awkward holds what normalization moves, drops, composes or reorders, and what
// the kinds look for: random text of these meets cases that bytes seldom do.
var awkward = strings.Split("a|e|s|A|K|ß|ı|İ|ς|1|٣|@|.|。|．|-|xn--|:|/|o|n|"+
	" |\t|\n|\r|\r\n|\u00a0|\u2000|\u2003|\u3000|\u1680|\u2028|\u2029|"+
	"\u200b|\ufeff|\u00ad|\u200c|\u200d|\u200e|\u2067|\u2069|\u202a|\u202c|\u061c|"+
	"\u0300|\u0301|\u0308|\u0323|\u0327|\u0345|\u0340|\u0344|\u034f|\u05b0|\u05bc|\u0e38|\u3099|\u0f71|\u0f73|"+
	"\u212b|\u2126|\u037e|\u1e9b|\ufb2a|\u1100|\u1161|\u11a8|\uac00|\u09c7|\u09be|\u0dd9|\u0dca|\u0dcf|\U00011099|\U000110ba|"+
	"👩|\U0001f3fd|\ufe0f|\U000e0067|م|ی|א|क|्|Ｅ|①|\ufb01", "|")

func TestNormalizeTwiceChangesNothing(t *testing.T) {
	form := kindForm(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		var raw enquiry.Raw
		for _, field := range form.Def().Fields {
			if field.Kind != enquiry.Email {
				raw.Add(field.Name, awkwardText(r))
			}
		}
		raw.Add("multi", awkwardText(r))
		raw.Add("email", awkwardText(r)+"a@"+awkwardText(r)+".example")
		raw.Add("further", awkwardText(r), awkwardText(r))
		raw.Add(awkwardText(r), awkwardText(r))
		once, _ := form.Check(raw)
		again, problems := form.Normalize(rawOf(listOf(once)))
		if d := cmp.Diff(once, again); d != "" || len(problems) > 0 {
			t.Fatalf("%+q\n%v\n%s", listOf(once), problems, d)
		}
	}
}

// awkwardText is short or, to overflow the composition buffer, long and narrow.
func awkwardText(r *rand.Rand) string {
	from, n := awkward, r.IntN(8)
	if r.IntN(10) == 0 {
		i := r.IntN(len(awkward) - 4)
		from, n = awkward[i:i+4], 30+r.IntN(70)
	}
	var b strings.Builder
	for range n {
		b.WriteString(from[r.IntN(len(from))])
	}
	return b.String()
}
