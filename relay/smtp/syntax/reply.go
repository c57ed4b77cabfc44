package syntax

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// RFC 5321 section 4.5.3.1.5 allows a reply line 512 octets; servers write
// longer ones.
const (
	maxReply      = 64 << 10
	maxReplyLine  = 2 << 10
	maxReplyLines = 100
)

// Errors of a reply that is none.
var (
	ErrTooLong = errors.New("the reply is too long")
	ErrGarbage = errors.New("not a reply of SMTP")
)

// Reply is one whole reply of the server.
type Reply struct {
	Code  int
	Lines []string // without the code
}

// Class is the first digit, by which RFC 5321 section 4.3.2 has a client go.
func (r Reply) Class() int { return r.Code / 100 }

// Refusal reports whether the server has said no, for now or for good.
func (r Reply) Refusal() bool { return r.Class() == 4 || r.Class() == 5 }

// String is the reply in one line.
func (r Reply) String() string {
	return strings.TrimSpace(strconv.Itoa(r.Code) + " " + strings.Join(r.Lines, " "))
}

// ReadReply reads one reply, which is complete only with the line end of its
// last line. All its lines have to carry the same code (RFC 5321 section 4.2.1).
// Errors are ErrTooLong, ErrGarbage, and those of the reader.
func ReadReply(from *bufio.Reader) (Reply, error) {
	var r Reply
	for total := 0; ; {
		line, err := from.ReadSlice('\n')
		total += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return Reply{}, ErrTooLong
		case err != nil:
			return Reply{}, err
		case len(line) > maxReplyLine || len(r.Lines) == maxReplyLines || total > maxReply:
			return Reply{}, ErrTooLong
		}
		code, more, text, ok := parseReplyLine(bytes.TrimRight(line, "\r\n"))
		if !ok || r.Code != 0 && code != r.Code {
			return Reply{}, ErrGarbage
		}
		r.Code, r.Lines = code, append(r.Lines, text)
		if !more {
			return r, nil
		}
	}
}

// parseReplyLine reads "250-text", "250 text", "250 " or "250".
func parseReplyLine(line []byte) (code int, more bool, text string, ok bool) {
	if len(line) < 3 || line[0] < '1' || line[0] > '5' || !digit(line[1]) || !digit(line[2]) {
		return 0, false, "", false
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) == 3 {
		return code, false, "", true
	}
	if line[3] != ' ' && line[3] != '-' {
		return 0, false, "", false
	}
	return code, line[3] == '-', string(line[4:]), true
}

func digit(b byte) bool { return '0' <= b && b <= '9' }
