// Package maildir is the embedded relay: it puts a message into a folder that
// any mail program can read, by the steps of Daniel Bernstein's format
// (https://cr.yp.to/proto/maildir.html): written whole in tmp, synced, and only
// then moved into new.
//
// A file's name comes from the claim, so that one claim can never give two
// files. The files have LF line ends instead of the CRLF of RFC 5322: a folder
// holds mail as the system's own text, and its readers expect that.
package maildir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"formledger/relay"
)

const (
	suffix    = ".formledger"
	nameLabel = "formledger maildir v1"
)

// Sender delivers into one Maildir. It is safe for concurrent use, also by
// several processes on the same folder.
type Sender struct {
	dir string
	fs  filesystem
}

// New opens the Maildir at dir, makes what is missing of it (mode 0700), and
// tries each step of a delivery with an empty file that no mail program sees.
// An error names the folder and what could not be done there. What this package
// left unfinished in tmp more than 36 hours ago is removed, as the format wants.
func New(dir string) (*Sender, error) {
	return open(dir, disk{}, time.Now())
}

func open(dir string, fs filesystem, now time.Time) (*Sender, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("mail folder: %w", err)
	}
	f := folder{dir, fs}
	if err := f.prepare(now); err != nil {
		return nil, fmt.Errorf("mail folder %s: %w", dir, err)
	}
	return &Sender{dir: dir, fs: fs}, nil
}

// Send puts the message into new and syncs it. Accepted means that the file and
// its name are durable; the receipt is "maildir:" and the file's name. A claim
// whose file is there already, read or unread, is accepted without writing.
//
// Not sent is said of every failure before the rename, and of a rename that
// failed for a reason that excludes it. A rename that failed otherwise, and a
// name that could not be synced, are unknown: the file may be there, or be gone
// after a power cut. Both heal by themselves, so no verdict is permanent.
//
// A file system that hangs, such as a network one, hangs Send too: ctx is
// looked at before the first byte and before the rename.
func (s *Sender) Send(ctx context.Context, m relay.Mail, lease relay.Lease) relay.Verdict {
	if m.Claim.IsZero() {
		return relay.ProvenNotSent("no_claim", stageLook) // all such would share one name
	}
	d := &delivery{
		fs: s.fs, dir: s.dir, name: nameOf(m), ctx: ctx, lease: lease,
		content: bytes.ReplaceAll(m.Bytes, []byte("\r\n"), []byte("\n")),
	}
	for _, step := range []step{d.look, d.create, d.write, d.rename, d.sync} {
		if end := step(); end != nil {
			return *end
		}
	}
	return d.accepted()
}

// nameOf is the file's name, "<unix seconds of Date>.<from the claim>.formledger".
// The claim is a right, inside the ledger; in a folder that others read it
// stands hashed.
func nameOf(m relay.Mail) string {
	sum := sha256.Sum256(append([]byte(nameLabel), m.Claim[:]...))
	return fmt.Sprintf("%d.%s%s", m.Date.Unix(), hex.EncodeToString(sum[:16]), suffix)
}
