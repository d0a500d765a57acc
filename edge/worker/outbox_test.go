//go:build full

package main

import (
	"fmt"
	"testing"

	"anteroom/edge/edgetest"
)

// TestRowsReadByTheOutbox: D1 is paid by the rows that it reads, and most rows of the outbox are
// delivered or wait. A look into it, and what a delivery adds to that, read none of them.
func TestRowsReadByTheOutbox(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = with(`DB: ((told = (answer) => { console.log('read ' + answer.meta.rows_read); return answer; }) => ({
    prepare: (sql) => ({ bind: (...args) => {
      const real = env.DB.prepare(sql).bind(...args);
      return { real, all: async () => told(await real.all()) };
    } }),
    batch: async (list) => (await env.DB.batch(list.map(({ real }) => real))).map(told),
  }))()`)
	s := start(t, o)
	const rows, statements, most = 10_000, 3, 10
	for _, state := range []string{"delivered", "pending"} {
		s.sql(fmt.Sprintf(`INSERT INTO outbox (record_id, kind, payload, state, created_at, next_try_at, digest)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT printf('%%032x', i), 'registration', '{"address":"a@example.org","who":""}', '%s', 0, unixepoch() + 600 + i / 10, i / 60 FROM n`, rows, state))
	}
	for _, due := range []int{0, 1} {
		if due > 0 {
			s.sql(`INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES ('r', 'registration', '{"address":"a@example.org","who":""}', 0, 0)`)
		}
		s.cron()
		read := s.log()
		if len(read) != 2+due*statements {
			t.Errorf("%d due: the statements read %q", due, read)
		}
		for _, line := range read {
			var n int
			if _, err := fmt.Sscanf(line, "log: read %d", &n); err != nil || n > most {
				t.Errorf("%d due: the statements read %q, want %d rows each at most", due, read, most)
			}
		}
	}
	if n := s.count("outbox WHERE record_id = 'r' AND state = 'delivered'"); n != 1 {
		t.Error("it is not delivered")
	}
}
