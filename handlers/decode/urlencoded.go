package decode

import (
	"bytes"
	"strings"
)

// decodeURLEncoded takes application/x-www-form-urlencoded (WHATWG URL, section
// 5.1), but strictly: what the standard would pass through or replace is
// refused. Only & separates.
func decodeURLEncoded(c *collector, body []byte) error {
	for pair := range bytes.SplitSeq(body, []byte("&")) {
		if len(pair) == 0 {
			continue
		}
		before, after, _ := bytes.Cut(pair, []byte("="))
		name, ok := unescape(before)
		if !ok {
			return malformed("The name of a field has a broken %%-escape; please encode the form as application/x-www-form-urlencoded.")
		}
		value, ok := unescape(after)
		if !ok {
			return malformed("The field %s has a broken %%-escape; please encode the form as application/x-www-form-urlencoded.", shown(name))
		}
		if err := c.add(name, value); err != nil {
			return err
		}
	}
	return nil
}

// unescape decodes %XX and +. It reports false for a % without two hex digits.
func unescape(s []byte) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b.WriteByte(' ')
		case '%':
			if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
				return "", false
			}
			b.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
