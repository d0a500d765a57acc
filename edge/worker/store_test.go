//go:build full

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
)

// TestCallerGoesAway: the transaction of a caller who goes away is done.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	s := startMain(t, with(`DB: { batch: (list) => later(400).then(() => env.DB.batch(list)), prepare: (sql) => env.DB.prepare(sql) }`))
	impatient := http.Client{Timeout: 150 * time.Millisecond}
	if answer, err := impatient.Post(s.url+"/api/waitlist", "application/json", strings.NewReader(registration)); err == nil {
		t.Errorf("answered %d before its caller went away", answer.StatusCode)
	}
	eventually(t, "the registration of a caller who went away", func() bool { return s.count("registrations") == 1 })
}

// fated is a D1 binding whose calls have fates: of the nth call that of n in the object fates, a
// JavaScript expression, else it is done and answered.
func fated(fates string) string {
	return `DB: ((meet) => ({
    prepare: (sql) => ({ bind: (...args) => {
      const real = env.DB.prepare(sql).bind(...args);
      return { real, all: () => meet(() => real.all()) };
    } }),
    batch: (list) => meet(() => env.DB.batch(list.map(({ real }) => real))),
  }))(async (call) => {
    const fate = (` + fates + `)[globalThis.calls = (globalThis.calls ?? 0) + 1];
    if (fate === 'unresolved') throw new Error('D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.');
    const answer = fate === 'hangs' || await call();
    if (fate === 'breaks') throw new Error('D1_ERROR: Network connection lost.');
    return fate === 'hangs' || fate === 'silent' ? new Promise(() => {}) : answer;
  })`
}

// TestLostAnswers: where the store gives no answer, a write is asked after by its record id, and
// done again if it was not done. All are stored once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fates   string
		status  int
		detail  string
		records int
	}{
		{`{ 1: 'hangs' }`, 200, "", 1},
		{`{ 1: 'breaks' }`, 200, "", 1},
		{`{ 1: 'hangs', 2: 'hangs' }`, 503, "is not known", 0},
		{`{ 1: 'hangs', 2: 'unresolved' }`, 503, "is not known", 0},
		{`{ 1: 'unresolved' }`, 503, "nothing was recorded", 0},
	} {
		t.Run(c.fates, func(t *testing.T) {
			t.Parallel()
			s := startMain(t, with(fated(c.fates)))
			answer, body := s.do("POST", "/api/waitlist", registration)
			if detail, _ := body["detail"].(string); answer.StatusCode != c.status || !strings.Contains(detail, c.detail) {
				t.Errorf("answered %d %s", answer.StatusCode, detail)
			}
			for _, table := range []string{"registrations", "contacts", "outbox"} {
				if n := s.count(table); n != c.records {
					t.Errorf("%s: %d rows, want %d", table, n, c.records)
				}
			}
		})
	}
}

// counting is a D1 binding that logs how many queries an invocation has made. Each statement of a
// batch counts as one.
const counting = `DB: ((queries = 0) => {
    const count = (n) => { console.log('queries ' + (queries += n)); return later(50); };
    return {
      prepare: (sql) => ({ bind: (...args) => {
        const real = env.DB.prepare(sql).bind(...args);
        return { real, all: () => count(1).then(() => real.all()) };
      } }),
      batch: (list) => count(list.length).then(() => env.DB.batch(list.map(({ real }) => real))),
    };
  })(), EMAIL: { async send() {} }`

// mostQueries is the largest number of queries that an invocation has logged since the log was last
// read.
func (s *service) mostQueries() (most int) {
	s.t.Helper()
	for line := range strings.Lines(s.log()) {
		n := 0
		if fmt.Sscanf(line, "log: queries %d", &n); n > most {
			most = n
		}
	}
	return most
}

// queryLimit is how many D1 queries an invocation may make on the free plan.
const queryLimit = 50

// TestQueriesOfAnInvocation: no run of the timer makes more than queryLimit queries, and the work
// that it leaves is done by others.
func TestQueriesOfAnInvocation(t *testing.T) {
	t.Parallel()
	s := startMain(t, with(counting))
	const due = 2000
	s.sql(fmt.Sprintf(`INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT printf('%%032x', i), 'registration', '{"address":"a@example.org"}', 0, 0 FROM n`, due))
	runs := 0
	for left := due; left > 0 && runs < 10; runs++ {
		s.cron()
		left = len(s.sql("SELECT 1 FROM outbox WHERE state <> 'delivered'"))
	}
	if n := s.count("outbox WHERE state = 'delivered'"); n != due || runs < 2 {
		t.Errorf("%d of %d delivered in %d runs", n, due, runs)
	}
	if n := s.mostQueries(); n < queryLimit/2 || n > queryLimit {
		t.Errorf("a run of the timer makes %d queries, want %d at most", n, queryLimit)
	}
}

// TestKeyedBatch: a batch of writes that takes more statements than an invocation has is done as
// far as it fits. What is filed is recorded, and what is refused is neither.
func TestKeyedBatch(t *testing.T) {
	t.Parallel()
	s := startMain(t, with(counting))
	var batch []string
	for i := range edgetest.Snapshot().BatchWrites {
		batch = append(batch, fmt.Sprintf(`{"jsonrpc":"2.0","id":%[1]d,"method":"tools/call","params":{"name":"service_suggest","arguments":`+
			`{"suggestion":"Publish the tables, number %[1]d.","idempotency_key":"0123456789abcdef-%[1]d"}}}`, i))
	}
	_, text := s.raw("POST", "/api/mcp", "["+strings.Join(batch, ",")+"]")
	filed, refused := strings.Count(string(text), `"structuredContent":{"filed":true`), strings.Count(string(text), `rate_limited`)
	if most := s.mostQueries(); most > queryLimit || filed == 0 || refused == 0 || filed+refused != len(batch) || s.count("suggestions") != filed {
		t.Errorf("%d queries, %d filed, %d refused, %d recorded", most, filed, refused, s.count("suggestions"))
	}
}
