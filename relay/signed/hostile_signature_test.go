package signed

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
)

func hostileKeys() []hostile {
	decoded := func(name string) string {
		return string(must1(base64.StdEncoding.DecodeString(secretOf(name))))
	}
	only := func(name, secret string) func(*heard) {
		return signedBy(func(*heard) Key { return keyNamed(name, secret) })
	}
	return []hostile{
		{name: "signed by a stranger", want: doubtful, does: only("stranger", decoded("stranger"))},
		{name: "signed with another secret", want: doubtful, does: only("k1", decoded("stranger"))},
		{name: "signed with an empty secret", want: doubtful, does: only("k1", "")},
		{name: "signed with a key for calls", want: doubtful, does: heldKey("k1.call")},
		{name: "signed with the secret of a key for calls", want: doubtful, does: only("k1", decoded("k1.call"))},
		{name: "signed with the secret of the other pair", want: doubtful, does: only("k1", decoded("k2.ack"))},
		{name: "signed with a key that counts no more", want: doubtful, does: heldKey("past.ack")},
		{name: "signed with a key that does not count yet", want: doubtful, does: heldKey("future.ack")},
		{name: "key name in capitals", want: doubtful, does: forged(func(f *forgery) { f.params = strings.Replace(f.params, `"k1.`, `"K1.`, 1) })},
		{name: "key name empty", want: doubtful, does: forged(func(f *forgery) { f.params = strings.Replace(f.params, `"k1.ack"`, `""`, 1) })},
		{name: "the call's own signature sent back", want: doubtful, does: func(h *heard) {
			a := &answer{status: http.StatusOK, body: h.body}
			for _, name := range append(signedNames, "Content-Length") {
				a.lines = append(a.lines, name+": "+h.header.Get(name))
			}
			h.writes(a)
		}},
	}
}

// hostileBindings are signed with the right key, to another call or status.
func hostileBindings() []hostile {
	other := func(component, value string) func(*heard) {
		return forged(func(f *forgery) { f.values[component] = value })
	}
	return []hostile{
		{name: "to another method", want: doubtful, does: other(`"@method";req`, "GET")},
		{name: "to another relay", want: doubtful, does: other(`"@authority";req`, "relay.example")},
		{name: "to another path", want: doubtful, does: other(`"@path";req`, PathInquire)},
		{name: "to another content", want: doubtful, does: other(`"content-digest";req`, digestOf([]byte("other")))},
		{name: "to another submission", want: doubtful, does: other(`"relay-submission-id";req`, uuid.Max.String())},
		{name: "to another signature", want: doubtful, does: other(`"signature";req;key="sig1"`, ":"+keyNamed("k1", "").sign(nil)+":")},
		{name: "to no signature", want: doubtful, does: other(`"signature";req;key="sig1"`, "::")},
		{name: "of another status", want: doubtful, does: other(`"@status"`, "201")},
		{name: "sent with 202 instead", want: doubtful, does: changed(func(a *answer) { a.status = 202 })},
		{name: "sent with 500 instead", want: "http_500@answer", does: changed(func(a *answer) { a.status = 500 })},
		{name: "signed with 202", want: malformed, does: forged(func(f *forgery) { f.status, f.values[`"@status"`] = 202, "202" })},
		{name: "signed with 403", want: malformed, does: forged(func(f *forgery) { f.status, f.values[`"@status"`] = 403, "403" })},
		{name: "signed with 500", want: malformed, does: forged(func(f *forgery) { f.status, f.values[`"@status"`] = 500, "500" })},
	}
}

// hostileContents are the relay's own word, but not about this claim.
func hostileContents() []hostile {
	var all []hostile
	for _, status := range []Status{StatusAccepted, StatusRefused, StatusSealed} {
		of := func(about, want string, change func(*Answer)) {
			all = append(all, hostile{name: string(status) + ", " + about, want: want, does: saysOf(status, change)})
		}
		of("of another submission", malformed, func(a *Answer) { a.SubmissionID = uuid.Max })
		of("of no submission", malformed, func(a *Answer) { a.SubmissionID = uuid.Nil })
		of("of another content", malformed, func(a *Answer) { a.PayloadHash = "v1.k1.01" })
		of("of no content", malformed, func(a *Answer) { a.PayloadHash = "" })
		of("of another claim", malformed, func(a *Answer) { a.Claim = ledger.Token{2}.String() })
		of("of no claim", malformed, func(a *Answer) { a.Claim = "" })
		of("of another epoch", changedTo, func(a *Answer) { a.Epoch = "epoch-2" })
		of("of no epoch", changedTo, func(a *Answer) { a.Epoch = "" })
	}
	says := func(name string, status Status) hostile {
		return hostile{name: name, want: malformed, does: saysOf(status, nil)}
	}
	return append(all, says("status of no meaning", "delivered"), says("no status", ""), says("status in capitals", "ACCEPTED"), says("status with a space", "accepted "),
		hostile{name: "accepted, with an earlier claim that is none", want: malformed, does: saysOf(StatusAccepted, func(a *Answer) { a.Earlier = "none" })})
}

func hostileHeaders() []hostile {
	var all []hostile
	for _, name := range signedNames {
		all = append(all,
			hostile{name: name + " missing", want: doubtful, does: changed(func(a *answer) { a.drop(name) })},
			hostile{name: name + " empty", want: doubtful, does: changed(func(a *answer) { a.set(name, "") })},
			hostile{name: name + " twice", want: doubtful, does: changed(func(a *answer) { a.lines = append(a.lines, a.lines[a.at(name)]) })},
			hostile{name: name + " twice, spelled otherwise", want: doubtful, does: changed(func(a *answer) {
				a.lines = append([]string{strings.ToLower(name) + ": x"}, a.lines...)
			})},
			hostile{name: name + " twice in one line", want: doubtful, does: changed(func(a *answer) { a.set(name, a.value(name)+", "+a.value(name)) })},
			hostile{name: name + " not in ASCII", want: doubtful, does: changed(func(a *answer) { a.set(name, a.value(name)+"\u00e9") })},
			hostile{name: name + " folded", want: doubtful, does: changed(func(a *answer) { v := a.value(name); a.set(name, v[:9]+"\r\n "+v[9:]) })},
		)
	}
	return all
}

// symbolic is an acceptance whose signature holds both signs that the two
// alphabets of base64 do not share.
func symbolic(rewrite func(string) string) func(*heard) {
	return func(h *heard) {
		for i := 0; ; i++ {
			a := h.signs(h.says(StatusAccepted, func(a *Answer) { a.Receipt = fmt.Sprint(i) }))
			if v := a.value("Signature"); strings.Contains(v, "+") && strings.Contains(v, "/") {
				a.set("Signature", rewrite(v))
				h.writes(a)
				return
			}
		}
	}
}

// untidy sets bits that base64 does not use: the same bytes, spelled otherwise.
func untidy(value string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := strings.LastIndex(value, "=:") - 1
	return value[:at] + string(alphabet[strings.IndexByte(alphabet, value[at])+1]) + value[at+1:]
}

func hostileSpellings() []hostile {
	signature := func(name string, rewrite func(string) string) hostile {
		return hostile{name: "signature " + name, want: doubtful, does: symbolic(rewrite)}
	}
	params := func(name string, rewrite func(string) string) hostile {
		return hostile{name: "parameters: " + name, want: doubtful, does: forged(func(f *forgery) { f.params = rewrite(f.params) })}
	}
	swap := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	return []hostile{
		signature("in the other base64", strings.NewReplacer("+", "-", "/", "_").Replace),
		signature("unpadded", swap("=:", ":")),
		signature("padded twice", swap("=:", "==:")),
		signature("with a space in it", func(s string) string { return s[:20] + " " + s[20:] }),
		signature("with bits that do not count", untidy),
		signature("without colons", func(s string) string { return strings.ReplaceAll(s, ":", "") }),
		signature("in quotes", func(s string) string { return strings.ReplaceAll(s, ":", `"`) }),
		signature("under another label", swap("sig1", "sig2")),
		signature("under a label in capitals", swap("sig1", "SIG1")),
		signature("with a parameter", func(s string) string { return s + ";x" }),
		signature("cut", func(s string) string { return "sig1=:" + s[10:] }),
		signature("and another one", func(s string) string { return s + ", sig2=:AAAA:" }),
		signature("empty bytes", func(string) string { return "sig1=::" }),
		params("zero in front", swap("created=", "created=0")),
		params("minus in front", swap("created=", "created=-")),
		params("plus in front", swap("created=", "created=+")),
		params("a fraction", swap(";keyid", ".0;keyid")),
		params("quoted number", func(s string) string {
			return strings.Replace(strings.Replace(s, "created=", `created="`, 1), ";keyid", `";keyid`, 1)
		}),
		params("a number that overflows", swap("created=", "created=99999999999999999999")),
		params("spaces between", func(s string) string { return strings.ReplaceAll(s, ";", "; ") }),
		params("another order", func(s string) string {
			parts := strings.Split(s[1:], ";")
			slices.Reverse(parts)
			return ";" + strings.Join(parts, ";")
		}),
		params("no time", func(s string) string { return s[strings.Index(s, ";keyid"):] }),
		params("no key", swap(`;keyid="k1.ack"`, "")),
		params("no tag", swap(`;tag="relay-ack-v1"`, "")),
		params("the tag of a call", swap("relay-ack-v1", "relay-send-v1")),
		params("the tag of another version", swap("relay-ack-v1", "relay-ack-v2")),
		params("an algorithm too", func(s string) string { return s + `;alg="hmac-sha256"` }),
		params("a nonce too", func(s string) string { return s + `;nonce="AAAAAAAAAAAAAAAA"` }),
		params("a key twice", func(s string) string { return s + `;keyid="k1.ack"` }),
		{name: "of an hour ago", want: doubtful, does: forged(func(f *forgery) { after(-time.Hour, f) })},
		{name: "of the next hour", want: doubtful, does: forged(func(f *forgery) { after(time.Hour, f) })},
		{name: "input and signature under another label", want: doubtful, does: changed(func(a *answer) {
			for _, name := range []string{"Signature-Input", "Signature"} {
				a.set(name, strings.Replace(a.value(name), "sig1=", "sig2=", 1))
			}
		})},
	}
}

func hostileDigests() []hostile {
	digest := func(name string, rewrite func(f *forgery, sum string) string) hostile {
		return hostile{name: "digest " + name, want: doubtful, does: forged(func(f *forgery) {
			f.digest = rewrite(f, f.digest)
			f.values[`"content-digest"`] = f.digest
		})}
	}
	long := func(f *forgery) string {
		sum := sha512.Sum512(f.body)
		return "sha-512=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	}
	kind := func(name, value string) hostile {
		return hostile{name: name, want: doubtful, does: forged(func(f *forgery) { f.values[`"content-type"`] = value })}
	}
	return []hostile{
		digest("with SHA-512", func(f *forgery, _ string) string { return long(f) }),
		digest("with SHA-512 too", func(f *forgery, sum string) string { return sum + ", " + long(f) }),
		digest("called SHA-512", func(_ *forgery, sum string) string { return strings.Replace(sum, "256", "512", 1) }),
		digest("in capitals", func(_ *forgery, sum string) string { return strings.Replace(sum, "sha", "SHA", 1) }),
		digest("unpadded", func(_ *forgery, sum string) string { return strings.Replace(sum, "=:", ":", 2)[:len(sum)-2] + ":" }),
		digest("with bits that do not count", func(_ *forgery, sum string) string { return untidy(sum) }),
		digest("of other bytes", func(*forgery, string) string { return digestOf(nil) }),
		digest("twice", func(_ *forgery, sum string) string { return sum + ", " + sum }),
		digest("with a parameter", func(_ *forgery, sum string) string { return sum + ";x=1" }),
		kind("JSON with a charset", "application/json; charset=utf-8"),
		kind("JSON in capitals", "Application/JSON"),
		kind("signed as HTML", "text/html"),
	}
}

func hostileComponents() []hostile {
	var all []hostile
	add := func(name string, change func(*forgery)) {
		all = append(all, hostile{name: "covered: " + name, want: doubtful, does: forged(change)})
	}
	for i, c := range strings.Split(strings.Trim(coveredByAck, "()"), " ") {
		add("all but "+c, func(f *forgery) { f.components = slices.Delete(f.components, i, i+1) })
	}
	add("nothing", func(f *forgery) { f.components = nil })
	add("in the other order", func(f *forgery) { slices.Reverse(f.components) })
	add("two exchanged", func(f *forgery) { f.components[0], f.components[1] = f.components[1], f.components[0] })
	add("one more", func(f *forgery) { f.components = append(f.components, `"date"`) })
	add("one twice", func(f *forgery) { f.components = append(f.components, `"@status"`) })
	add("the call's signature without its key", func(f *forgery) { f.components[8] = `"signature";req` })
	add("two spaces between", func(f *forgery) { f.components[0] += " " })
	return all
}
