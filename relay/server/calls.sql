-- What the relay knows of every claim, in SQLite's words: times in milliseconds
-- UTC, 0 and '' for what is not there. No word of an enquiry, and no address but
-- those that a mail server named when it did not take a message.

CREATE TABLE calls (
    -- the claim alone, as it is random: a form server whose name in the
    -- configuration has changed must not find its own claims unseen, for an
    -- inquiry would then prove of an accepted message that it was never sent
    claim         TEXT   NOT NULL PRIMARY KEY,
    caller        TEXT   NOT NULL,             -- the form server's name
    submission_id TEXT   NOT NULL,
    payload_hash  TEXT   NOT NULL,
    status        TEXT   NOT NULL,
    holder        TEXT   NOT NULL DEFAULT '',  -- random; the one request that may send
    recipients    BIGINT NOT NULL DEFAULT 0,   -- that the holder may send to
    earlier       TEXT   NOT NULL DEFAULT '',  -- the claim under which this was accepted before
    receipt       TEXT   NOT NULL DEFAULT '',
    partly        BIGINT NOT NULL DEFAULT 0,   -- 1: accepted, but not for every recipient
    permanent     BIGINT NOT NULL DEFAULT 0,   -- 1: refused, and would be again
    code          TEXT   NOT NULL DEFAULT '',  -- why it is not accepted
    stage         TEXT   NOT NULL DEFAULT '',  -- how far it had come
    conversation  TEXT   NOT NULL DEFAULT '',  -- redacted, and only if it was not plainly accepted
    created_at    BIGINT NOT NULL,
    lease_until   BIGINT NOT NULL DEFAULT 0,   -- how long the holder may be at work
    updated_at    BIGINT NOT NULL,
    CHECK (status IN ('processing', 'accepted', 'uncertain', 'refused', 'sealed')),
    CHECK (partly IN (0, 1) AND permanent IN (0, 1)),
    CHECK ((holder = '') = (lease_until = 0) AND (holder = '') = (recipients = 0)),
    -- without a holder nothing can have been sent
    CHECK (holder <> '' OR status IN ('refused', 'sealed') OR status = 'accepted' AND earlier <> ''),
    CHECK (holder = '' OR status <> 'sealed' AND earlier = '')
);

CREATE INDEX calls_submission ON calls (caller, submission_id);
-- what the daily limit counts
CREATE INDEX calls_sent ON calls (caller, created_at) WHERE recipients > 0;

-- What has been said to be final stays as it was said.
CREATE TRIGGER calls_final BEFORE UPDATE ON calls
WHEN OLD.status IN ('accepted', 'refused', 'sealed') OR NEW.status IN ('processing', 'sealed')
BEGIN SELECT RAISE(ABORT, 'what became of a claim is final'); END;

CREATE TRIGGER calls_kept BEFORE DELETE ON calls
BEGIN SELECT RAISE(ABORT, 'claims are kept for ever'); END;

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,  -- calls_version, epoch
    value TEXT NOT NULL
);
