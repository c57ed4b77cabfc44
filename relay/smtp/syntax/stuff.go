package syntax

import "bytes"

// WithCRLF ends every line with CRLF, and the last one too. A bare CR or LF
// becomes a line end, because that is what some servers take it for: if a
// message holds LF "." CRLF, they see its end where others see none, and take
// the rest for commands ("SMTP smuggling"; RFC 5321 section 2.3.8).
func WithCRLF(message []byte) []byte {
	out := make([]byte, 0, len(message)+2)
	for i, b := range message {
		switch {
		case b == '\n' && i > 0 && message[i-1] == '\r': // its CR has ended the line
		case b == '\r' || b == '\n':
			out = append(out, '\r', '\n')
		default:
			out = append(out, b)
		}
	}
	if !bytes.HasSuffix(out, []byte("\r\n")) {
		out = append(out, '\r', '\n')
	}
	return out
}

// Stuff puts a dot before each line that starts with one (RFC 5321 section
// 4.5.2), so that no line of a message is the dot that ends it.
func Stuff(lines []byte) []byte {
	out := make([]byte, 0, len(lines)+len(lines)/64)
	for line := range bytes.Lines(lines) {
		if line[0] == '.' {
			out = append(out, '.')
		}
		out = append(out, line...)
	}
	return out
}
