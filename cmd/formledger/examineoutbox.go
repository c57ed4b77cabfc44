package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
)

// examineOutbox looks at the outbox keys, and at what the ledger keeps under them.
// A ledger that cannot be read has its own line.
func examineOutbox(ctx context.Context, cfg config) []finding {
	kept, _ := cfg.kept(ctx)
	var all []finding
	if err := refuseRemoved(kept, cfg.forms); err != nil {
		all = append(all, fail("removed forms", err.Error(), "the next start is refused until then"))
	}
	store := cfg.outboxStore()
	switch {
	case store.missing() && len(kept) == 0 && !cfg.keepsWords():
		return all
	case store.missing() && len(kept) == 0:
		return append(all, notMade("outbox keys", filepath.Dir(store.file)))
	}
	return append(all, examineSeals(cfg, kept))
}

func examineSeals(cfg config, kept []ledger.Kept) finding {
	const subject = "outbox keys"
	store := cfg.outboxStore()
	seals, err := cfg.openSeals()
	if err == nil {
		err = refuseSealed(kept, seals, store.place())
	}
	if err != nil {
		return fail(subject, err.Error(), "put the key file back from its copy, readable by formledger alone")
	}
	held := []string{}
	for key, rows := range byKey(kept) {
		held = append(held, fmt.Sprintf("%s holds the words of %s", key, messages(rows)))
	}
	slices.Sort(held)
	if len(held) == 0 {
		held = []string{"no words are kept"}
	}
	return ok(subject, fmt.Sprintf("in %s; %s; keep a copy apart from the ledger", store.place(), strings.Join(held, ", ")))
}

// examinePolicy names what a policy other than hold costs.
func examinePolicy(d enquiry.Definition, p relay.Patience) []finding {
	subject := fmt.Sprintf("form %s, policy", d.Name)
	switch ledger.Policy(d.Policy) {
	case ledger.Queue:
		var all time.Duration
		for _, pause := range p.Queue.Pauses {
			all += pause
		}
		return []finding{ok(subject, fmt.Sprintf("queue: words are kept, sealed; %d attempts within %s, and none after an unknown outcome", len(p.Queue.Pauses)+1, all))}
	case ledger.Retry:
		return []finding{ok(subject, fmt.Sprintf("retry: words are kept, sealed; it sends again after an unknown outcome too, so duplicates are possible, and stops after %d failures or %d claims, so a message may be missing", p.Retry.Attempts, p.Retry.Claims))}
	}
	return nil
}
