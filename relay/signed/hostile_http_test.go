package signed

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

func hostileBodies() []hostile {
	genuine := func(name, want string, change func(*answer)) hostile {
		return hostile{name: name, want: want, does: changed(change)}
	}
	return []hostile{
		genuine("a byte of the body changed", doubtful, func(a *answer) { a.body[len(a.body)/2] ^= 1 }),
		genuine("the last byte missing", doubtful, func(a *answer) {
			a.body = a.body[:len(a.body)-1]
			a.set("Content-Length", fmt.Sprint(len(a.body)))
		}),
		genuine("a line end more", doubtful, func(a *answer) {
			a.body = append(slices.Clip(a.body), '\n')
			a.set("Content-Length", fmt.Sprint(len(a.body)))
		}),
		genuine("a shorter length than the body", doubtful, func(a *answer) { a.set("Content-Length", fmt.Sprint(len(a.body)-5)) }),
		genuine("length 0", doubtful, func(a *answer) { a.set("Content-Length", "0") }),
		{name: "a longer length than the body", want: broken, does: func(h *heard) {
			changed(func(a *answer) { a.set("Content-Length", fmt.Sprint(len(a.body)+5)) })(h)
			h.Close()
		}},
		{name: "a longer length than the body, then silence", want: overdue, slow: true,
			does: changed(func(a *answer) { a.set("Content-Length", fmt.Sprint(len(a.body)+5)) })},
		{name: "no length, and cut", want: doubtful, does: func(h *heard) {
			changed(func(a *answer) { a.drop("Content-Length"); a.body = a.body[:len(a.body)-9] })(h)
			h.Close()
		}},
		{name: "no length, then silence", want: overdue, slow: true, does: changed(func(a *answer) { a.drop("Content-Length") })},
		genuine("two lengths", doubtful, func(a *answer) { a.lines = append(a.lines, "Content-Length: 3") }),
		genuine("a length below zero", doubtful, func(a *answer) { a.set("Content-Length", "-1") }),
		genuine("an empty body", doubtful, func(a *answer) { a.body = nil; a.set("Content-Length", "0") }),
	}
}

// hostileJSON is well signed, but no answer by the protocol.
func hostileJSON() []hostile {
	spelled := func(name string, rewrite func(string) string) hostile {
		return hostile{name: "JSON: " + name, want: malformed, does: spells(rewrite)}
	}
	swap := func(name, old, new string) hostile {
		return spelled(name, func(s string) string {
			if !strings.Contains(s, old) {
				panic(s + " does not hold " + old)
			}
			return strings.Replace(s, old, new, 1)
		})
	}
	is := func(name, text string) hostile { return spelled(name, func(string) string { return text }) }
	return []hostile{
		is("nothing", ""), is("null", "null"), is("a list", "[]"), is("a word", `"accepted"`), is("an empty object", "{}"), is("true", "true"), is("HTML", "<p>ok</p>"),
		spelled("in a list", func(s string) string { return "[" + s + "]" }),
		spelled("cut", func(s string) string { return s[:len(s)-1] }),
		spelled("with data behind it", func(s string) string { return s + "{}" }),
		spelled("with garbage behind it", func(s string) string { return s + "x" }),
		spelled("twice", func(s string) string { return s + s }),
		swap("refused and accepted", `"status":`, `"status":"refused","status":`),
		swap("accepted and refused", `"status":"accepted"`, `"status":"accepted","status":"refused"`),
		swap("two claims", `"claim":`, `"claim":"AgAAAAAAAAAAAAAAAAAAAA","claim":`),
		swap("two names for one", `"status":`, `"Status":"refused","status":`),
		swap("a name in capitals", `"status":`, `"STATUS":`),
		swap("a name in letters that fold", `"status":`, `"ſtatus":`),
		swap("an escaped name twice", `"status":`, `"st\u0061tus":"refused","status":`),
		swap("an unknown member", `{`, `{"proof":"yes",`),
		swap("the status null", `"status":"accepted"`, `"status":null`),
		swap("the claim null", `"claim":`, `"claim":null,"receipt":`),
		swap("the status a number", `"status":"accepted"`, `"status":1`),
		swap("the status a list", `"status":"accepted"`, `"status":["accepted"]`),
		swap("partly a word", `"status":`, `"partly":"no","status":`),
		swap("the receipt an object", `"250 taken"`, `{}`),
		swap("an ID that is none", `01890a5d-`, `x`),
		swap("a claim with a line end", `"claim":"AQ`, `"claim":"AQ\n`),
		{name: "JSON: a receipt without end", want: tooLong, bomb: true, does: saysOf(StatusAccepted, func(a *Answer) { a.Receipt = strings.Repeat("x", MaxAnswer) })},
	}
}

// says200 is a body that claims everything.
const saysAll = `{"status":"accepted","receipt":"250 taken"}`

func hostileStatuses() []hostile {
	var all []hostile
	for _, status := range []int{300, 400, 401, 403, 404, 408, 409, 413, 425, 429, 500, 501, 502, 503, 504, 511, 599} {
		all = append(all, hostile{name: fmt.Sprintf("an unsigned %d", status), want: fmt.Sprintf("http_%d@answer", status),
			does: raw("HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(saysAll), saysAll)})
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		all = append(all, hostile{name: fmt.Sprintf("redirected by %d", status), want: fmt.Sprintf("http_%d@answer", status), does: func(h *heard) {
			fmt.Fprintf(h, "HTTP/1.1 %d Go\r\nLocation: %s%s\r\nContent-Length: 0\r\n\r\n", status, h.relay.url(), PathSend)
		}})
	}
	return append(all,
		hostile{name: "an unsigned 200", want: doubtful, does: raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(saysAll), saysAll)},
		hostile{name: "a page with 200", want: doubtful, does: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>ok</p>")},
		hostile{name: "an empty 200", want: doubtful, does: raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		hostile{name: "202", want: doubtful, does: raw("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")},
		hostile{name: "204", want: doubtful, does: raw("HTTP/1.1 204 No Content\r\n\r\n")},
		hostile{name: "304", want: "http_304@answer", does: raw("HTTP/1.1 304 Not Modified\r\n\r\n")},
		hostile{name: "999", want: doubtful, does: raw("HTTP/1.1 999 Said\r\nContent-Length: 0\r\n\r\n")},
		hostile{name: "101", want: broken, does: func(h *heard) {
			raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")(h)
			h.Close()
		}},
		hostile{name: "101, then silence", want: overdue, slow: true, does: raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")},
		hostile{name: "many 100 before the answer", want: doubtful, does: flooded("HTTP/1.1 100 Continue\r\n\r\n")},
		hostile{name: "many 103 before the answer", want: doubtful, does: flooded("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")},
		hostile{name: "502 before the answer", want: "http_502@answer", does: func(h *heard) {
			raw("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")(h)
			h.answersWell()
		}},
	)
}

func flooded(informal string) func(*heard) {
	return func(h *heard) {
		raw("%s", strings.Repeat(informal, maxInformal+1))(h)
		h.answersWell()
	}
}

func chunked(body []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(body), body) }

// inChunks has a genuine acceptance sent with another framing.
func inChunks(name, want string, frame func([]byte) []byte) hostile {
	return hostile{name: "chunks: " + name, want: want, does: changed(func(a *answer) {
		a.set("Content-Length", "x")
		a.lines[a.at("Content-Length")] = "Transfer-Encoding: chunked"
		a.body = frame(a.body)
	})}
}

func hostileFraming() []hostile {
	return []hostile{
		inChunks("garbage", doubtful, func([]byte) []byte { return []byte("not a number\r\n") }),
		inChunks("garbage after the first", doubtful, func(b []byte) []byte { return fmt.Appendf(nil, "5\r\n%s\r\nzz\r\n", b[:5]) }),
		inChunks("a number that overflows", doubtful, func(b []byte) []byte { return fmt.Appendf(nil, "fffffffffffffffff\r\n%s", b) }),
		inChunks("one with too much in it", doubtful, func(b []byte) []byte { return fmt.Appendf(nil, "5\r\n%s\r\n0\r\n\r\n", b) }),
		inChunks("another body", doubtful, func(b []byte) []byte { return chunked(append(b, ' ')) }),
		inChunks("none", doubtful, func([]byte) []byte { return []byte("0\r\n\r\n") }),
		{name: "chunks: cut", want: broken, does: func(h *heard) {
			inChunks("", "", func(b []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s", len(b)+1, b) }).does(h)
			h.Close()
		}},
		{name: "the signature in a trailer", want: doubtful, does: changed(func(a *answer) {
			input, signature := a.lines[a.at("Signature-Input")], a.lines[a.at("Signature")]
			for _, name := range []string{"Signature-Input", "Signature", "Content-Length"} {
				a.drop(name)
			}
			a.lines = append(a.lines, "Transfer-Encoding: chunked", "Trailer: Signature-Input, Signature")
			a.body = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n%s\r\n%s\r\n\r\n", len(a.body), a.body, input, signature)
		})},
		{name: "a transfer coding of no meaning", want: doubtful, does: changed(func(a *answer) { a.lines = append(a.lines, "Transfer-Encoding: gzip") })},
		{name: "a header without a colon", want: doubtful, does: changed(func(a *answer) { a.lines = append(a.lines, "Date") })},
		{name: "a header with a space before the colon", want: doubtful, does: changed(func(a *answer) {
			i := a.at("Signature")
			a.lines[i] = strings.Replace(a.lines[i], ":", " :", 1)
		})},
		{name: "a header with a zero byte", want: doubtful, does: changed(func(a *answer) { a.lines = append(a.lines, "Da\x00te: now") })},
		{name: "a first header line that goes on", want: doubtful, does: changed(func(a *answer) { a.lines = append([]string{" Date: now"}, a.lines...) })},
	}
}

func hostileEndings() []hostile {
	closing := func(format string, args ...any) func(*heard) {
		return func(h *heard) { raw(format, args...)(h); h.Close() }
	}
	reset := func(c net.Conn) bool {
		if secured, ok := c.(*tls.Conn); ok {
			c = secured.NetConn()
		}
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
		return true
	}
	const page = "<html><body>ok</body></html>\r\n\r\n"
	return []hostile{
		{name: "silence", want: overdue, slow: true, does: func(*heard) {}},
		{name: "silence, and the call not read", want: overdue, slow: true, accept: func(c net.Conn) bool {
			time.Sleep(2 * short) // the far end's, not before an assertion
			return true
		}},
		{name: "closed after the call", want: broken, does: func(h *heard) { h.Close() }},
		{name: "closed before the call", want: "closed@answer|reset@answer|reset@call|closed@call", accept: func(c net.Conn) bool { return true }},
		{name: "reset after the call", want: "reset@answer", does: func(h *heard) { reset(h.Conn) }},
		{name: "half a status line", want: doubtful, does: closing("HTTP/1.1 20")},
		{name: "a status line alone", want: broken, does: closing("HTTP/1.1 200 OK\r\n")},
		{name: "half a header", want: broken, does: closing("HTTP/1.1 200 OK\r\nContent-Type: appl")},
		{name: "half a header, then silence", want: overdue, slow: true, does: raw("HTTP/1.1 200 OK\r\nContent-Type: appl")},
		{name: "half a body", want: broken, does: func(h *heard) {
			all := h.signs(h.says(StatusAccepted, nil)).bytes()
			h.Write(all[:len(all)-20])
			h.Close()
		}},
		{name: "an empty line", want: doubtful, does: closing("\r\n\r\n")},
		{name: "garbage", want: doubtful, does: closing("\x00\x01\x02\xff\xfe\n\n")},
		{name: "HTTP/0.9", want: doubtful, does: closing(page)},
		{name: "the preface of HTTP/2", want: doubtful, does: closing("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
		{name: "a frame of HTTP/2", want: doubtful, does: closing("\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n")},
		{name: "another protocol's greeting", want: doubtful, does: closing("220 mail.example ESMTP\r\n")},
		{name: "a status of four digits", want: doubtful, does: closing("HTTP/1.1 2000 OK\r\n\r\n")},
		{name: "a status that is none", want: doubtful, does: closing("HTTP/1.1 two OK\r\n\r\n")},
		{name: "a status below zero", want: doubtful, does: closing("HTTP/1.1 -20 OK\r\n\r\n")},
		{name: "a slow drip", want: overdue, slow: true, does: func(h *heard) {
			for _, b := range h.signs(h.says(StatusAccepted, nil)).bytes() {
				if _, err := h.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(short / 50)
			}
		}},
	}
}

// packed is 16 MiB of nothing, packed.
var packed = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for range 16 {
		must1(w.Write(make([]byte, 1<<20)))
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
})

// endless repeats a text until nobody listens.
func endless(before, text string) func(*heard) {
	block := []byte(strings.Repeat(text, 1+(16<<10)/len(text)))
	return func(h *heard) {
		_, err := h.Write([]byte(before))
		for err == nil {
			_, err = h.Write(block)
		}
	}
}

func bombs() []hostile {
	const ok = "HTTP/1.1 200 OK\r\n"
	packed() // made before anybody measures
	long := []byte(ok + "Name: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")
	bomb := func(name, want string, does func(*heard)) hostile {
		return hostile{name: name, want: want, does: does, bomb: true}
	}
	return []hostile{
		bomb("a header without end", tooLong, endless(ok, "Name: value\r\n")),
		bomb("small headers without end", tooLong, endless(ok, "a:\r\n")),
		bomb("a status line without end", tooLong, endless("HTTP/1.1 200 ", "OK ")),
		bomb("a header line without end", tooLong, endless(ok+"Name: ", "value ")),
		bomb("a header line of a megabyte", tooLong, func(h *heard) { h.Write(long) }),
		bomb("a body without end", tooLong, endless(ok+"\r\n", "body ")),
		bomb("a body of a gigabyte", tooLong, endless(ok+"Content-Length: 1073741824\r\n\r\n", "body ")),
		bomb("chunks without end", tooLong, endless(ok+"Transfer-Encoding: chunked\r\n\r\n", "4\r\nbody\r\n")),
		bomb("a chunk's extension without end", doubtful+"|"+tooLong, endless(ok+"Transfer-Encoding: chunked\r\n\r\n4;", "x=y;")),
		bomb("a trailer without end", tooLong+"|"+doubtful, endless(ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "Name: value\r\n")),
		bomb("100 without end", doubtful, endless("", "HTTP/1.1 100 Continue\r\n\r\n")),
		bomb("103 without end", doubtful, endless("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")),
		bomb("line ends without end", doubtful, endless("", "\r\n")),
		bomb("a signed answer too long, then silence", tooLong, func(h *heard) {
			h.writes(h.signs(bytes.Repeat([]byte(" "), MaxAnswer+100)))
		}),
		bomb("a body too long, then silence", tooLong, raw("%sContent-Length: 1000000\r\n\r\n%s", ok, strings.Repeat("x", MaxAnswer+1))),
		bomb("gzip, signed", malformed, func(h *heard) {
			a := h.signs(packed())
			a.lines = append(a.lines, "Content-Encoding: gzip")
			h.writes(a)
		}),
		bomb("gzip, unsigned", doubtful, raw("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", ok, len(packed()), packed())),
	}
}
