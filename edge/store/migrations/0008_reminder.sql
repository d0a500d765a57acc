-- When the operator was last reminded of records that wait for a hand verification, in Unix seconds.
ALTER TABLE store ADD COLUMN reminded_at INTEGER NOT NULL DEFAULT 0;
