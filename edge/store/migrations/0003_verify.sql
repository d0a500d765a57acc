-- What a hand verification needs of the store.

-- Which store this is. A verification names it, so that the counts of two stores are never mixed up.
CREATE TABLE store (
  id TEXT NOT NULL, -- 32 hexadecimal digits, for ever
  host TEXT -- the canonical host of the service that last opened it; NULL where none has
) STRICT;
INSERT INTO store (id) VALUES (lower(hex(randomblob(16))));

-- Suggestions get an order of filing, as registrations and charters have one. VACUUM may change a rowid that has no name.
CREATE TABLE numbered_suggestions (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL,
  filed_at TEXT NOT NULL,
  filed_as TEXT NOT NULL CHECK (filed_as IN ('anonymous', 'with_contact')),
  kind TEXT NOT NULL,
  text_sha256 TEXT NOT NULL
) STRICT;
INSERT INTO numbered_suggestions (record_id, filed_at, filed_as, kind, text_sha256)
  SELECT record_id, filed_at, filed_as, kind, text_sha256 FROM suggestions ORDER BY filed_at, rowid;
DROP TABLE suggestions;
ALTER TABLE numbered_suggestions RENAME TO suggestions;

-- How often clients that name themselves were seen over MCP, for the operator alone. Some of it may be lost.
CREATE TABLE observed (
  day TEXT NOT NULL, -- YYYY-MM-DD, UTC
  client TEXT NOT NULL, -- as it names itself; '' where it does not
  kind TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (day, client, kind)
) STRICT, WITHOUT ROWID;
