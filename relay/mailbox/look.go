package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"slices"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// search looks into one folder. A refusal is about this folder alone; what was
// found by then comes with it.
func (s *session) search(folder, id string) ([]Mail, error) {
	s.stage = atSearch
	if _, err := s.client.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		return nil, s.notOpened(err)
	}
	for _, text := range []string{"<" + id + ">", id} {
		found, err := s.look(text, id)
		for i := range found {
			found[i].Folder = folder
		}
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// look searches for a text, and takes the hits whose Message-ID is the whole id.
// Message sequence numbers serve, and not UIDs: go-imap loses a mail if the
// server puts the UID behind the field that was asked for, and no number can
// change between these two commands (RFC 9051 section 7.5.1).
func (s *session) look(text, id string) ([]Mail, error) {
	header := []imap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: text}}
	data, err := s.client.Search(&imap.SearchCriteria{Header: header}, nil).Wait()
	if err != nil {
		return nil, s.notSearched(err)
	}
	hits, n, all, err := newest(data.All)
	if err != nil {
		return nil, s.failure(err)
	}
	if n == 0 {
		return nil, nil
	}
	found, shown, err := s.compare(hits, id)
	switch {
	case err != nil:
		return found, s.notSearched(err)
	case !all:
		return found, refusal(fmt.Sprintf("The server finds too many mails here: only the newest %d were compared.", maxHits))
	case shown < n:
		return found, refusal(fmt.Sprintf("The server has %d hits here, and showed the Message-ID of %d.", n, shown))
	}
	return found, nil
}

// newest takes the last of the hits. A set may hold ranges of any length in a
// few octets, and "*" is no message.
func newest(set imap.NumSet) (hits imap.SeqSet, n int, all bool, err error) {
	if set == nil {
		return nil, 0, true, nil
	}
	ranges, ok := set.(imap.SeqSet)
	if !ok || ranges.Dynamic() {
		return nil, 0, false, errNotIMAP
	}
	for _, r := range slices.Backward(ranges) {
		for number := r.Stop; number >= r.Start && number > 0; number-- {
			if n == maxHits {
				return hits, n, false, nil
			}
			hits.AddNum(number)
			n++
		}
	}
	return hits, n, true, nil
}

// compare fetches the Message-ID field of the hits, unread as they are, and
// nothing else of their text: not the envelope, which holds names and subject.
func (s *session) compare(hits imap.SeqSet, id string) (found []Mail, shown int, err error) {
	field := &imap.FetchItemBodySection{Specifier: imap.PartSpecifierHeader, HeaderFields: []string{"Message-ID"}, Peek: true}
	options := &imap.FetchOptions{UID: true, InternalDate: true, RFC822Size: true, BodySection: []*imap.FetchItemBodySection{field}}
	answers := s.client.Fetch(hits, options)
	for message := answers.Next(); message != nil; message = answers.Next() {
		mail, header, err := s.read(message)
		if err != nil {
			return found, shown, err // not to be drained, see read
		}
		if header != nil {
			shown++
		}
		if carries(header, id) {
			found = append(found, mail)
		}
	}
	return found, shown, answers.Close()
}

// read takes what the server says of one mail; header is nil if it says nothing.
// A literal is read to its last octet and no further: go-imap's own way reads
// again after the end, by then side by side with its reader. After an error
// nothing more comes from the wire, and nothing must be asked of go-imap.
func (s *session) read(message *imapclient.FetchMessageData) (mail Mail, header []byte, err error) {
	for item := message.Next(); item != nil; item = message.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			mail.UID = uint32(item.UID)
		case imapclient.FetchItemDataInternalDate:
			mail.Arrived = item.Time
		case imapclient.FetchItemDataRFC822Size:
			mail.Size = item.Size
		case imapclient.FetchItemDataBodySection:
			if item.Section.Specifier != imap.PartSpecifierHeader {
				continue
			}
			if header, err = s.readLiteral(item.Literal); err != nil {
				return mail, nil, err
			}
		}
	}
	return mail, header, nil
}

// readLiteral ends the connection where a field is far too long, and lets
// go-imap's reader see that.
func (s *session) readLiteral(literal imap.LiteralReader) ([]byte, error) {
	if literal == nil {
		return []byte{}, nil // NIL: the mail has no such field
	}
	field := make([]byte, min(literal.Size(), maxField))
	if _, err := io.ReadFull(literal, field); err != nil {
		return nil, err
	}
	if literal.Size() > maxField {
		s.wire.fail(errTooMuch)
		io.Copy(io.Discard, literal)
		return nil, errTooMuch
	}
	return field, nil
}

// carries reports whether a Message-ID field, unfolded, is this very ID. An
// error of the reader is about what follows the fields that it has read.
func carries(header []byte, id string) bool {
	fields, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(header))).ReadMIMEHeader()
	return slices.Contains(fields.Values("Message-ID"), "<"+id+">")
}

// refusal is what a server says no to, about one folder, as a sentence.
type refusal string

func (r refusal) Error() string { return string(r) }

func refused(err error) bool {
	_, ok := errors.AsType[*imap.Error](err)
	return ok
}

// notOpened: NONEXISTENT is of RFC 5530 section 3.
func (s *session) notOpened(err error) error {
	no, ok := errors.AsType[*imap.Error](err)
	switch {
	case !ok:
		return s.failure(err)
	case hasCode(no, imap.ResponseCodeNonExistent):
		return refusal("The mailbox has no folder of this name." + s.said(err))
	}
	return refusal("The server does not open this folder." + s.said(err))
}

func (s *session) notSearched(err error) error {
	if !refused(err) {
		return s.failure(err)
	}
	return refusal("The server does not search this folder by Message-ID." + s.said(err))
}
