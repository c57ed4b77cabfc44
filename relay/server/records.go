package server

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"formledger/relay/signed"
)

const (
	columns = `claim, caller, submission_id, payload_hash, status, holder, recipients, earlier, receipt,
		partly, permanent, code, stage, conversation, created_at, lease_until, updated_at`
	findRow   = `SELECT ` + columns + ` FROM calls WHERE claim = ?`
	insertRow = `INSERT INTO calls (` + columns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	// uncertain is taken too: whoever holds the claim may know more than the lapse did
	recordRow = `UPDATE calls SET status = ?, receipt = ?, partly = ?, permanent = ?, code = ?, stage = ?, conversation = ?, updated_at = ?
		WHERE claim = ? AND caller = ? AND holder = ? AND status IN ('processing', 'uncertain')`
	lapseRow = `UPDATE calls SET status = 'uncertain', code = 'lease_lapsed', updated_at = ?
		WHERE claim = ? AND status = 'processing' AND lease_until < ?`
	isBusy = `SELECT count(*) FROM calls
		WHERE caller = ? AND submission_id = ? AND status = 'processing' AND lease_until >= ?`
	acceptance = `SELECT ` + columns + ` FROM calls
		WHERE caller = ? AND submission_id = ? AND status = 'accepted' AND earlier = ''
		ORDER BY payload_hash = ? DESC, created_at LIMIT 1`
	sentSince = `SELECT coalesce(sum(recipients), 0) FROM calls
		WHERE caller = ? AND created_at > ? AND recipients > 0 AND status <> 'refused'`
)

// find reads a claim's row. It fails with errUnseen if there is none.
func find(db queryer, claim string) (r row, err error) {
	err = db.QueryRowContext(uncancelled, findRow, claim).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		err = errUnseen
	}
	return r, err
}

// known is what there is on record of a claim. A call that is under way no
// longer, and left nothing behind, becomes uncertain. It fails with errUnseen
// if the claim has no row.
func (c *Calls) known(ctx context.Context, claim string, now time.Time) (row, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return row{}, err
	}
	r, err := find(conn, claim)
	conn.Close()
	if err != nil || !r.lapsed(now) {
		return r, c.notice(err)
	}
	err = c.change(ctx, "lapse", func(tx *sql.Tx) error {
		if _, err := tx.Exec(lapseRow, now.UnixMilli(), claim, now.UnixMilli()); err != nil {
			return err
		}
		r, err = find(tx, claim)
		return err
	})
	return r, err
}

// insert makes the row of a claim that has none, and returns the row that
// stands. decide may change the new row by what else there is.
func (c *Calls) insert(ctx context.Context, step string, fresh row, decide func(*sql.Tx, *row) error) (stands row, err error) {
	err = c.change(ctx, step, func(tx *sql.Tx) error {
		stands, err = find(tx, fresh.claim)
		if !errors.Is(err, errUnseen) {
			return err
		}
		stands = fresh
		if decide != nil {
			if err := decide(tx, &stands); err != nil {
				return err
			}
		}
		_, err = tx.Exec(insertRow, stands.fields()...)
		return err
	})
	return stands, err
}

// seal makes a row that proves that nothing was sent, and never will be. If the
// claim has a row already, it is that one that is returned.
func (c *Calls) seal(ctx context.Context, sealed row) (row, error) {
	return c.insert(ctx, "seal", sealed, nil)
}

// claim makes the row of a call that may send, unless one of the same submission
// stands against it. limit is the caller's, 0 for none.
func (c *Calls) claim(ctx context.Context, fresh row, limit int) (row, error) {
	return c.insert(ctx, "claim", fresh, func(tx *sql.Tx, r *row) error { return standAgainst(tx, r, limit) })
}

// standAgainst turns a claim into a refusal, or into the acceptance of before.
func standAgainst(tx *sql.Tx, r *row, limit int) error {
	busy, err := count(tx, isBusy, r.caller, r.id, r.created)
	if err != nil {
		return err
	}
	before, accepted, err := acceptedBefore(tx, *r)
	if err != nil {
		return err
	}
	sent, err := count(tx, sentSince, r.caller, time.UnixMilli(r.created).Add(-day).UnixMilli())
	switch {
	case err != nil:
		return err
	case busy > 0:
		r.refuse(refusal{code: codeBusy})
	case accepted && before.hash != r.hash:
		r.refuse(refusal{code: codeOtherContent, permanent: true})
	case accepted:
		r.release(signed.StatusAccepted)
		r.earlier, r.receipt, r.partly, r.conversation = before.claim, before.receipt, before.partly, before.conversation
	case limit > 0 && sent+r.recipients > limit:
		r.refuse(refusal{code: codeDailyLimit, permanent: r.recipients > limit})
	}
	return nil
}

// day is what the daily limit looks back on.
const day = 24 * time.Hour

func count(tx *sql.Tx, query string, args ...any) (n int, err error) {
	err = tx.QueryRow(query, args...).Scan(&n)
	return n, err
}

// acceptedBefore is the acceptance of a row's submission under another claim, of
// the same content if there is one.
func acceptedBefore(tx *sql.Tx, r row) (before row, found bool, err error) {
	err = tx.QueryRow(acceptance, r.caller, r.id, r.hash).Scan(before.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, false, nil
	}
	return before, err == nil, err
}

// record writes how the holder's call has ended, and returns the row that
// stands. A try that had happened although it failed changes nothing.
func (c *Calls) record(ctx context.Context, ended row) (stands row, err error) {
	err = c.change(ctx, "record", func(tx *sql.Tx) error {
		_, err := tx.Exec(recordRow, ended.status, ended.receipt, ended.partly, ended.permanent, ended.code, ended.stage,
			ended.conversation, ended.updated, ended.claim, ended.caller, ended.holder)
		if err != nil {
			return err
		}
		if stands, err = find(tx, ended.claim); err == nil && stands.holder != ended.holder {
			err = errors.New("the claim belongs to another call")
		}
		return err
	})
	return stands, err
}
