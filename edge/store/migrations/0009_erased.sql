-- The records whose addresses were erased. Every copy of the database has them, and so erases again what an older one brings back.
CREATE TABLE erased (
  record_id TEXT PRIMARY KEY NOT NULL,
  erased_at INTEGER NOT NULL -- in Unix seconds
) STRICT, WITHOUT ROWID;

-- The last erasure that may have left traces in the file, in Unix milliseconds; NULL once they are gone.
ALTER TABLE store ADD COLUMN erasing INTEGER;

-- An erasure by an earlier program may have left some.
UPDATE store SET erasing = unixepoch() * 1000 WHERE EXISTS (SELECT 1 FROM registrations) OR EXISTS (SELECT 1 FROM charters);
