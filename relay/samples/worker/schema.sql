-- The memory of the sample Worker, for D1 or any SQLite. Run it once: the epoch
-- names this very database, and a form server trusts no other.
CREATE TABLE calls (
  claim         TEXT PRIMARY KEY,
  submission_id TEXT NOT NULL,
  payload_hash  TEXT NOT NULL,
  status        TEXT NOT NULL, -- processing, accepted, refused, sealed, uncertain
  answer        TEXT NOT NULL, -- the rest of the answer as JSON; nothing of the enquiry
  at            BIGINT NOT NULL -- milliseconds
);
CREATE INDEX calls_of_submission ON calls (submission_id);
CREATE TABLE epoch AS SELECT lower(hex(randomblob(16))) AS value;
