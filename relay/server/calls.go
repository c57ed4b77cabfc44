package server

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"formledger/ledger/sqlfile"
)

// Calls is the memory of a relay: what became of every claim. It is safe for
// concurrent use.
type Calls struct {
	db    *sql.DB // of one connection
	epoch string

	broken chan struct{} // closed on an error that only a restart cures
	once   sync.Once
	cause  error // to be read once broken is closed

	// commit is where tests make a write fail, and fail although it happened.
	commit func(step string, tx *sql.Tx) error
}

var (
	errBroken = errors.New("the relay's memory cannot be trusted any more; the process has to end")
	errUnseen = errors.New("the claim was never seen")
)

// uncancelled is for every statement: one that is cancelled rolls its
// transaction back, and the next would commit outside of it.
var uncancelled = context.Background()

func newCalls(db *sql.DB, epoch string) *Calls {
	return &Calls{db: db, epoch: epoch, broken: make(chan struct{}),
		commit: func(_ string, tx *sql.Tx) error { return tx.Commit() }}
}

// Epoch is the name of this memory, random and made with it. A form server
// stores it with each claim: after the loss of the database another epoch says
// that "never seen" proves nothing about that claim.
func (c *Calls) Epoch() string { return c.epoch }

// Broken is closed after an error of the disk or a corrupt database. Nothing of
// this process can be trusted then, so it has to end; a restart recovers.
func (c *Calls) Broken() <-chan struct{} { return c.broken }

// Close ends the connection. No call may be under way.
func (c *Calls) Close() error { return c.db.Close() }

// change carries out one write in an immediate transaction. It is durable when
// change returns nil; after an error it may have happened all the same. The
// context bounds only the wait for the connection.
func (c *Calls) change(ctx context.Context, step string, work func(*sql.Tx) error) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := c.transact(conn, step, work); err != nil {
		discard(conn)
		return fmt.Errorf("%s: %w", step, c.notice(err))
	}
	return nil
}

func (c *Calls) transact(conn *sql.Conn, step string, work func(*sql.Tx) error) error {
	tx, err := conn.BeginTx(uncancelled, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := work(tx); err != nil {
		return err
	}
	return c.commit(step, tx)
}

func (c *Calls) connect(ctx context.Context) (*sql.Conn, error) {
	select {
	case <-c.broken:
		return nil, c.cause
	default:
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the relay's calls: %w", c.notice(err))
	}
	return conn, nil
}

// discard closes the connection itself instead of giving it back to the pool,
// so that the next write starts on one with no leftover of a failed transaction.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// notice looks at an error and returns the one to pass on. After an I/O error
// pages that were not written can look clean.
// Source: https://www.sqlite.org/atomiccommit.html and the fsync studies
// (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
func (c *Calls) notice(err error) error {
	if !sqlfile.Broken(err) {
		return err
	}
	c.once.Do(func() {
		c.cause = fmt.Errorf("%w: %w", errBroken, err)
		close(c.broken)
	})
	return c.cause
}
