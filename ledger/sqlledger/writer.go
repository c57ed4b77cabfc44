package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"formledger/ledger"
	"formledger/ledger/sqlfile"
)

// write is one caller's work inside a shared transaction.
type write struct {
	do     func(*transaction) error
	atomic bool // several statements that stand or fall together
	// between is work between two transactions, in place of do
	between func(*writer) error
	err     error
	done    chan struct{}
}

// errClosed is what a write gets that comes after Close.
var errClosed = errors.New("the ledger is closed")

// writer is the one goroutine that writes. See the package comment.
type writer struct {
	db       *sql.DB
	maxBatch int
	log      *slog.Logger
	queue    chan *write
	stopped  chan struct{} // closed when the goroutine has ended

	mu     sync.RWMutex // guards closed against sends on queue
	closed bool

	broken     chan struct{} // closed on an error that only a restart cures
	brokenOnce sync.Once
	cause      error

	tx    *transaction // nil: no connection at the moment
	crowd float64      // the largest batch of late

	notes
}

func newWriter(db *sql.DB, o Options) *writer {
	return &writer{
		db: db, maxBatch: o.MaxBatch, log: o.Log,
		queue:   make(chan *write, 4*o.MaxBatch),
		stopped: make(chan struct{}),
		broken:  make(chan struct{}),
		notes:   notes{untidy: true},
	}
}

// start opens the connection, makes the schema, and begins to take writes.
func (w *writer) start(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	err = migrate(ctx, conn)
	conn.Close()
	if err != nil {
		return err
	}
	if w.tx, err = connect(w.db, &w.notes); err != nil {
		return err
	}
	if w.restored, err = w.tx.pendingRestore(); err != nil {
		w.tx.close()
		return err
	}
	go w.run()
	return nil
}

// submit hands a write over and waits for its commit. After an error, and also
// when the context ends first, the write may have happened all the same.
func (w *writer) submit(ctx context.Context, op *write) error {
	op.done = make(chan struct{})
	if err := w.enqueue(ctx, op); err != nil {
		return err
	}
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the ledger: %w", ctx.Err())
	}
}

func (w *writer) enqueue(ctx context.Context, op *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil { // select would choose at random
		return fmt.Errorf("nothing was handed to the ledger: %w", err)
	}
	select {
	case w.queue <- op:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a place in the ledger's queue: %w", ctx.Err())
	}
}

// close finishes what was handed over, and ends the goroutine.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.stopped
	return w.db.Close()
}

func (w *writer) run() {
	defer close(w.stopped)
	batch := make([]*write, 0, w.maxBatch)
	for op := range w.queue {
		batch = w.gather(w.drain(append(batch[:0], op)))
		err := w.commit(batch)
		if err != nil {
			err = w.recover(err)
		}
		w.answer(batch, err)
	}
	w.end()
}

// answer tells every caller of a batch what the commit brought. Whoever asked
// for work between two transactions comes last, and keeps nobody waiting.
func (w *writer) answer(batch []*write, err error) {
	for _, op := range batch {
		if err != nil {
			op.err = err
		}
		if err != nil || op.between == nil {
			close(op.done)
		}
	}
	for _, op := range batch {
		if err == nil && op.between != nil {
			op.err = w.apart(op.between)
			close(op.done)
		}
	}
}

// apart does work on the writer's connection outside a transaction.
func (w *writer) apart(work func(*writer) error) error {
	if err := w.reconnect(); err != nil {
		return err
	}
	if err := work(w); err != nil {
		return w.recover(err)
	}
	return nil
}

// end leaves no wiped words in the log, where another process keeps it.
func (w *writer) end() {
	if w.tx != nil && !w.isBroken() {
		if err := w.tidy(); err != nil {
			w.log.Warn("the ledger's log was not emptied", "error", err.Error())
		}
	}
	w.tx.close()
}

// drain takes what is waiting already: while one transaction is being synced the
// next batch gathers by itself. Only callers
// who could go on at once, and have just not got a processor, go first: their
// writes then share this commit.
func (w *writer) drain(batch []*write) []*write {
	for yielded := false; len(batch) < w.maxBatch; {
		select {
		case op, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, op)
		default:
			if yielded {
				return batch
			}
			runtime.Gosched()
			yielded = true
		}
	}
	return batch
}

// When it pays to wait for more writes. The callers of a small batch are likely
// to be all that there are, and each of them would wait for nothing; a large one
// shows that others are about to come, and a sync costs the same for many.
// PostgreSQL's commit_siblings and commit_delay rest on the same thought.
const (
	crowdFrom  = 20                   // writes in one batch that show a crowd
	crowdFull  = 32                   // writes that share a sync well enough
	crowdWait  = 4 * time.Millisecond // at most, for the first of them
	crowdDecay = 1 - 1.0/64           // of what is remembered, with each batch
)

// gather waits for a fuller batch while a crowd is there. Mails that take their
// time between claim and settle would else come to the disk one by one.
func (w *writer) gather(batch []*write) []*write {
	if w.crowd >= crowdFrom && len(batch) < crowdFull {
		timer := time.NewTimer(crowdWait)
		defer timer.Stop()
		batch = w.fill(batch, timer.C)
	}
	w.crowd = max(float64(len(batch)), w.crowd*crowdDecay)
	return batch
}

func (w *writer) fill(batch []*write, over <-chan time.Time) []*write {
	for len(batch) < min(crowdFull, w.maxBatch) {
		select {
		case op, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, op)
		case <-over:
			return batch
		}
	}
	return batch
}

// commit carries out a batch in one transaction. Its error is that of every
// caller: nobody is told of a success that is not durable.
func (w *writer) commit(batch []*write) error {
	if w.isBroken() {
		return w.cause
	}
	if err := w.reconnect(); err != nil {
		return err
	}
	if err := w.tx.begin(); err != nil {
		return err
	}
	for _, op := range batch {
		if op.do == nil {
			continue
		}
		if op.err = w.tx.carry(op); endsTransaction(op.err) {
			return op.err
		}
	}
	return w.tx.commit()
}

func (w *writer) reconnect() error {
	if w.tx != nil {
		return nil
	}
	tx, err := connect(w.db, &w.notes)
	if err != nil {
		return err
	}
	w.tx = tx
	return nil
}

// recover gives up the connection after a failed transaction: the next batch
// starts on a fresh one, with no leftover of this. After an I/O error pages that
// were not written can look clean, so nothing of this process is trusted any
// more. Source: https://www.sqlite.org/atomiccommit.html and the fsync studies
// (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
func (w *writer) recover(cause error) error {
	w.log.Error("ledger transaction failed", "error", cause.Error())
	w.tx.discard()
	w.tx = nil
	return w.notice(cause)
}

// notice looks at an error, of a reader too, and returns the one to pass on.
func (w *writer) notice(err error) error {
	if !sqlfile.Broken(err) {
		return err
	}
	w.brokenOnce.Do(func() {
		w.cause = fmt.Errorf("%w: %w", ledger.ErrBroken, err)
		close(w.broken)
	})
	return w.cause
}

func (w *writer) isBroken() bool {
	select {
	case <-w.broken:
		return true
	default:
		return false
	}
}
