package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	blankID     = "00000000-0000-0000-0000-000000000000"
	blankSerial = "################" // 16 hexadecimal digits of the ID
)

// enquiryText is what a visitor writes. The serial makes the words of every
// enquiry its own.
const enquiryText = `{"submission_id":"` + blankID + `","name":"Ingrid Sørensen",` +
	`"email":"ingrid.` + blankSerial + `@example.com","services":["Repair","Advice"],` +
	`"message":"Good morning,\n\nour heating has made a knocking sound since Tuesday, mostly in the evening, ` +
	`and the two radiators upstairs stay cold. Could somebody have a look this week? We are at home every day ` +
	`after four o’clock, and on Friday from noon. The boiler's plate says ` + blankSerial + `.\n\nKind regards,\nIngrid Sørensen"}`

// request is one connection's own copy of a whole HTTP request, into which the
// ID and the serial are written in place.
type request struct {
	bytes   []byte
	id      int // where the ID stands
	serials []int
}

func newRequest(host string) *request {
	text := fmt.Sprintf("POST /f/contact HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nUser-Agent: formledger-bench\r\n"+
		"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		host, pageOrigin, len(enquiryText), enquiryText)
	r := &request{bytes: []byte(text), id: strings.Index(text, blankID)}
	for at := 0; ; {
		next := strings.Index(text[at:], blankSerial)
		if next < 0 {
			return r
		}
		r.serials = append(r.serials, at+next)
		at += next + len(blankSerial)
	}
}

// fill makes it the request of an ID: the same ID gives the same bytes.
func (r *request) fill(id uuid.UUID) {
	text, _ := id.MarshalText() // never fails
	copy(r.bytes[r.id:], text)
	for _, at := range r.serials {
		hex.Encode(r.bytes[at:at+len(blankSerial)], id[8:])
	}
}

// idText is the ID that the request holds.
func (r *request) idText() []byte { return r.bytes[r.id : r.id+len(blankID)] }

// randomID is a UUIDv4: RFC 9562 section 5.4.
func randomID(random *rand.ChaCha8) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// timeID is a UUIDv7 as browsers make it, random below the millisecond: RFC 9562
// section 5.7.
func timeID(random *rand.ChaCha8, now time.Time) uuid.UUID {
	id := randomID(random)
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|uint64(id[6]&0x0f|0x70)<<8|uint64(id[7]))
	return id
}
