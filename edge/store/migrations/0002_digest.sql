-- The Message-ID of the digest that a row is to be sent with again: set where it is not known whether that has arrived,
-- and where a digest was divided.
ALTER TABLE outbox ADD COLUMN digest TEXT;
