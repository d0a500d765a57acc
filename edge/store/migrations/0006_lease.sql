-- While a row of the outbox is being sent, next_try_at is the end of its lease, and lease_until has no meaning.
-- A row that was never tried has a next_try_at of 0.
UPDATE outbox SET next_try_at = lease_until WHERE state = 'pending' AND lease IS NOT NULL;

-- The few that were given up are counted and revived without a look at all others.
CREATE INDEX outbox_dead ON outbox (id) WHERE state = 'dead';
