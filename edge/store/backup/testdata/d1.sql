PRAGMA defer_foreign_keys=TRUE;
CREATE TABLE IF NOT EXISTS "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);
INSERT INTO "d1_migrations" ("id","name","applied_at") VALUES(1,'0001_init.sql','2026-11-23 18:19:38');
INSERT INTO "d1_migrations" ("id","name","applied_at") VALUES(2,'0002_digest.sql','2026-11-23 18:19:38');
INSERT INTO "d1_migrations" ("id","name","applied_at") VALUES(3,'0003_verify.sql','2026-11-23 18:19:39');
INSERT INTO "d1_migrations" ("id","name","applied_at") VALUES(4,'0004_health.sql','2026-11-23 18:19:39');
CREATE TABLE registrations (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL, -- RFC 3339, UTC, whole seconds
  agent_name TEXT,
  pubkey TEXT,
  payload_sha256 TEXT NOT NULL,
  CHECK (agent_name IS NOT NULL OR pubkey IS NOT NULL)
) STRICT;
INSERT INTO "registrations" ("seq","record_id","recorded_at","agent_name","pubkey","payload_sha256") VALUES(7,'a','2026-11-20T12:00:00Z',replace('Zoë''s "x" \n ','\n',char(10)),NULL,'x');
CREATE TABLE charters (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  org_name TEXT NOT NULL,
  commissioner TEXT,
  roster TEXT NOT NULL, -- JSON array in canonical order
  payload_sha256 TEXT NOT NULL
) STRICT;
CREATE TABLE contacts (
  record_id TEXT PRIMARY KEY NOT NULL,
  address TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
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
, digest TEXT) STRICT;
CREATE TABLE signal_runs (
  id INTEGER PRIMARY KEY,
  urls_sha256 TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  outcome TEXT CHECK (outcome IN ('fired', 'failed')),
  body TEXT -- the answer that a repeated firing gets
) STRICT;
CREATE TABLE store (
  id TEXT NOT NULL, -- 32 hexadecimal digits, for ever
  host TEXT -- the canonical host of the service that last opened it; NULL where none has
) STRICT;
INSERT INTO "store" ("id","host") VALUES('c7e494d67ed1bc4c31037e50c4cc140d',NULL);
CREATE TABLE IF NOT EXISTS "suggestions" (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  filed_at TEXT NOT NULL,
  filed_as TEXT NOT NULL CHECK (filed_as IN ('anonymous', 'with_contact')),
  kind TEXT NOT NULL,
  text_sha256 TEXT NOT NULL
) STRICT;
CREATE TABLE observed (
  day TEXT NOT NULL, -- YYYY-MM-DD, UTC
  client TEXT NOT NULL, -- as it names itself; '' where it does not
  kind TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (day, client, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE health (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  written_at INTEGER NOT NULL
) STRICT;
INSERT INTO "health" ("id","written_at") VALUES(1,0);
DELETE FROM sqlite_sequence;
INSERT INTO "sqlite_sequence" ("name","seq") VALUES('d1_migrations',4);
CREATE INDEX outbox_due ON outbox (next_try_at) WHERE state = 'pending';
CREATE INDEX outbox_record ON outbox (record_id);
CREATE INDEX signal_runs_started ON signal_runs (started_at);