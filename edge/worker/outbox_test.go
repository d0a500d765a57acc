//go:build full

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
)

// TestRowsReadByTheOutbox: D1 is paid by the rows that it reads, and most rows of the outbox are
// delivered or wait. A look into it, what a delivery adds to that, and what a reminder of many
// records does, read none of them.
func TestRowsReadByTheOutbox(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.RemindAfterDays, published.Covered[0] = 7, 1000
	o := bound(t, published)
	o.Main = with(`DB: ((told = (answer) => { console.log('read ' + answer.meta.rows_read); return answer; }) => ({
    prepare: (sql) => ({ bind: (...args) => {
      const real = env.DB.prepare(sql).bind(...args);
      return { real, all: async () => told(await real.all()) };
    } }),
    batch: async (list) => (await env.DB.batch(list.map(({ real }) => real))).map(told),
  }))()`)
	s := start(t, o)
	const rows, statements, most = 10_000, 3, 10
	s.sql(fmt.Sprintf(`INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT printf('%%032x', i), '2026-01-02T03:04:05Z', 'a', '' FROM n`, rows))
	s.cron() // sends the reminder
	if sent := s.mail(); len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "9000 registrations wait since 2026-01-02;\nrun anteroom publish.") {
		t.Errorf("reminders %+v", sent)
	}
	if n := s.count("store WHERE reminded_at BETWEEN unixepoch() - 600 AND unixepoch()"); n != 1 {
		t.Error("the time of the reminder is not stored")
	}
	if read := s.lines(); len(read) != 4 || slices.ContainsFunc(read, func(line string) bool { return rowsRead(line) > most }) {
		t.Errorf("the statements of a reminder read %q", read)
	}
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
		read := s.lines()
		if len(read) != 3+due*statements { // a run ends with the two of the outbox, and one of the reminder
			t.Errorf("%d due: the statements read %q", due, read)
		}
		for _, line := range read {
			if rowsRead(line) > most {
				t.Errorf("%d due: the statements read %q, want %d rows each at most", due, read, most)
			}
		}
	}
	if n := len(s.mail()); n != 2 {
		t.Errorf("%d mails, want the reminder and the digest", n)
	}
	if n := s.count("outbox WHERE record_id = 'r' AND state = 'delivered'"); n != 1 {
		t.Error("it is not delivered")
	}
}

// rowsRead is the number of rows in a line of the log; without one, more than any statement may
// read.
func rowsRead(line string) (n int) {
	if _, err := fmt.Sscanf(line, "log: read %d", &n); err != nil {
		return 1 << 30
	}
	return n
}
