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

	"anteroom/edge/edgetest"
)

// watched is a D1 that logs each call with its number of statements, and begins it when wait says so, a JavaScript
// expression of that number n.
func watched(wait string) string {
	return `DB: {
    prepare: (sql) => ({ bind: (...args) => {
      const real = env.DB.prepare(sql).bind(...args);
      return { real, all: async () => { const n = 1; console.log('call of ' + n); await (` + wait + `); return real.all(); } };
    } }),
    batch: async (list) => { const n = list.length; console.log('call of ' + n); await (` + wait + `); return env.DB.batch(list.map(({ real }) => real)); },
  }`
}

// watch starts a service on such a D1, without a limiter.
func watch(t *testing.T, wait string) *service {
	t.Helper()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 0
	o := bound(t, published)
	o.Main = with(watched(wait))
	return start(t, o)
}

// calls is how many calls to D1 were logged since the log was read last.
func (s *service) calls() int {
	s.t.Helper()
	return strings.Count(strings.Join(s.log(), "\n"), "call of ")
}

func (s *service) register(name string) (status int, registered string) {
	s.t.Helper()
	answer, body := s.do("POST", "/api/waitlist", `{"agent_name":"`+name+`"}`)
	registration, _ := body["registration"].(map[string]any)
	registered, _ = registration["agent_name"].(string)
	return answer.StatusCode, registered
}

// giveUp registers with a body, and its caller goes away after a time.
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

// all registers agents at the same time, and waits for their answers.
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

// TestRequestsShareCalls: what many want of the store while a call is under way is done by the next one.
func TestRequestsShareCalls(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(300)`)
	const agents = 60 // more than one call takes
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

// TestFaultsAreNotShared: a transaction that the store refuses takes no other with it.
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

// TestOverloaded: a store that takes no more is not asked once more for each of those who shared a call.
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

// TestCallersOfACallGoAway: those who share a call with them do not notice, and what was asked for is done.
func TestCallersOfACallGoAway(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(600)`)
	var wait sync.WaitGroup
	for i, after := range []time.Duration{200, 200, 1000} { // two make the first calls, and one waits for the next
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

// TestCallsHang: who makes a call that hangs is told that it may have been done. One such call holds up nobody else, and where
// there are more, the next call is made when they have taken too long.
func TestCallsHang(t *testing.T) {
	t.Parallel()
	s := watch(t, `[1, 6, 7].includes(globalThis.calls = (globalThis.calls ?? 0) + 1) ? new Promise(() => {}) : 0`)
	var wait sync.WaitGroup
	register := func(name string, want int) {
		if status, _ := s.register(name); status != want {
			t.Errorf("%s: answered %d, want %d", name, status, want)
		}
	}
	began := time.Now()
	wait.Go(func() { register("call 1", 503) })
	time.Sleep(300 * time.Millisecond)
	for i := 2; i < 6; i++ {
		register(fmt.Sprint("call ", i), 200)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a call that hangs holds up others for %v", took)
	}
	wait.Wait()
	for i := 6; i < 8; i++ {
		wait.Go(func() { register(fmt.Sprint("call ", i), 503) })
		time.Sleep(300 * time.Millisecond)
	}
	register("call 8", 200)
	wait.Wait()
	if n := s.count("registrations"); n != 5 {
		t.Errorf("%d registrations, want 5", n)
	}
}

// TestTheStoreIsTooSlow: who waits too long is told whether it may have been done, and nothing is done that was said not
// to be.
func TestTheStoreIsTooSlow(t *testing.T) {
	t.Parallel()
	s := watch(t, `later(6000)`)
	const agents = 80
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
	time.Sleep(7 * time.Second) // what is under way ends
	refused := agents - s.count("registrations")
	if len(details) != 3 || details[nil] == 0 || refused == 0 || !slices.Contains(slices.Collect(maps.Values(details)), refused) {
		t.Errorf("%d were not registered of those answered %v", refused, details)
	}
}
