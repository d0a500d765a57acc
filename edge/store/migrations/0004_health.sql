-- When a check of readiness last wrote, in Unix seconds: that it could is what the check is about. One row, for all hosts.
CREATE TABLE health (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  written_at INTEGER NOT NULL
) STRICT;
INSERT INTO health VALUES (1, 0);
