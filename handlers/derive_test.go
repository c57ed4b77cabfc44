package handlers

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/relay"
)

// static posts a form that knows nothing of IDs, from an address behind the
// proxy on this machine.
func (k *kit) static(address string, change ...func(url.Values)) reply {
	k.t.Helper()
	v := formWords(uuid.Nil)
	for _, c := range change {
		c(v)
	}
	return k.postForm(v, "X-Forwarded-For", address, "User-Agent", "Browser/1")
}

func TestOnePersonsReloadIsOneMail(t *testing.T) {
	k := newKit(t)
	first, again := k.static("198.51.100.1"), k.static("198.51.100.1")
	if first.status != 303 || first.header.Get("Location") != again.header.Get("Location") {
		t.Errorf("a reload leads to %q, the first post to %q", again.header.Get("Location"), first.header.Get("Location"))
	}
	k.wantMails(1)
	k.clock.move(9 * time.Minute)
	k.static("198.51.100.1")
	k.wantMails(1)
}

func TestTheSameWordsOfTwoPeopleAreTwoMails(t *testing.T) {
	k := newKit(t)
	k.static("198.51.100.1")
	k.static("198.51.100.2")
	k.wantMails(2)
	k.postForm(formWords(uuid.Nil), "X-Forwarded-For", "198.51.100.1", "User-Agent", "Browser/2")
	k.wantMails(3)
	k.static("198.51.100.1", func(v url.Values) { v.Set("message", "Other words") })
	k.wantMails(4)
}

func TestTheSameWordsADayLaterAreANewEnquiry(t *testing.T) {
	k := newKit(t)
	for day := range 3 {
		k.static("198.51.100.1")
		k.static("198.51.100.1")
		k.wantMails(day + 1)
		k.clock.move(24 * time.Hour)
	}
}

func TestAnOpenEnquiryIsAlwaysARepeat(t *testing.T) {
	k := newKit(t)
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	first := k.static("198.51.100.1").header.Get("Location")
	k.far.well()
	k.clock.move(48 * time.Hour)
	if again := k.static("198.51.100.1").header.Get("Location"); again != first || first == "" {
		t.Errorf("an uncertain enquiry leads to %q, then to %q", first, again)
	}
	k.wantMails(0)
}

func TestWhatWasNotSentKeepsItsDerivedID(t *testing.T) {
	k := newKit(t)
	k.far.answering(relay.ProvenNotSent("down", "dial"))
	r := k.static("198.51.100.1")
	shown := fieldsOf(r.page(t)).Get("submission_id")
	k.far.well()
	if sent := k.static("198.51.100.1"); sent.header.Get("Location") != "/receipts/"+shown {
		t.Errorf("the second try leads to %q, the ID shown was %q", sent.header.Get("Location"), shown)
	}
	k.wantMails(1)
}

func TestAClosedCaseDoesNotStandInTheWay(t *testing.T) {
	k := newKit(t)
	k.far.answering(relay.UnknownAfter("lost", "dot"))
	id := uuid.MustParse(strings.TrimPrefix(k.static("198.51.100.1").header.Get("Location"), "/receipts/"))
	must(t, k.ledger.Decide(t.Context(), ledger.Decision{Seen: k.row(id), Kind: ledger.Close, By: "ada", Note: "done", At: time.Now()}))
	k.far.well()
	k.static("198.51.100.1")
	k.wantMails(1)
}

func TestAReloadAcrossAKeyRotationIsARepeat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	before := newKit(t, func(o *options) { o.keys, o.ledger = oneKey, file })
	first := before.static("198.51.100.1").header.Get("Location")
	after := newKit(t, func(o *options) {
		o.ledger = file
		o.keys = strings.Replace(oneKey, "use", "verify", 1) + strings.Replace(otherKey, "verify", "use", 1)
	})
	if again := after.static("198.51.100.1").header.Get("Location"); again != first {
		t.Errorf("the reload leads to %q, the first post to %q", again, first)
	}
	after.wantMails(0)
}

// Only a proxy of ours is believed, and only what it says itself.
func TestAForgedAddressIsNotBelieved(t *testing.T) {
	k := newKit(t)
	k.static("203.0.113.9, 198.51.100.1")
	k.static("203.0.113.8, 198.51.100.1")
	k.wantMails(1)
}
