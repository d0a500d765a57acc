-- The day by which a hand verification counts the record, as its promise says: YYYY-MM-DD. NULL for a record of an earlier program.
ALTER TABLE registrations ADD COLUMN counted_by TEXT;
ALTER TABLE charters ADD COLUMN counted_by TEXT;

-- From now on call is the SHA-256 of the key itself and of everything that the call would write, and is never erased: without the
-- key it tells nothing. An earlier program left the key out. Without call, the commitment of the record decides whether a call is
-- the same; a claim has none, and so it is not known any more what was relayed.
UPDATE used_ids SET call = NULL, relayed_at = NULL;
