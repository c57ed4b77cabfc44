package ledger

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// A database that was replaced by an older copy does not know what was sent
// since the copy was made. As long as no operator has said that this is over, an
// ID that it has never seen is only taken for new if its own time proves that.

// Restoration says that the database was replaced by an older copy, or that
// this is over.
type Restoration struct {
	At   time.Time
	By   string // the operator's name
	Note string
}

// The last errors of rows that a restore has put in doubt: of those that were open
// in the copy, and of those that came later and may be repeats.
const (
	CauseRestored    = "restored"
	CauseMayBeRepeat = "unseen_since_restore"
)

// InDoubtByRestore reports whether a row is disputed only because the database
// was replaced by an older copy.
func (s Submission) InDoubtByRestore() bool {
	return s.Needs == NeedsDisputed && (s.LastError == CauseRestored || s.LastError == CauseMayBeRepeat)
}

// How far the clocks of those who make IDs are trusted. An hour is the usual
// mistake of a clock that runs well: it has missed a change of daylight saving
// time. A longer margin would call more new enquiries uncertain, and the operator
// would have to end all of it sooner.
const (
	clockMargin = time.Hour
	clockAhead  = 10 * time.Minute
)

// MayPredate reports whether a submission that the ledger has never seen may
// have been sent before the database was restored. A UUIDv7 carries the time at
// which it was made (RFC 9562 section 5.7), by its maker's clock; other IDs carry
// none. One that was made well after the restore is new. One that lies ahead of
// now was made by a clock that is wrong, and proves nothing: so whoever goes on
// trying under an old ID is found out at the first try, however far ahead their
// clock is.
func MayPredate(id uuid.UUID, restored, now time.Time) bool {
	made, ok := madeAt(id)
	return !ok || !made.After(restored.Add(clockMargin)) || made.After(now.Add(clockAhead))
}

// madeAt is the time that a UUIDv7 carries.
func madeAt(id uuid.UUID) (time.Time, bool) {
	if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)), true
}
