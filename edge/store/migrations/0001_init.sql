-- What the service keeps. SQLite and Cloudflare D1 take this text as it is. Migrations are applied
-- in the order of their names, each once; the applied names stand in the table d1_migrations.
--
-- Never erased: registrations, charters, suggestions. They hold no e-mail address.
-- May be erased: rows of contacts and outbox, by record_id, at the wish of the address's owner; old rows of signal_runs.
--
-- An index is one more row written with each record, in time and on D1's bill. So records that are only ever read as a whole,
-- in order, have none: a record_id is 128 random bits, and needs no index to be unique.

-- One row for each registration that was answered with its record_id. Never changed, never erased:
-- it is what registrations_recorded counts, and seq is the order of signing up.
CREATE TABLE registrations (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL, -- RFC 3339, UTC, whole seconds
  agent_name TEXT,
  pubkey TEXT,
  payload_sha256 TEXT NOT NULL,
  CHECK (agent_name IS NOT NULL OR pubkey IS NOT NULL)
) STRICT;

-- One row for each charter that was filed. Never changed, never erased: seq is the order of filing.
CREATE TABLE charters (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  org_name TEXT NOT NULL,
  commissioner TEXT,
  roster TEXT NOT NULL, -- JSON array in canonical order
  payload_sha256 TEXT NOT NULL
) STRICT;

-- One row for each suggestion that reached the operator's inbox, so that the inbox can be reconciled
-- with the count. The text and the contact stay in the inbox. Never changed, never erased.
CREATE TABLE suggestions (
  record_id TEXT PRIMARY KEY NOT NULL,
  filed_at TEXT NOT NULL,
  filed_as TEXT NOT NULL CHECK (filed_as IN ('anonymous', 'with_contact')),
  kind TEXT NOT NULL,
  text_sha256 TEXT NOT NULL
) STRICT;

-- The e-mail address given with a registration or charter. The operator's contact records;
-- a row may be erased without touching what it belongs to.
CREATE TABLE contacts (
  record_id TEXT PRIMARY KEY NOT NULL,
  address TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

-- What the operator is to be told of, written in the transaction of its record and relayed from here.
-- payload holds what is relayed; it is emptied once delivered. Rows may be erased. Times are Unix seconds.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  tries INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  next_try_at INTEGER NOT NULL,
  lease TEXT, -- who is sending it now
  lease_until INTEGER NOT NULL DEFAULT 0,
  delivered_at INTEGER,
  last_error TEXT
) STRICT;

-- Due rows; a query must say state = 'pending' in its own text to use it.
CREATE INDEX outbox_due ON outbox (next_try_at) WHERE state = 'pending';
CREATE INDEX outbox_record ON outbox (record_id);

-- One row for each firing of the search-index signal, inserted before anything is sent, so that two callers
-- cannot both send. Old rows may be erased; the newest is what a repeated firing is answered from.
CREATE TABLE signal_runs (
  id INTEGER PRIMARY KEY,
  urls_sha256 TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  outcome TEXT CHECK (outcome IN ('fired', 'failed')),
  body TEXT -- the answer that a repeated firing gets
) STRICT;

CREATE INDEX signal_runs_started ON signal_runs (started_at);
