//go:build full

package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
)

// watched is a D1 binding that logs each call with n, its number of statements. It waits before the
// call for wait, a JavaScript expression that may use n.
func watched(wait string) string {
	return `DB: {
    prepare: (sql) => ({ bind: (...args) => {
      const real = env.DB.prepare(sql).bind(...args);
      return { real, all: async () => { const n = 1; console.log('call of ' + n); await (` + wait + `); return real.all(); } };
    } }),
    batch: async (list) => { const n = list.length; console.log('call of ' + n); await (` + wait + `); return env.DB.batch(list.map(({ real }) => real)); },
  }`
}

// watch starts a service with a watched D1 and without a limiter.
func watch(t *testing.T, wait string) *service {
	t.Helper()
	return startMain(t, with(watched(wait)))
}

// calls is how many calls to D1 were logged since the log was last read.
func (s *service) calls() int {
	s.t.Helper()
	return strings.Count(s.log(), "call of ")
}

func (s *service) register(name string) (status int, registered string) {
	s.t.Helper()
	answer, body := s.do("POST", "/api/waitlist", `{"agent_name":"`+name+`"}`)
	registration, _ := body["registration"].(map[string]any)
	registered, _ = registration["agent_name"].(string)
	return answer.StatusCode, registered
}

// giveUp sends a registration whose caller goes away after a time.
func (s *service) giveUp(body string, after time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), after)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/api/waitlist", strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return
	}
	r.Host = "www.example.org"
	if answer, err := http.DefaultClient.Do(r); err == nil {
		s.t.Errorf("%s: answered %d before its caller went away", body, answer.StatusCode)
	}
}

// all registers so many agents at the same time, and waits for their answers.
func (s *service) all(agents int, want func(name string) int) {
	s.t.Helper()
	var wait sync.WaitGroup
	for i := range agents {
		wait.Go(func() {
			name := fmt.Sprint("agent ", i)
			status, registered := s.register(name)
			if status != want(name) || status == 200 && registered != name {
				s.t.Errorf("%s: answered %d for %q, want %d", name, status, registered, want(name))
			}
		})
	}
	wait.Wait()
}

func stored(string) int { return 200 }

// TestRequestsShareCalls: transactions that come in while a call to the store is under way share
// the next call.
func TestRequestsShareCalls(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(300)`)
	const agents = 60 // more than fit into one call
	s.all(agents, stored)
	if n := s.count("registrations"); n != agents {
		t.Errorf("%d registrations of %d", n, agents)
	}
	if n := s.calls(); n < 3 || n > 12 {
		t.Errorf("%d calls for %d registrations at the same time, want 3 to 12", n, agents)
	}
	if status, _ := s.register("one"); status != 200 || s.calls() != 1 {
		t.Error("a request that is alone makes no call of its own")
	}
}

// TestFaultsAreNotShared: a transaction that the store refuses fails alone, and not those that
// share its call.
func TestFaultsAreNotShared(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(300)`)
	s.sql(`CREATE TRIGGER refuse BEFORE INSERT ON registrations WHEN NEW.agent_name IN ('agent 3', 'agent 7') BEGIN SELECT RAISE(ABORT, 'no'); END`)
	const agents = 12
	s.all(agents, func(name string) int {
		if name == "agent 3" || name == "agent 7" {
			return 503
		}
		return 200
	})
	rows := s.sql("SELECT agent_name, count(*) AS n FROM registrations GROUP BY agent_name")
	for _, row := range rows {
		if row["n"] != 1.0 {
			t.Errorf("%v was registered %v times", row["agent_name"], row["n"])
		}
	}
	if len(rows) != agents-2 {
		t.Errorf("%d agents registered, want %d", len(rows), agents-2)
	}
}

// TestOverloaded: an overloaded store is not asked again for each of the transactions that shared a
// call.
func TestOverloaded(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(300).then(() => { throw new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.'); })`)
	s.all(12, func(string) int { return 503 })
	if n := s.calls(); n > 6 {
		t.Errorf("%d calls for 12 requests, want 6 at most", n)
	}
	if n := s.count("registrations"); n != 0 {
		t.Errorf("%d registrations, want none", n)
	}
}

// TestCallersOfACallGoAway: where a caller goes away, those who share a call with it do not notice,
// and its own transaction is done.
func TestCallersOfACallGoAway(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(400)`)
	var wait sync.WaitGroup
	for i, after := range []time.Duration{150, 150, 600} { // two callers make the first calls, and one waits for the next call
		wait.Go(func() { s.giveUp(fmt.Sprintf(`{"agent_name":"gone %d"}`, i), after*time.Millisecond) })
		time.Sleep(50 * time.Millisecond)
	}
	s.all(6, stored)
	wait.Wait()
	if n, m := s.count("registrations"), s.calls(); n != 9 || m > 5 {
		t.Errorf("%d registrations of 9 in %d calls, want 5 at most", n, m)
	}
	s.all(3, stored)
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
// done again if it was not done. All that shared the call are stored once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fates   string
		agents  int
		status  int
		detail  string
		records int
	}{
		{`{ 1: 'silent' }`, 1, 200, "", 1},
		{`{ 1: 'hangs' }`, 1, 200, "", 1},
		{`{ 1: 'breaks' }`, 1, 200, "", 1},
		{`{ 3: 'breaks' }`, 40, 200, "", 40},
		{`{ 1: 'breaks', 2: 'breaks' }`, 1, 503, "is not known", 1},
		{`{ 1: 'hangs', 2: 'unresolved' }`, 1, 503, "is not known", 0},
		{`{ 1: 'unresolved' }`, 1, 503, "nothing was recorded", 0},
	} {
		t.Run(c.fates, func(t *testing.T) {
			t.Parallel()
			s := startMain(t, with(fated(c.fates)))
			var wait sync.WaitGroup
			for i := range c.agents {
				wait.Go(func() {
					answer, body := s.do("POST", "/api/waitlist", fmt.Sprintf(`{"agent_name":"%d","owner_email":"a@example.org"}`, i))
					if detail, _ := body["detail"].(string); answer.StatusCode != c.status || !strings.Contains(detail, c.detail) {
						t.Errorf("answered %d %s", answer.StatusCode, detail)
					}
				})
			}
			wait.Wait()
			for _, table := range []string{"registrations", "contacts", "outbox"} {
				if n := s.count("(SELECT DISTINCT record_id FROM " + table + ")"); n != c.records || s.count(table) != n {
					t.Errorf("%s: %d rows with %d ids, want %d", table, s.count(table), n, c.records)
				}
			}
		})
	}
}

// TestCallsHang: one hanging call holds up nobody else. Where more hang, the next call is made once
// these have taken too long.
func TestCallsHang(t *testing.T) {
	t.Parallel()
	s := watch(t, `[1, 7, 8].includes(globalThis.calls = (globalThis.calls ?? 0) + 1) ? new Promise(() => {}) : 0`)
	var wait sync.WaitGroup
	register := func(name string) {
		if status, _ := s.register(name); status != 200 {
			t.Errorf("%s: answered %d", name, status)
		}
	}
	wait.Go(func() { register("call 1") })
	time.Sleep(300 * time.Millisecond)
	for i := 2; i < 6; i++ {
		register(fmt.Sprint("call ", i))
	}
	if n := s.count("registrations"); n != 4 {
		t.Errorf("a call that hangs holds up others: %d registrations, want 4", n)
	}
	wait.Wait()
	for i := 7; i < 9; i++ {
		wait.Go(func() { register(fmt.Sprint("call ", i)) })
		time.Sleep(300 * time.Millisecond)
	}
	register("call 9")
	wait.Wait()
	if n := s.count("registrations"); n != 8 {
		t.Errorf("%d registrations, want 8", n)
	}
}

// TestTheStoreIsTooSlow: the answer to a caller who waits too long says whether the write may have
// been done. No write is done that was said not to be, and none twice.
func TestTheStoreIsTooSlow(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(1400)`)
	const agents = 200 // more than the calls have room for that come back in time
	var mu sync.Mutex
	details := map[any]int{}
	var wait sync.WaitGroup
	for i := range agents {
		wait.Go(func() {
			_, body := s.do("POST", "/api/waitlist", fmt.Sprintf(`{"agent_name":"agent %d"}`, i))
			mu.Lock()
			defer mu.Unlock()
			details[body["detail"]]++
		})
	}
	wait.Wait()
	time.Sleep(2 * time.Second) // calls that are under way end
	rows, distinct := s.count("registrations"), s.count("(SELECT DISTINCT agent_name FROM registrations)")
	if refused := agents - rows; len(details) != 3 || details[nil] == 0 || refused == 0 || rows != distinct || !slices.Contains(slices.Collect(maps.Values(details)), refused) {
		t.Errorf("%d were not registered of those answered %v, and %d twice", refused, details, rows-distinct)
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
// that it leaves is done by others. TestOthersLeaveRoom has those of a request.
func TestQueriesOfAnInvocation(t *testing.T) {
	t.Parallel()
	s := startMain(t, with(counting))
	const due = 2000
	s.sql(fmt.Sprintf(`INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT printf('%%032x', i), 'registration', '{"address":"a@example.org","who":""}', 0, 0 FROM n`, due))
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

// TestTransactions calls the store directly, with a clock that does not move. The runtime keeps the
// request that makes a call until the call is done. A transaction that waits for its turn looks
// less and less often. One that nobody waits for any more is not done.
func TestTransactions(t *testing.T) {
	t.Parallel()
	s := startMain(t, `import { transact } from './store.mjs';
const real = setTimeout, pauses = [], ran = [], kept = [];
let now = 1e12;
Date.now = () => now;
const timed = (f, milliseconds) => {
  if (milliseconds < 1000) pauses.push(milliseconds);
  return real(f, milliseconds);
};
const hangs = () => new Promise(() => {}), ends = async () => ({ results: [], meta: { changes: 1 } });
const run = (name, call) => transact([{ sql: name, args: [] }], {
  prepare: (sql) => ({ bind: () => ({ sql, all: () => { ran.push(sql); return call(); } }) }),
  batch: (list) => { for (const { sql } of list) ran.push(sql); return Promise.all(list.map(call)); },
}, { waitUntil: (promise) => { kept.push(promise); } }, 10_000, {});
export default {
  async fetch() {
    globalThis.setTimeout = timed;
    let end;
    const held = run('held', () => new Promise((resolve) => { end = resolve; }));
    const early = await Promise.race([kept[0], new Promise((resolve) => real(resolve, 20, 'until it is done'))]);
    end({ results: [], meta: { changes: 1 } });
    await held;

    run('hangs', hangs);
    run('hangs too', hangs);
    globalThis.setTimeout = () => {}; // the request of 'gone' ends, and its timers with it
    run('gone', ends);
    globalThis.setTimeout = timed;
    now += 100;
    const told = run('told', ends);
    while (pauses.length < 9) await new Promise((resolve) => real(resolve, 10));
    now += 10_000;
    const { failure } = await told;
    now -= 50; // the clock of another request may be behind
    await run('new', ends);
    return Response.json({ kept: early, pauses: pauses.slice(0, 9).join(' '), failure, ran: ran.join(', ') });
  },
};`)
	_, got := s.do("POST", "/", "")
	for name, want := range map[string]any{
		"kept": "until it is done", "pauses": "2 4 8 16 32 50 50 50 50", "failure": 1.0, "ran": "held, hangs, hangs too, new",
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// TestCallsFollowTheStore calls the store directly, with a clock that the test moves. A free
// database gets all writes at once. A slow one gets fewer calls, and as many as before once its
// best time is known to be slow. An overloaded one gets half as many.
func TestCallsFollowTheStore(t *testing.T) {
	t.Parallel()
	s := startMain(t, `import { transact } from './store.mjs';
let now = 1e12, held = [], holds = true, takes = 0;
Date.now = () => now;
const all = () => {
  if (takes < 0) throw new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.');
  if (holds) return new Promise((resolve) => held.push(resolve));
  now += takes;
  return answer;
};
const answer = { results: [], meta: { changes: 1 } };
const db = { prepare: () => ({ bind: () => ({ all }) }), batch: (list) => Promise.resolve(all()).then(() => list.map(() => answer)) };
const write = () => transact([{ sql: '', args: [] }], db, { waitUntil() {} }, 10_000, {});
const atOnce = async (writes) => { // how many of these are begun at once
  const done = Array.from({ length: writes }, write), begun = held.length;
  now += takes;
  holds = false;
  for (const end of held) end(answer);
  await Promise.all(done);
  held = [];
  holds = true;
  return begun;
};
export default {
  async fetch() {
    const seen = { first: await atOnce(16) };
    for (let i = 0; i < 30; i++) seen.free = await atOnce(16);
    takes = 10;
    for (let i = 0; i < 100; i++) await atOnce(1);
    seen.slow = await atOnce(16);
    now += 10_000;
    for (let i = 0; i < 60; i++) seen.moved = await atOnce(16);
    takes = -1;
    await write();
    takes = 10;
    seen.overloaded = await atOnce(16);
    return Response.json(seen);
  },
};`)
	_, got := s.do("POST", "/", "")
	for name, want := range map[string]any{"first": 2.0, "free": 16.0, "slow": 2.0, "moved": 16.0, "overloaded": 8.0} {
		if got[name] != want {
			t.Errorf("%s: %v writes are begun at once, want %v", name, got[name], want)
		}
	}
}

// TestOthersLeaveRoom: the transactions of others that share the calls of an invocation never use
// up the queries that its own writes need.
func TestOthersLeaveRoom(t *testing.T) {
	t.Parallel()
	s := startMain(t, `import { own, transact } from './store.mjs';
let env;
const real = setTimeout, answer = { results: [], meta: { changes: 1 } };
const ends = [], made = [];
const run = (statements, count, hold, ctx = { waitUntil() {} }) => {
  const call = (n, answers) => {
    count.push(n);
    return hold ? new Promise((resolve) => ends.push(() => resolve(answers))) : Promise.resolve(answers);
  };
  return transact(Array(statements).fill({ sql: '', args: [] }), {
    prepare: () => ({ bind: () => ({ all: () => call(1, answer) }) }),
    batch: (list) => call(list.length, list.map(() => answer)),
  }, ctx, 10_000, env);
};
export default {
  async fetch(request) {
    const { writes, statements, bound } = await request.json();
    env = { D1_QUERIES: bound };
    made.length = 0;
    const calls = [run(1, [], true), run(1, [], true)]; // while these are under way, no further calls are made
    globalThis.setTimeout = () => {}; // so that the others wait without looking again
    for (let i = 0; i < 500; i++) run(1, []);
    globalThis.setTimeout = real;
    for (const end of ends) end();
    await Promise.all(calls);
    const ctx = { waitUntil() {} };
    for (let i = 0; i < writes; i++) await run(statements, made, false, ctx);
    const { failure } = await run(Number(bound), [], false, ctx);
    return Response.json({ made, failure, own: own(env) });
  },
};`)
	const statements = api.MostStatements / 2 // the other half is a second transaction
	for _, bound := range []int{queryLimit, 1000} {
		_, got := s.do("POST", "/", fmt.Sprintf(`{"writes":%d,"statements":%d,"bound":"%d"}`, bound*3/4/statements, statements, bound))
		sum := 0.0
		made, _ := got["made"].([]any)
		for _, n := range made {
			sum += n.(float64)
		}
		if own := got["own"].(float64); len(made) < int(own)/statements || own < float64(bound)*3/4 {
			t.Errorf("%d calls, and %v of %d statements are its own", len(made), own, bound)
		}
		if others := made[0].(float64) - statements; others < 5 || others > float64(bound)/4 || sum > float64(bound) || got["failure"] != 1.0 {
			t.Errorf("%v: %v queries of %d, %v of them of others, then failure %v", made, sum, bound, others, got["failure"])
		}
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

// TestSecondTriesAreSpread: requests whose call had no answer do not all learn it, and try again,
// at the same time.
func TestSecondTriesAreSpread(t *testing.T) {
	t.Parallel()
	s := startMain(t, `import { transact } from './store.mjs';
const real = setTimeout, pauses = [], ends = [];
const call = () => new Promise((_, reject) => ends.push(reject));
const run = () => transact([{ sql: '', args: [] }], {
  prepare: () => ({ bind: () => ({ all: call }) }), batch: call,
}, { waitUntil() {} }, 10_000, {});
export default {
  async fetch() {
    const jobs = Array.from({ length: 10 }, run); // two calls, and eight that share the next one
    while (ends.length < 2) await new Promise((resolve) => real(resolve, 5));
    ends[0](new Error('lost'));
    while (ends.length < 3) await new Promise((resolve) => real(resolve, 5));
    globalThis.setTimeout = (f, milliseconds) => {
      pauses.push(milliseconds);
      return real(f, 0);
    };
    for (const end of ends) end(new Error('lost'));
    const results = await Promise.all(jobs);
    return Response.json({ pauses: new Set(pauses.filter((n) => n % 1 !== 0 && n < 500)).size, lost: results.filter(({ failure }) => failure === 2).length });
  },
};`)
	if _, got := s.do("POST", "/", ""); got["lost"] != 10.0 || got["pauses"].(float64) < 8 {
		t.Errorf("%v", got)
	}
}
