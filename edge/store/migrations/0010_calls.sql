-- A key of a caller stands for one call. call is the SHA-256 of everything that the call would write; NULL where it is not known, or
-- where an address in it was erased.
ALTER TABLE used_ids ADD COLUMN call TEXT;
-- A suggestion is relayed before it is recorded. claimed_at is when a call began to relay it, relayed_at when the relay took it, in
-- Unix seconds; seq is set once it is recorded.
ALTER TABLE used_ids ADD COLUMN claimed_at INTEGER;
ALTER TABLE used_ids ADD COLUMN relayed_at INTEGER;

-- Claims without an end are few, and are found without a look at all other ids.
CREATE INDEX used_ids_claimed ON used_ids (claimed_at) WHERE seq IS NULL;
