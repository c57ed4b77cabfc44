package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"formledger/ledger"
	"formledger/ledger/enquiry"
)

// outboxHeader stands at the top of the outbox keys.
const outboxHeader = `# Keys that seal the words in formledger's outbox: ID, state (use, verify or next),
# secret in base64. Keep this file apart from the database, and keep a copy:
# without it no message that waits can be read or sent.
`

func (c config) outboxStore() keyStore {
	return keyStore{"the outbox keys", envPrefix + "OUTBOX_KEYS", c.outboxText, c.OutboxKeys}
}

// keepsWords reports whether some form's messages wait in the outbox.
func (c config) keepsWords() bool {
	return slices.ContainsFunc(c.forms, keepsWords)
}

func keepsWords(f *enquiry.Form) bool { return ledger.Policy(f.Def().Policy).KeepsWords() }

// firstSeals opens the outbox keys, and makes them when the first form keeps words;
// nil seals mean that there is nothing to seal or to open. Beside words that the
// ledger keeps already it makes no new keys, and wants all that sealed them.
func (c config) firstSeals(kept []ledger.Kept) (*ledger.Seals, error) {
	if c.outboxStore().missing() && len(kept) == 0 && c.keepsWords() {
		k, err := ledger.NewKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		if err := writeFirst(c.OutboxKeys, outboxHeader+keyLine(k, inUse)); err != nil {
			return nil, err
		}
	}
	seals, err := c.openSeals()
	if err != nil {
		return nil, err
	}
	return seals, refuseSealed(kept, seals, c.outboxStore().place())
}

// openSeals opens the outbox keys; nil if there are none.
func (c config) openSeals() (*ledger.Seals, error) {
	if c.outboxStore().missing() {
		return nil, nil
	}
	ring, err := ringOf(c.outboxStore())
	if err != nil {
		return nil, err
	}
	return ledger.NewSeals(ring), nil
}

// refuseSealed is an error if words are kept that nobody here can unseal: they
// could not be sent, and the keys are most likely in a copy somewhere.
func refuseSealed(kept []ledger.Kept, seals *ledger.Seals, place string) error {
	rows := byKey(kept)
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if seals != nil && seals.Holds(key) {
			continue
		}
		faults = append(faults, fmt.Errorf("the words of %s in the ledger are sealed under the outbox key %s, which is not in %s: put the key back from its copy, or the words stay unreadable; if it is lost for good, close each with formledger resolve REFERENCE --close --wipe-words --note TEXT",
			messages(rows[key]), key, place))
	}
	return errors.Join(faults...)
}

// byKey counts messages by the key that sealed them.
func byKey(kept []ledger.Kept) map[string]int64 {
	rows := map[string]int64{}
	for _, k := range kept {
		rows[k.Key] += k.Rows
	}
	return rows
}

// refuseRemoved is an error if words are kept of a form that is not in the
// configuration any more: nobody would say where they are to be sent.
func refuseRemoved(kept []ledger.Kept, forms []*enquiry.Form) error {
	rows := map[string]int64{}
	for _, k := range kept {
		rows[k.Form] += k.Rows
	}
	for _, f := range forms {
		delete(rows, f.Def().Name)
	}
	var faults []error
	for _, form := range slices.Sorted(maps.Keys(rows)) {
		faults = append(faults, fmt.Errorf("the form %q is not in the configuration any more, and the ledger keeps the words of %s of it: put the form back until neither formledger list --form %[1]s --waiting nor formledger list --form %[1]s --needs any shows any, or close each with formledger resolve REFERENCE --close --wipe-words --note TEXT",
			form, messages(rows[form])))
	}
	return errors.Join(faults...)
}

func messages(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// keyLine is the line of a key in its file.
func keyLine(k ledger.Key, state keyState) string {
	return k.ID + " " + string(state) + " " + base64.StdEncoding.EncodeToString(k.Secret) + "\n"
}
