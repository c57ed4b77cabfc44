//go:build linux

package main

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"
)

// storm posts from many visitors at once, spread over the processes.
func storm(n int, on []*process, what func(i int) request) []attempt {
	got := make([]attempt, n)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i].answer, got[i].err = try(on[i%len(on)].base, what(i)) })
	}
	all.Wait()
	return got
}

func TestPromise2OneClaimOneCallOverTwoServers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	on := []*process{s.start(""), s.start("")}
	for round := range 3 {
		w := newWords()
		first := 0
		for _, got := range storm(64, on, func(int) request { return w.json() }) {
			must(t, got.err)
			if got.answer.is(http.StatusCreated, "accepted") {
				first++
			} else if !got.answer.replayed() {
				t.Errorf("a visitor got %v", got.answer)
			}
		}
		if first != 1 {
			t.Errorf("%d posts were sent, want 1", first)
		}
		s.wantMails(round + 1)
	}
	s.needsNobody()
}

func TestTwoContentsUnderOneIDOverTwoServers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	on := []*process{s.start(""), s.start("")}
	w := newWords()
	contents := [2]words{w, w}
	contents[1].Message = "something else"
	outcomes := [2]map[string]int{{}, {}}
	for i, got := range storm(64, on, func(i int) request { return contents[i/2%2].json() }) {
		must(t, got.err)
		outcomes[i/2%2][got.answer.Outcome]++
	}
	won := 0
	if outcomes[1]["accepted"] > 0 {
		won = 1
	}
	if outcomes[won]["accepted"] != 32 || outcomes[1-won]["conflict"] != 32 {
		t.Errorf("want 32 accepted of one content, and 32 conflicts of the other: %v", outcomes)
	}
	s.wantMails(1)
}

// Two processes start at once on an empty folder: one schema, one set of keys,
// and what one has accepted the other replays.
func TestTwoStartsAtOnceOnAnEmptyFolder(t *testing.T) {
	t.Parallel()
	for range 4 {
		s := newSite(t, "")
		args := []string{"serve", "--config", s.config, "--data", s.data, "--listen", "127.0.0.1:0"}
		var on []*process
		for range 3 {
			on = append(on, launch(t, s.dir, nil, args...))
		}
		for _, p := range on {
			p.serving()
		}
		w := newWords()
		on[0].post(w, http.StatusCreated, "accepted")
		on[1].replay(w)
		on[2].replay(w)
		s.wantMails(1)
		if keys := files(t, filepath.Join(s.data, "keys")); len(keys) != 1 {
			t.Errorf("the folder of the keys holds %d files", len(keys))
		}
		for _, p := range on {
			p.stop()
		}
	}
}

// Of many that make the keys at once, one wins, and all work with the same.
func TestKeysAreMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	for range 30 {
		dir := t.TempDir()
		file, ledgerFile := filepath.Join(dir, "keys", "payload-hash"), filepath.Join(dir, "formledger.db")
		hashes := [4]string{}
		var all sync.WaitGroup
		for i := range hashes {
			all.Go(func() {
				if err := makeKeys(file, ledgerFile); err != nil {
					t.Error(err)
				} else if keys, err := ringOf(keyStore{file: file}); err != nil {
					t.Error(err)
				} else {
					hashes[i] = keys.Hash([]byte("words"))
				}
			})
		}
		all.Wait()
		for _, h := range hashes {
			if h != hashes[0] {
				t.Fatalf("different keys: %v", hashes)
			}
		}
	}
}
