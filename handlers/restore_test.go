package handlers

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"formledger/ledger"
	"formledger/ledger/ledgertest"
	"formledger/ledger/sqlledger"
)

// afterRestore is a kit whose ledger was restored just now, from a copy that was
// made before the given enquiries came. Its mail folder is empty.
func afterRestore(t *testing.T, before, since []uuid.UUID, change ...func(*options)) *kit {
	t.Helper()
	file, copied, restored := filepath.Join(t.TempDir(), "ledger.db"), filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "ledger.db")
	old := newKit(t, append(change, func(o *options) { o.ledger = file })...)
	postAll(old, before)
	_, err := sqlledger.Backup(t.Context(), file, copied)
	must(t, err)
	postAll(old, since)
	staged, err := sqlledger.Stage(t.Context(), copied, restored)
	must(t, err)
	_, _, err = staged.Put(context.Background(), ledger.Restoration{At: time.Now(), By: "ada", Note: "the disk had failed"})
	must(t, err)
	must(t, staged.Drop())
	return newKit(t, append(change, func(o *options) { o.ledger = restored })...)
}

func postAll(k *kit, ids []uuid.UUID) {
	k.t.Helper()
	for _, id := range ids {
		k.post(words(id)).want(k.t, http.StatusCreated, Accepted)
	}
	k.wantMails(len(k.mails()))
}

func TestPromise2_AfterARestoreNothingIsSentTwice(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		before, since := []uuid.UUID{newID(), uuid.New()}, []uuid.UUID{newID(), uuid.New(), newID()}
		k := afterRestore(t, before, since, under(p))
		for _, id := range before {
			k.post(words(id)).want(t, http.StatusOK, Accepted)
		}
		for range 2 {
			for _, id := range since {
				r := k.post(words(id))
				r.want(t, http.StatusConflict, Uncertain)
				if r.body.Reference == "" || r.body.Contact == "" || r.header.Get("Retry-After") != "" {
					t.Errorf("the visitor does not learn what to do: %s", r.text)
				}
				if got := k.receipt(id); got.body.Outcome != Uncertain {
					t.Errorf("the receipt says %s", got.text)
				}
			}
		}
		other := words(since[0])
		other["message"] = "something else"
		k.post(other).want(t, http.StatusConflict, Conflict)
		k.wantMails(0)
		rows, err := k.ledger.List(t.Context(), ledger.Filter{Needs: ledger.NeedsDisputed})
		must(t, err)
		if len(rows) != len(since) {
			t.Errorf("%d rows need somebody", len(rows))
		}
	}, ledger.Hold, ledger.Queue, ledger.Retry)
}

// A form without a script sends no ID, or one that the server has minted.
func TestAfterARestoreAFormWithoutAnIDIsUncertain(t *testing.T) {
	k := afterRestore(t, nil, nil)
	for range 2 {
		r := k.postForm(formWords(uuid.Nil))
		if r.status != http.StatusSeeOther {
			t.Fatalf("%d %s", r.status, r.text)
		}
		if got := k.do("GET", r.header.Get("Location"), "", ""); got.body.Outcome != Uncertain {
			t.Errorf("%s", got.text)
		}
	}
	k.wantMails(0)
}

func TestAfterARestoreWhatIsNewIsSentAndAfterItsEndEverything(t *testing.T) {
	forPolicies(t, func(t *testing.T, p ledger.Policy) {
		k := afterRestore(t, nil, nil, under(p))
		early := uuid.New()
		k.post(words(early)).want(t, http.StatusConflict, Uncertain)
		k.later(2 * time.Hour)
		k.post(words(ledgertest.IDAt(k.clock.now()))).want(t, http.StatusCreated, Accepted)
		k.post(words(uuid.New())).want(t, http.StatusConflict, Uncertain)
		k.wantMails(1)
		must(t, k.ledger.EndRestored(t.Context(), ledger.Restoration{At: k.clock.now(), By: "ada", Note: "all is found"}))
		k.post(words(uuid.New())).want(t, http.StatusCreated, Accepted)
		k.post(words(early)).want(t, http.StatusConflict, Uncertain)
		k.wantMails(2)
		notReceived(k, early)
		if p == ledger.Hold {
			k.post(words(early)).want(t, http.StatusCreated, Accepted)
		} else {
			eventually(t, "the courier has sent it", func() bool { return k.row(early).Status == ledger.Accepted })
		}
		k.post(words(early)).want(t, http.StatusOK, Accepted)
		k.wantMails(3)
	}, ledger.Hold, ledger.Queue)
}

func notReceived(k *kit, id uuid.UUID) {
	k.t.Helper()
	must(k.t, k.ledger.Decide(k.t.Context(), ledger.Decision{Seen: k.row(id), Kind: ledger.NotReceived, By: "ada", Note: "it is not there", At: k.clock.now()}))
}

// A forgotten enquiry is answered as before.
func TestPromise3_AForgottenEnquiryIsStillAnswered(t *testing.T) {
	k := newKit(t)
	accepted, closed := newID(), newID()
	postAll(k, []uuid.UUID{accepted})
	k.far.answering(refusal)
	k.post(words(closed)).want(t, http.StatusServiceUnavailable, NotSent)
	must(t, k.ledger.Decide(t.Context(), ledger.Decision{Seen: k.row(closed), Kind: ledger.Close, By: "ada", At: k.clock.now()}))
	k.post(words(closed)).want(t, http.StatusBadGateway, NotSent)
	n, err := k.ledger.Forget(t.Context(), ledger.Forgetting{Before: k.clock.now().Add(time.Hour), At: k.clock.now(), By: "ada"})
	must(t, err)
	if n != 2 {
		t.Errorf("%d rows", n)
	}
	k.post(words(accepted)).want(t, http.StatusOK, Accepted)
	k.post(words(closed)).want(t, http.StatusBadGateway, NotSent)
	for _, id := range []uuid.UUID{accepted, closed} {
		other := words(id)
		other["message"] = "something else"
		k.post(other).want(t, http.StatusConflict, Conflict)
	}
	r := k.receipt(accepted)
	if r.status != http.StatusOK || r.body.Outcome != Accepted || r.body.CreatedAt != "" || r.body.UpdatedAt != "" {
		t.Errorf("%s", r.text)
	}
	if page := k.do("GET", "/receipts/"+accepted.String(), "", "", "Accept", "text/html"); page.status != http.StatusOK {
		t.Errorf("%d", page.status)
	}
	k.wantMails(1)
}
