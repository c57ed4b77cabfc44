package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"formledger/handlers"
	"formledger/handlers/decode"
	"formledger/ledger"
	"formledger/ledger/enquiry"
	"formledger/relay"
)

// outbox is the child's courier, and what it is measured with.
type outbox struct {
	courier *relay.Courier
	form    *enquiry.Form
	keys    *ledger.KeyRing
	waiting int // of a backlog
	end     context.CancelFunc
	running sync.WaitGroup
}

// openOutbox makes the courier, and lets it run unless it is to find a backlog.
func (c *child) openOutbox(ctx context.Context, o options, config handlers.Config) error {
	form, patience := config.Forms[0], relay.DefaultPatience()
	patience.Senders = o.senders[0]
	c.outbox = &outbox{form: form, keys: config.Keys, end: func() {}}
	c.outbox.courier = relay.NewCourier(relay.CourierConfig{
		Ledger: c.ledger, Sender: &c.relay, Timing: config.Timing, Patience: patience, Seals: ledger.NewSeals(config.Keys),
		Envelopes: map[string]relay.Envelope{form.Def().Name: {From: form.Def().From, To: form.Def().To}},
		Now:       time.Now, Random: rand.Reader, Log: config.Log,
	})
	if o.server == modeBacklog {
		return c.outbox.fill(ctx, o.most)
	}
	c.outbox.run()
	return nil
}

func (b *outbox) run() {
	var ctx context.Context
	ctx, b.end = context.WithCancel(context.Background())
	b.running.Go(func() { b.courier.Run(ctx) })
}

func (b *outbox) close() {
	if b != nil {
		b.end()
		b.running.Wait()
	}
}

// fill stores messages that wait, as requests do whose courier is busy.
func (b *outbox) fill(ctx context.Context, n int) error {
	var all sync.WaitGroup
	errs := make([]error, fillConns)
	for i := range fillConns {
		all.Go(func() {
			for range share(n, fillConns, i) {
				if errs[i] == nil {
					errs[i] = b.store(ctx)
				}
			}
		})
	}
	all.Wait()
	b.waiting = n
	return oneOf(errs)
}

// store keeps one enquiry, as the handler does.
func (b *outbox) store(ctx context.Context) error {
	id := uuid.Must(uuid.NewV7())
	body := strings.NewReplacer(blankID, id.String(), blankSerial, id.String()[19:35]).Replace(enquiryText)
	raw, err := decode.Body("application/json", []byte(body), decode.Limits{Fields: 100})
	if err != nil {
		return err
	}
	e, problems := b.form.Check(raw)
	if len(problems) > 0 {
		return fmt.Errorf("the enquiry is not taken: %v", problems)
	}
	hash := b.keys.Hash(e.Canonical())
	messageID, err := b.keys.MessageID(id, hash)
	if err != nil {
		return err
	}
	row := ledger.Submission{ID: id, Reference: ledger.ReferenceOf(id), PayloadHash: hash, CreatedAt: time.Now()}
	stored, err := b.courier.Store(ctx, b.form.Def().Name, ledger.Queue, relay.Compose(b.form, e, row, messageID, benchWords()), nil)
	if err == nil && !stored.Fresh {
		err = fmt.Errorf("%s is there already", id)
	}
	return err
}

// benchWords are what a mail says beside the enquiry.
func benchWords() relay.Words {
	return relay.Words{Subject: "Enquiry", Further: "Further fields", NoName: "Without a name", Colon: ":",
		Reference: "Reference", SubmissionID: "Submission", CopyAddress: "Address"}
}

// drained lets the courier send the backlog, to its end.
func (c *child) drained(question string) error {
	if question != askDrain {
		return nil
	}
	c.outbox.run()
	for c.relay.calls.Load() < int64(c.outbox.waiting) {
		time.Sleep(time.Millisecond)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		kept, err := c.ledger.Kept(context.Background())
		if err != nil || len(kept) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the courier has left messages: %+v", kept)
		}
	}
}
