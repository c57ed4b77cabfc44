package mailbox

import (
	"slices"
	"strings"

	"github.com/emersion/go-imap/v2"
)

// folders are the names to search, in the order in which a hit is likely.
func (s *session) folders() ([]string, error) {
	s.stage = atFolders
	names := slices.Clone(s.config.Folders)
	if len(names) == 0 {
		listed, err := s.client.List("", "*", s.listOptions()).Collect()
		if err != nil {
			return nil, s.failure(err)
		}
		names = choose(listed)
	}
	return distinct(names), s.speakUTF8(names)
}

// listOptions ask for what the folders are for (RFC 6154 section 2). Not every
// server understands that; many say it anyway.
func (s *session) listOptions() *imap.ListOptions {
	if s.caps.Has(imap.CapIMAP4rev2) || s.caps.Has(imap.CapListExtended) && s.caps.Has(imap.CapSpecialUse) {
		return &imap.ListOptions{ReturnSpecialUse: true}
	}
	return nil
}

// speakUTF8 turns IMAP4rev2 on where a name needs it: go-imap writes names in
// UTF-8 to every server that knows IMAP4rev2, but the server expects that only
// from then on (RFC 9051 section 6.3.1). The folders are listed before, because
// go-imap takes every name in a list for UTF-7 (emersion/go-imap#610).
func (s *session) speakUTF8(names []string) error {
	if !s.caps.Has(imap.CapIMAP4rev2) || !slices.ContainsFunc(names, func(n string) bool { return !visibleASCII(strings.ReplaceAll(n, " ", "")) }) {
		return nil
	}
	s.wire.expectEnabled(true)
	defer s.wire.expectEnabled(false)
	_, err := s.client.Enable(imap.CapIMAP4rev2).Wait()
	if err != nil && !refused(err) {
		return s.failure(err)
	}
	return nil
}

// distinct keeps the order. The inbox has one name, in any case (RFC 9051
// section 5.1).
func distinct(names []string) []string {
	var all []string
	for _, name := range names {
		if strings.EqualFold(name, "INBOX") {
			name = "INBOX"
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// role is what a folder is for: a mark of RFC 6154, and what such folders are
// usually called where nobody has set the mark.
type role struct {
	mark  imap.MailboxAttr
	names string // lower case, between bars
}

func roles() []role {
	return []role{
		{imap.MailboxAttrJunk, "|junk|spam|junk mail|junk e-mail|junk email|junk-e-mail|bulk|bulk mail|spamverdacht|werbung|unerwünscht|indésirables|courrier indésirable|pourriel|correo no deseado|posta indesiderata|ongewenste e-mail|"},
		{imap.MailboxAttrAll, "|all mail|alle nachrichten|tous les messages|todos|tutti i messaggi|alle berichten|"},
		{imap.MailboxAttrArchive, "|archive|archives|archiv|archivo|archivio|archief|"},
		{imap.MailboxAttrTrash, "|trash|bin|deleted|deleted items|deleted messages|papierkorb|gelöscht|gelöschte elemente|gelöschte objekte|corbeille|éléments supprimés|papelera|elementos eliminados|cestino|posta eliminata|prullenbak|verwijderde items|"},
	}
}

// choose takes the inbox and, role by role, the folders that have the mark or
// the name, and those below an archive: mail programs make one for each year.
func choose(listed []*imap.ListData) []string {
	names := []string{"INBOX"}
	for _, r := range roles() {
		var tops []string
		for _, l := range listed {
			below := r.mark == imap.MailboxAttrArchive && slices.ContainsFunc(tops, func(top string) bool { return isBelow(l, top) })
			if !r.fits(l) && !below {
				continue
			}
			tops = append(tops, l.Mailbox)
			if !slices.Contains(l.Attrs, imap.MailboxAttrNoSelect) && !slices.Contains(l.Attrs, imap.MailboxAttrNonExistent) {
				names = append(names, l.Mailbox)
			}
		}
	}
	return names
}

// fits looks at the mark, or at the name without the folders above it: Courier
// has "INBOX.Junk", Gmail "[Gmail]/Spam".
func (r role) fits(l *imap.ListData) bool {
	name := l.Mailbox
	if l.Delim != 0 {
		name = name[strings.LastIndex(name, string(l.Delim))+1:]
	}
	return slices.Contains(l.Attrs, r.mark) || strings.Contains(r.names, "|"+strings.ToLower(name)+"|")
}

func isBelow(l *imap.ListData, top string) bool {
	return l.Delim != 0 && strings.HasPrefix(l.Mailbox, top+string(l.Delim))
}
