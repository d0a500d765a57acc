-- The record that was made under an id which a key of its caller decides: its seq in the table of its kind. NULL where nobody
-- will ask, and while a suggestion is on its way to the operator.
ALTER TABLE used_ids ADD COLUMN seq INTEGER;
