-- The ledger, in the SQL that SQLite and PostgreSQL both take: TEXT and BIGINT
-- only, times in milliseconds UTC, binary as base64 TEXT.

CREATE TABLE submissions (
    id            TEXT   NOT NULL PRIMARY KEY,  -- the UUID that the client made
    reference     TEXT   NOT NULL,              -- its short form; not unique
    form          TEXT   NOT NULL,
    policy        TEXT   NOT NULL,              -- copied when the row is made
    payload_hash  TEXT   NOT NULL,              -- v1.<key id>.<hex>
    status        TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,              -- 0: the row was forgotten
    claim         TEXT,                         -- who owns the send; NULL: the row is free
    lease_until   BIGINT,                       -- how long the owner may be at work
    relay_epoch   TEXT,                         -- the relay's memory that the claim relied on
    claims        BIGINT NOT NULL DEFAULT 0,    -- claims granted so far
    claim_cap     BIGINT NOT NULL DEFAULT 0,    -- 0: no cap
    attempts      BIGINT NOT NULL DEFAULT 0,    -- recorded failures
    attempt_cap   BIGINT NOT NULL DEFAULT 0,    -- 0: no cap
    doubted       BIGINT NOT NULL DEFAULT 0,    -- 1: the outcome of some attempt is unknown, for ever
    last_error    TEXT,                         -- cause code and stage, never content
    accepted_by   TEXT,                         -- relay, or operator:<name>; forgotten
    receipt       TEXT,                         -- what the relay said
    updated_at    BIGINT NOT NULL,              -- 0: forgotten, and nothing has happened since
    closed_at     BIGINT,
    needs         TEXT,                         -- non-NULL: the operator's queue
    -- OR, because SQLite builds a table for an IN of three and more at each write
    CHECK (status = 'processing' OR status = 'accepted' OR status = 'uncertain'),
    CHECK (policy = 'hold' OR policy = 'queue' OR policy = 'retry'),
    CHECK (needs IS NULL OR needs = 'uncertain' OR needs = 'stopped' OR needs = 'disputed' OR needs = 'unsent'),
    CHECK ((claim IS NULL) = (lease_until IS NULL)),
    CHECK (doubted IN (0, 1)),
    -- accepted always says who vouches
    CHECK (status <> 'accepted' OR accepted_by IS NOT NULL),
    -- no uncertain row without somebody who is told
    CHECK (status <> 'uncertain' OR needs IS NOT NULL OR closed_at IS NOT NULL)
);

CREATE INDEX submissions_reference ON submissions (reference);
CREATE INDEX submissions_needs ON submissions (needs, created_at) WHERE needs IS NOT NULL;
-- what the sweep looks through: rows whose send is not settled
CREATE INDEX submissions_open ON submissions (lease_until) WHERE status = 'processing';

-- The words of messages that are not accepted yet, sealed, under policies queue
-- and retry alone. A row goes with the acceptance, or with the closed case.
CREATE TABLE outbox (
    submission   TEXT   NOT NULL PRIMARY KEY,
    seal_key     TEXT   NOT NULL,            -- the ID of the key that sealed them
    sealed       TEXT   NOT NULL,            -- v1.<base64 of nonce and ciphertext>
    next_attempt BIGINT NOT NULL             -- when the courier tries next, if the row waits for it
);

CREATE INDEX outbox_next ON outbox (next_attempt);

-- Everything that is not the happy path, and each decision of a person.
-- Append-only: the dialect's triggers refuse DELETE, but of a forgotten row's, and
-- any UPDATE but that of a counter: of repeated conflicts, and of forgotten rows.
CREATE TABLE events (
    id         TEXT   NOT NULL PRIMARY KEY,  -- UUIDv7
    submission TEXT   NOT NULL,              -- all zeros: the ledger itself
    at         BIGINT NOT NULL,
    kind       TEXT   NOT NULL,
    actor      TEXT   NOT NULL,              -- system, or operator:<name>
    cause      TEXT,                         -- cause code and stage, never content
    claim      TEXT,                         -- the claim it speaks of
    note       TEXT,                         -- the operator's words
    times      BIGINT NOT NULL DEFAULT 1,    -- how often it happened, or to how many rows
    last_at    BIGINT NOT NULL
);

CREATE INDEX events_submission ON events (submission, at);
-- one row for all conflicts of an ID, so that strangers cannot grow the table
CREATE UNIQUE INDEX events_conflict ON events (submission) WHERE kind = 'conflict';

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,  -- schema_version, epoch, relay_state, duty_alerts; restored_at, as long as a restore is pending
    value TEXT NOT NULL
);
