package sqlledger

// All statements of the contract, in the SQL that both engines take. Every
// write is conditional; updated_at always grows, even if the clock stands still
// or goes back, because a person's decision rests on it.

const columns = `id, reference, form, policy, payload_hash, status, created_at,
 claim, lease_until, relay_epoch, claims, claim_cap, attempts, attempt_cap, doubted,
 last_error, accepted_by, receipt, updated_at, closed_at, needs`

const eventColumns = `id, submission, at, kind, actor, cause, claim, note, times, last_at`

// grow sets updated_at to the parameter, or a millisecond past what it was.
func grow(parameter string) string {
	return `updated_at = CASE WHEN updated_at >= ` + parameter + ` THEN updated_at + 1 ELSE ` + parameter + ` END`
}

// undisputed guards every write of a machine: what two sources contradict each
// other about, only a person ends.
const undisputed = `(needs IS NULL OR needs <> 'disputed')`

type statement int

const (
	claimNew statement = iota
	claimFree
	settleOwn
	settleLate
	dispute
	endCall
	storeNew
	keepWords
	takeWaiting
	readWords
	postpone
	wipeWords
	decideReceived
	decideNotReceived
	decideSendAgain
	decideClose
	readRow
	insertEvent
	findEvent
	findKind
	countConflict
	lapsedRows
	markUnsent
	setRelayState
	takeDuty
	readRestored
	setMeta
	endRestored
	openRows
	restoreRow
	storeUnsure
	forgetRow
	forgetEvents
	countForgotten
	noteForgotten
	statementCount
)

var statements = [statementCount]string{
	claimNew: insertOrNothing + ` submissions
 (id, reference, form, policy, payload_hash, status, created_at, claim, lease_until, relay_epoch, claims, updated_at)
 VALUES ($1, $2, $3, $4, $5, 'processing', $6, $7, $8, $9, 1, $6)`,

	claimFree: `UPDATE submissions SET claim = $1, lease_until = $2, relay_epoch = $3,
 claims = claims + 1, needs = NULL, ` + grow("$4") + `
 WHERE id = $5 AND payload_hash = $6 AND claim IS NULL AND status = 'processing'
 AND closed_at IS NULL AND policy = 'hold' AND (needs IS NULL OR needs = 'unsent')`,

	settleOwn: `UPDATE submissions SET status = 'accepted', accepted_by = 'relay', receipt = $1, needs = NULL, ` + grow("$2") + `
 WHERE id = $3 AND payload_hash = $4 AND claim = $5 AND status = 'processing' AND ` + undisputed,

	// a row that nobody has claimed since takes the claim that proved itself
	settleLate: `UPDATE submissions SET status = 'accepted', accepted_by = 'relay', receipt = $1, needs = NULL,
 claim = $5, lease_until = COALESCE(lease_until, $2), ` + grow("$2") + `
 WHERE id = $3 AND payload_hash = $4 AND (claim = $5 OR claim IS NULL)
 AND status IN ('processing', 'uncertain') AND ` + undisputed,

	dispute: `UPDATE submissions SET needs = 'disputed', ` + grow("$1") + ` WHERE id = $2 AND ` + undisputed,

	// what Submission.After says, of the row as it was read
	endCall: `UPDATE submissions SET status = $1, needs = $2,
 claim = CASE WHEN $3 = 1 THEN claim END, lease_until = CASE WHEN $3 = 1 THEN lease_until END,
 doubted = $4, attempts = $5, claim_cap = $6, last_error = $7, ` + grow("$8") + `
 WHERE id = $9 AND claim = $10 AND updated_at = $11`,

	storeNew: insertOrNothing + ` submissions
 (id, reference, form, policy, payload_hash, status, created_at, attempt_cap, claim_cap, updated_at)
 VALUES ($1, $2, $3, $4, $5, 'processing', $6, $7, $8, $6)`,

	keepWords: `INSERT INTO outbox (submission, seal_key, sealed, next_attempt) VALUES ($1, $2, $3, $4)`,

	takeWaiting: `UPDATE submissions SET claim = $1, lease_until = $2, relay_epoch = $3,
 claims = claims + 1, ` + grow("$4") + `
 WHERE id = $5 AND payload_hash = $6 AND (policy = 'queue' OR policy = 'retry') AND ` + waiting,

	readWords: `SELECT seal_key, sealed, next_attempt FROM outbox WHERE submission = $1`,

	postpone: `UPDATE outbox SET next_attempt = $1 WHERE submission = $2`,

	wipeWords: `DELETE FROM outbox WHERE submission = $1`,

	decideReceived: `UPDATE submissions SET accepted_by = CASE WHEN status = 'accepted' THEN accepted_by ELSE $1 END,
 status = 'accepted', needs = NULL, ` + grow("$2") + seen,

	// a case that was forgotten begins anew
	decideNotReceived: `UPDATE submissions SET status = 'processing', claim = NULL, lease_until = NULL, needs = NULL,
 closed_at = NULL, created_at = CASE WHEN created_at = 0 THEN $2 ELSE created_at END, last_error = $1, ` + onceMore + `, ` + grow("$2") + seen + ` AND status <> 'accepted'`,

	decideSendAgain: `UPDATE submissions SET needs = NULL, ` + onceMore + `, ` + grow("$1") + `
 WHERE id = $2 AND status = $3 AND updated_at = $4 AND claim IS NOT DISTINCT FROM $5
 AND status = 'processing' AND claim IS NULL AND closed_at IS NULL AND needs = 'stopped'
 AND (policy = 'queue' OR policy = 'retry')`,

	decideClose: `UPDATE submissions SET closed_at = COALESCE(closed_at, $1), needs = NULL, ` + grow("$2") + seen,

	readRow: `SELECT ` + columns + ` FROM submissions WHERE id = $1`,

	insertEvent: `INSERT INTO events (id, submission, at, kind, actor, cause, claim, note, last_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $3)`,

	findEvent: `SELECT ` + eventColumns + ` FROM events WHERE submission = $1 AND kind = $2
 AND claim IS NOT DISTINCT FROM $3 AND cause IS NOT DISTINCT FROM $4 AND note IS NOT DISTINCT FROM $5 LIMIT 1`,

	findKind: `SELECT ` + eventColumns + ` FROM events WHERE submission = $1 AND kind = $2 LIMIT 1`,

	countConflict: `INSERT INTO events (id, submission, at, kind, actor, last_at)
 VALUES ($1, $2, $3, 'conflict', 'system', $3)
 ON CONFLICT (submission) WHERE kind = 'conflict'
 DO UPDATE SET times = events.times + 1,
 last_at = CASE WHEN excluded.last_at > events.last_at THEN excluded.last_at ELSE events.last_at END`,

	lapsedRows: `SELECT ` + columns + ` FROM submissions WHERE status = 'processing' AND claim IS NOT NULL AND lease_until < $1
 ORDER BY lease_until LIMIT $2`,

	markUnsent: `UPDATE submissions SET needs = 'unsent', ` + grow("$1") + `
 WHERE id IN (SELECT id FROM submissions WHERE ` + leftAlone + ` LIMIT $3)
 AND ` + leftAlone + ` RETURNING ` + columns,

	setRelayState: `INSERT INTO meta (name, value) VALUES ('relay_state', $1)
 ON CONFLICT (name) DO UPDATE SET value = excluded.value`,

	// the value is the end in 16 digits, so that texts compare as times do, and the holder
	takeDuty: `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
 WHERE substr(meta.value, 17) = $3 OR meta.value < $4 OR meta.value > $5`,

	readRestored: `SELECT value FROM meta WHERE name = 'restored_at'`,

	setMeta: `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,

	endRestored: `DELETE FROM meta WHERE name = 'restored_at'`,

	openRows: `SELECT ` + columns + ` FROM submissions WHERE status = 'processing' AND closed_at IS NULL ORDER BY created_at, id`,

	restoreRow: `UPDATE submissions SET status = 'uncertain', claim = NULL, lease_until = NULL, doubted = 1,
 last_error = $1, needs = 'disputed', ` + grow("$2") + ` WHERE id = $3`,

	storeUnsure: insertOrNothing + ` submissions
 (id, reference, form, policy, payload_hash, status, created_at, attempt_cap, claim_cap, doubted, last_error, updated_at, needs)
 VALUES ($1, $2, $3, $4, $5, 'uncertain', $6, $7, $8, 1, $9, $6, 'disputed')`,

	forgetRow: `UPDATE submissions SET created_at = 0, updated_at = 0, claim = NULL, lease_until = NULL, relay_epoch = NULL,
 claims = 0, claim_cap = 0, attempts = 0, attempt_cap = 0, doubted = 0, last_error = NULL, receipt = NULL,
 accepted_by = CASE WHEN status = 'accepted' THEN 'forgotten' END WHERE id = $2 AND ` + forgettable,

	forgetEvents: `DELETE FROM events WHERE submission = $1`,

	countForgotten: `UPDATE events SET times = times + $1
 WHERE submission = $2 AND kind = 'forgotten' AND at = $3 AND actor = $4 AND note = $5`,

	noteForgotten: `INSERT INTO events (id, submission, at, kind, actor, note, times, last_at)
 VALUES ($1, $2, $3, 'forgotten', $4, $5, $6, $3)`,
}

// forgettable is a case that has ended, whose last change is older than $1, and
// which is not forgotten yet.
const forgettable = `updated_at > 0 AND updated_at < $1 AND needs IS NULL
 AND (status = 'accepted' OR closed_at IS NOT NULL) AND (status <> 'processing' OR claim IS NULL)`

// seen is the condition of a decision: the row as the operator saw it, and no
// send under way.
const seen = ` WHERE id = $3 AND status = $4 AND updated_at = $5 AND claim IS NOT DISTINCT FROM $6
 AND (claim IS NULL OR status <> 'processing')`

// waiting is Submission.Waiting, of rows whose words are kept.
const waiting = `status = 'processing' AND claim IS NULL AND closed_at IS NULL AND needs IS NULL
 AND NOT (attempt_cap > 0 AND attempts >= attempt_cap) AND NOT (claim_cap > 0 AND claims >= claim_cap)`

// onceMore raises the caps that are reached, so that one more attempt is allowed.
const onceMore = `attempt_cap = CASE WHEN attempt_cap > 0 AND attempt_cap <= attempts THEN attempts + 1 ELSE attempt_cap END,
 claim_cap = CASE WHEN claim_cap > 0 AND claim_cap <= claims THEN claims + 1 ELSE claim_cap END`

// leftAlone is a released row under hold that nobody came back for.
const leftAlone = `status = 'processing' AND claim IS NULL AND policy = 'hold' AND needs IS NULL
 AND closed_at IS NULL AND updated_at < $2`
