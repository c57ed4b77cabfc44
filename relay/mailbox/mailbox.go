// Package mailbox looks for a mail in an IMAP mailbox by its Message-ID, so
// that an operator need not settle an uncertain reference from memory.
//
// What it finds is proof that the mail arrived. What it does not find proves
// nothing: a rule may have filed the mail elsewhere, somebody may have deleted
// it, and servers search in their own ways. So a Result names the folders that
// were searched, and those that were not.
//
// The search reads only: EXAMINE instead of SELECT, and BODY.PEEK instead of
// BODY, so that no flag changes (RFC 9051 sections 6.3.3 and 6.4.5), not even
// \Recent. Of each hit it fetches the Message-ID field, the arrival time and the
// size, and never a word of the mail.
//
// SEARCH HEADER matches substrings, whatever their case (RFC 9051 section
// 6.4.4), so every hit's whole Message-ID is compared. Servers depart from that
// rule too:
//
//   - Some match whole values only, and it is not always clear whether the angle
//     brackets belong to them (Yandex: ikvk/imap_tools#170). If nothing comes of
//     the ID in brackets, the bare ID is searched as well, in a second command:
//     Yahoo has refused header searches under one OR (mscdex/node-imap#737).
//   - Gmail misses IDs that begin with "!&!" (jstedfast/MailKit#647). Ours do not.
//   - Yahoo has answered header searches with NO [SERVERBUG] too
//     (jstedfast/MailKit#1055), and iCloud with a parse error
//     (mscdex/node-imap#775): such a folder is skipped, with the server's words.
//   - Exchange searches in US-ASCII only ([MS-STANXIMAP] section 2.2.24, V0037).
//     Exchange Online has switched logins by password off.
package mailbox

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"time"
)

// The modes of TLS.
const (
	Implicit = "implicit" // from the first byte (RFC 8314); port 993
	StartTLS = "starttls" // in the conversation, always; port 143
	None     = "none"     // not at all; port 143, and only on this machine
)

const (
	defaultTimeout = 30 * time.Second
	maxFolders     = 50
	maxHits        = 100      // of one search in one folder; the newest are looked at
	maxField       = 64 << 10 // octets of a Message-ID field
)

// Config is how the mailbox is reached.
type Config struct {
	Host string // name or IP address; its certificate has to carry it
	Port int    // 0: 993 or 143, by TLS
	TLS  string // empty: Implicit

	Username, Password string
	RootCAs            *x509.CertPool // nil: those of the system

	// Folders are the names as people see them. Empty: the inbox, and the
	// folders for junk, archived, all and deleted mail, because a mail that
	// somebody has filed or thrown away has arrived. Not the folder for sent
	// mail: a copy there tells that it left, and not that it arrived.
	Folders []string

	Timeout time.Duration // of the whole search; 0: 30 s
}

// Result is what a search has found, and how far it came.
type Result struct {
	Found    []Mail    // those whose whole Message-ID is the one that was asked for
	Searched []string  // the folders that were searched whole
	Skipped  []Skipped // the folders that could not be, and why
}

// Mail is one hit. Where folders overlap, as labels do at Gmail, one mail is
// found in each of them; twice in one folder means that it arrived twice.
type Mail struct {
	Folder  string
	UID     uint32
	Arrived time.Time // by the server's clock (INTERNALDATE)
	Size    int64     // octets
}

// Skipped is a folder that was not searched whole.
type Skipped struct {
	Folder string
	Reason string // a sentence for the operator
}

// Search looks for one Message-ID, with or without its angle brackets, in each
// folder. The error is a *Failure, or what Check finds, or that messageID is
// none. If the connection fails underway, the Result still holds what was found
// before, and every folder that was not reached among the skipped.
func (c Config) Search(ctx context.Context, messageID string) (Result, error) {
	id, err := bare(messageID)
	if err != nil {
		return Result{}, err
	}
	if c, err = c.complete(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s, err := c.open(ctx)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	folders, err := s.folders()
	if err != nil {
		return Result{}, err
	}
	return s.searchAll(folders, id)
}

// bare takes the angle brackets away. What is left goes into a quoted string,
// so only visible ASCII is let through (RFC 5322 section 3.6.4).
func bare(messageID string) (string, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(messageID, "<"), ">")
	if len(id) == 0 || len(id) > 900 || strings.ContainsAny(id, "<>") || !visibleASCII(id) {
		return "", errors.New("the Message-ID to look for must be one ID in visible ASCII, like <left@right>")
	}
	return id, nil
}

// visibleASCII reports whether there is nothing but visible ASCII, no space.
func visibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// searchAll goes through the folders. What the server refuses costs one folder;
// a connection that fails costs all that are left.
func (s *session) searchAll(folders []string, id string) (Result, error) {
	var r Result
	for i, folder := range folders {
		if i == maxFolders {
			r.skip(folders[i:], "A search goes through 50 folders at most: name the ones that matter in the configuration.")
			break
		}
		found, err := s.search(folder, id)
		r.Found = append(r.Found, found...)
		var no refusal
		switch {
		case err == nil:
			r.Searched = append(r.Searched, folder)
		case errors.As(err, &no):
			r.skip(folders[i:i+1], string(no))
		default:
			r.skip(folders[i:], err.Error())
			return r, err
		}
	}
	return r, nil
}

func (r *Result) skip(folders []string, reason string) {
	for _, folder := range folders {
		r.Skipped = append(r.Skipped, Skipped{folder, reason})
	}
}
