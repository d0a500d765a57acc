-- Record ids that no insert may use any more. Where a store gives no answer to the insert of a record, a second transaction makes
-- the record unless it is there, and puts its id here: the first one then does nothing, should it still be on its way.
CREATE TABLE used_ids (
  record_id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
