//go:build full

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// TestTranscripts: this host holds the transcripts of every host.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	edgetest.RunTranscripts(t, func(t *testing.T, s *snapshot.Snapshot) string { return start(t, bound(t, s)).url })
}

const registration = `{"agent_name":"ada","owner_email":"owner@example.org"}`

// TestSameCalls: of the same calls under a key, one makes a record and sends a message.
func TestSameCalls(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, unlimited()))
	edgetest.SameCalls(t, s.url)
	for _, table := range []string{"registrations", "contacts", "outbox", "suggestions"} {
		if n := s.count(table); n != 1 {
			t.Errorf("%s: %d rows", table, n)
		}
	}
	suggestions := 0
	for _, m := range s.mail() {
		suggestions += strings.Count(m.Subject, "[Example] suggestion ")
	}
	if suggestions != 1 {
		t.Errorf("%d suggestions were mailed", suggestions)
	}
}

// TestTheStoreFails: no record is half stored, and no answer says that a record is stored which is
// not.
func TestTheStoreFails(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	s.sql("DROP TABLE outbox")
	s.want(503, "POST", "/api/waitlist", registration)
	if n, m := s.count("registrations"), s.count("contacts"); n != 0 || m != 0 {
		t.Errorf("half recorded: %d registrations, %d contacts", n, m)
	}
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`) // a registration without an address needs no outbox
	if log := s.log(); !strings.Contains(log, "store") || strings.Contains(log, "owner") || strings.Contains(log, "ada") {
		t.Errorf("the log says too little or too much:\n%s", log)
	}
	s.cron()
	s.logs("outbox: due rows were not claimed")

	// A suggestion that cannot be recorded is logged, for the operator to count it by hand.
	s.sql("DROP TABLE suggestions")
	filed := s.want(200, "POST", "/api/suggest", `{"suggestion":"a long enough suggestion"}`)
	s.logs(fmt.Sprintf("suggestion %s was relayed and not recorded", filed["record_id"]))

	o := bound(t, edgetest.Snapshot())
	o.Migrations = nil
	s = start(t, o)
	for range 2 {
		s.want(503, "POST", "/api/waitlist", registration)
	}
	if n := strings.Count(s.log(), "bind a D1 database as DB"); n != 1 {
		t.Errorf("that there is no store is logged %d times, want once", n)
	}
}

// TestErrorsOfD1: the answer says whether a write was certainly not done, by the words of D1.
func TestErrorsOfD1(t *testing.T) {
	t.Parallel()
	words := []string{ // in the order of the writes below
		"D1 DB is overloaded. Requests queued for too long.", "Exceeded maximum DB size",
		"Your account has exceeded D1's free tier daily row write limit. Upgrade to a paid plan or wait until tomorrow (midnight UTC) to continue.",
		"Currently processing a long-running export.", "Too many API requests by single worker invocation.", "Too many subrequests.",
	}
	s := startMain(t, fmt.Sprintf("const said = `%s`.split('|');\n", strings.Join(words, "|"))+
		with(`DB: { prepare: (sql) => env.DB.prepare(sql), batch: async () => { throw new Error('D1_ERROR: ' + said.shift()); } }`))
	for _, said := range words {
		answer, body := s.do("POST", "/api/waitlist", registration)
		if detail, _ := body["detail"].(string); answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "30" || !strings.Contains(detail, "nothing was recorded") {
			t.Errorf("%s: %d, Retry-After %q, %s", said, answer.StatusCode, answer.Header.Get("Retry-After"), detail)
		}
	}
}

func TestTheOutboxIsDelivered(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, edgetest.Snapshot()))
	delivered := func() bool {
		rows := s.sql("SELECT state, payload FROM outbox")
		return len(rows) == 1 && rows[0]["state"] == "delivered" && rows[0]["payload"] == nil
	}
	answer := s.want(200, "POST", "/api/waitlist", registration)
	eventually(t, "delivery at once", delivered)
	s.sql(`UPDATE outbox SET state = 'pending', payload = '{"address":"owner@example.org"}', next_try_at = 0`)
	s.cron()
	if !delivered() {
		t.Errorf("the timer leaves %v", s.sql("SELECT * FROM outbox"))
	}
	sent := s.mail()
	if len(sent) != 2 {
		t.Fatalf("%d messages, want 2", len(sent))
	}
	for _, m := range sent {
		if m.Headers["X-Anteroom-Message"] == "" || m.Headers["List-Id"] != "<contacts.www.example.org>" ||
			m.Headers["References"] != "<contacts@www.example.org> <"+m.Headers["X-Anteroom-Message"]+"@www.example.org>" ||
			m.From != `"Example" <service@example.org>` || len(m.To) != 1 || m.To[0] != "operator@example.org" || !strings.Contains(m.Text, "\nrecord: "+answer["record_id"].(string)+"\n") || !strings.Contains(m.Text, "owner@example.org") {
			t.Errorf("sent: %+v", m)
		}
	}
}

func TestTheLimiterFails(t *testing.T) {
	t.Parallel()
	absent := bound(t, edgetest.Snapshot())
	absent.Limit = 0
	failing := bound(t, edgetest.Snapshot())
	failing.Main = with(`RL: { async limit() { throw new Error('down'); } }`)
	for name, o := range map[string]options{"absent": absent, "failing": failing} {
		t.Run(name, func(t *testing.T) {
			s := start(t, o)
			for range edgetest.Snapshot().WritesPerMinute + 1 {
				answer, body := s.do("POST", "/api/receipt", `{}`)
				if answer.StatusCode != 200 || answer.Header.Get("RateLimit-Policy") != "" || answer.Header.Get("RateLimit") != "" {
					t.Fatalf("%d %v %v", answer.StatusCode, answer.Header, body)
				}
			}
			if n := strings.Count(s.log(), "rate limiter"); n != 1 {
				t.Errorf("the rate limiter is logged %d times, want once", n)
			}
		})
	}
}

// TestClients: each caller has an allowance of its own.
func TestClients(t *testing.T) {
	t.Parallel()
	published := edgetest.Snapshot()
	published.WritesPerMinute = 1
	s := start(t, bound(t, published))
	for _, client := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"} {
		for _, want := range []int{200, 429} {
			if answer, body := s.do("POST", "/api/receipt", `{}`, "cf-connecting-ip", client); answer.StatusCode != want {
				t.Errorf("%s: %d, want %d: %v", client, answer.StatusCode, want, body)
			}
		}
	}
}

// TestKept: an answer of a second is given within that second alone. The worker keeps few values
// that callers decide, and no instance whose memory has grown.
func TestKept(t *testing.T) {
	t.Parallel()
	s := startMain(t, `const { Map } = globalThis, { Instance } = WebAssembly, maps = [];
let instances = 0;
globalThis.Map = class extends Map {
  constructor(...given) {
    super(...given);
    maps.push(this);
  }
};
WebAssembly.Instance = function (...given) {
  instances++;
  return new Instance(...given);
};
const { default: worker } = await import('./worker.mjs');
export default {
  fetch(request, env, ctx) {
    if (!request.url.endsWith('/kept')) return worker.fetch(request, env, ctx);
    return Response.json({ most: Math.max(...maps.map(({ size }) => size)), instances });
  },
};`)
	times := map[string]bool{}
	for began := time.Now(); time.Since(began) < 1200*time.Millisecond; {
		before := time.Now().Truncate(time.Second)
		served, _ := s.want(200, "GET", "/api/roster", "")["served_at"].(string)
		if at, err := time.Parse(time.RFC3339, served); err != nil || at.Before(before) || at.After(time.Now()) {
			t.Fatalf("served at %q, asked in the second %s", served, before)
		}
		times[served] = true
	}
	if len(times) < 2 {
		t.Errorf("only %d times in 1.2 seconds", len(times))
	}
	answer, _ := s.do("GET", "/api/presence", "")
	if again, _ := s.raw("GET", "/api/presence", "", "if-none-match", answer.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("%d, then %d", answer.StatusCode, again.StatusCode)
	}
	for i := range 150 {
		r, err := http.NewRequest("GET", s.url+"/api/presence", nil)
		must(t, err)
		r.Host = fmt.Sprint("www.example.org:", 1000+i)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
	}
	if most := s.want(200, "GET", "/kept", "")["most"].(float64); most < 1 || most > 100 {
		t.Errorf("%v are kept, want 1 to 100", most)
	}

	register := func(more string) any {
		s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"`+more+`}`)
		return s.want(200, "GET", "/kept", "")["instances"]
	}
	before := register("")
	if after := register(""); after != before {
		t.Errorf("%v instances after a small request, want %v", after, before)
	}
	register(`,"x":[` + strings.Repeat(`{"a":0},`, 8000) + `{}]`)
	if after := register(""); after == before {
		t.Error("an instance that a large request made grow is used on")
	}
}

// TestReceiptKeys: if the secret is not a key, nothing is minted, and the log says why without it.
// The transcripts have the other states of a key.
func TestReceiptKeys(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Key = receiptkey.Prefix + "secret!"
	s := start(t, o)
	spec := s.want(200, "GET", "/api/receipt", "")
	if status, _ := spec["signing_status"].(string); !strings.HasPrefix(status, "out of order") || spec["signing_live"] != false {
		t.Errorf("%v", spec)
	}
	s.want(500, "POST", "/api/receipt", `{"agent_name":"ada"}`)
	s.want(200, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	if log := s.log(); strings.Contains(log, "secret!") || !strings.Contains(log, "RECEIPT_KEY is not a receipt key") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestRequestID: the name of a request is in its answer, in a problem, and in the log if it is
// refused by its status. Most refusals are not logged, and all failures are.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := startMain(t, with("")+"\nMath.random = () => 0;")
	for _, c := range []struct {
		method, target, body string
		problem, logged      bool
	}{
		{"GET", "/nope", "", true, true},
		{"POST", "/api/waitlist?note=secret", `{"agent_name":"ada"}`, false, false},
		{"POST", "/api/waitlist?note=secret", "{}", true, true},
	} {
		answer, body := s.raw(c.method, c.target, c.body, "content-type", "application/json", "request-id", "mine")
		id, log := answer.Header.Get("Request-Id"), strings.Join(s.wholeLog(), "\n")
		if len(id) != 16 || strings.Contains(string(body), id) != c.problem || strings.Contains(log, "request_id="+id+" ") != c.logged || strings.Contains(log, "secret") {
			t.Errorf("%s %s: %s\n%s\nthe log says: %s", c.method, c.target, id, body, log)
		}
	}
	s = startMain(t, with("DB: undefined")+"\nMath.random = () => 0.5;")
	s.want(404, "GET", "/api/nope", "")
	s.want(503, "POST", "/api/waitlist", `{"agent_name":"ada"}`)
	if log := strings.Join(s.wholeLog(), "\n"); strings.Contains(log, " 404") || !strings.Contains(log, " /api/waitlist 503") {
		t.Errorf("the log says: %s", log)
	}
}

func TestSnapshotOfAnotherFormat(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Snapshot = strings.Replace(o.Snapshot, snapshot.Format, "anteroom-snapshot-0", 1)
	s := start(t, o)
	s.want(500, "GET", "/api/roster", "")
	if log := s.log(); !strings.Contains(log, "anteroom-snapshot-0") || !strings.Contains(log, snapshot.Format) {
		t.Errorf("the log does not name both formats:\n%s", log)
	}
}

// TestTrap makes the module run out of memory: its memory may not grow, and a body needs more than
// it has. Each turn waits between its rounds, long enough for other turns to trap, and continues
// with its own results.
func TestTrap(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Wasm = ungrowing(t, readModule(t))
	o.Main = with(`RL: { limit: () => later(300).then(() => ({ success: true })) }`)
	s := start(t, o)
	objects := `[` + strings.Repeat(`{"a":0},`, 8000) + `{}]`
	large := `{"agent_name":"ada","x":` + objects + `}`
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			body, want := fmt.Sprintf(`{"agent_name":"ada-%d"}`, i), 200
			if i%4 == 0 {
				body, want = large, 500
				time.Sleep(100 * time.Millisecond)
			}
			if answer, _ := s.raw("POST", "/api/waitlist", body); answer.StatusCode != want {
				t.Errorf("request %d: %d, want %d", i, answer.StatusCode, want)
			}
		})
	}
	all.Wait()
	if n := s.count("(SELECT DISTINCT agent_name FROM registrations)"); n != 9 || s.count("registrations") != n {
		t.Errorf("%d agents are registered, want 9", n)
	}
	s.log()
	answer, body := s.do("POST", "/api/waitlist?dry_run=1&owner_email=owner%40example.org", large)
	if answer.StatusCode != 500 || body["served_from"] != "www.example.org" || body["notice"] == nil || answer.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the answer to a trap is not a problem document: %d %v %v", answer.StatusCode, answer.Header, body)
	}
	if log := s.logs("a turn failed"); strings.Contains(log, "owner") {
		t.Errorf("the log holds the query:\n%s", log)
	}
	body = s.want(500, "POST", "/api/mcp", objects)
	if failure, _ := body["error"].(map[string]any); body["jsonrpc"] != "2.0" || failure["code"] != -32603.0 {
		t.Errorf("the answer to a trap is not a JSON-RPC error: %v", body)
	}
	s.want(200, "GET", "/api/roster", "")
}

// TestBodies: a body that is too large or does not arrive whole is refused, in the words of its
// endpoint. Its beginning is never read as if it were the whole.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t, bound(t, unlimited()))
	const object = `{"agent_name":"ada"}`
	for size, status := range map[int]int{turn.MaxBody: 200, turn.MaxBody + 1: 413, 2 * turn.MaxBody: 413} {
		body := object + strings.Repeat(" ", size-len(object))
		for name, reader := range map[string]func() io.Reader{
			"declared": func() io.Reader { return strings.NewReader(body) },
			"chunked":  func() io.Reader { return io.MultiReader(strings.NewReader(body)) },
		} {
			answer, err := http.Post(s.url+"/api/waitlist", "application/json", reader())
			for range 5 { // an early refusal may close the connection before the client has read it
				if err != nil && status == 413 {
					answer, err = http.Post(s.url+"/api/waitlist", "application/json", reader())
				}
			}
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%d bytes, %s: %d, want %d", size, name, answer.StatusCode, status)
			}
		}
	}
	if n := s.count("registrations"); n != 2 {
		t.Errorf("%d registrations, want 2", n)
	}
	for path, want := range map[string]string{"waitlist": `"code":"invalid_json"`, "mcp": `"error":{"code":-32600,`} {
		for _, rest := range []string{"Content-Length: 1000\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n5"} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			must(t, err)
			defer conn.Close()
			io.WriteString(conn, "POST /api/"+path+" HTTP/1.1\r\nHost: www.example.org\r\n"+rest)
			conn.(*net.TCPConn).CloseWrite()
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer, err := io.ReadAll(conn)
			if text := string(answer); err != nil || !strings.HasPrefix(text, "HTTP/1.1 400 ") || !strings.Contains(text, want) {
				t.Errorf("%s, %q: %s (%v)", path, rest, text, err)
			}
		}
	}
	if log := s.log(); log != "" {
		t.Errorf("the log says %s", log)
	}
}

// TestReadiness: the worker gives an answer again, of each method, and asks neither its store nor
// itself meanwhile. It is not ready without bindings, and with another store than the one that was
// verified.
func TestReadiness(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = `let now = 1795176000000, asked = 0;
Date.now = () => now;
const { default: worker } = await import('./worker.mjs');
export default {
  fetch(request, env, ctx) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/later') return Response.json({ asked, now: (now += Number(search.slice(1)) * 1000) });
    const ASSETS = { fetch: async () => (asked++, Response.json({ content_version: 'test' })) };
    return worker.fetch(request, search === '?bare' ? {} : { ...env, ASSETS }, ctx);
  },
};`
	s := start(t, o)
	later := func(seconds string) any { return s.want(200, "GET", "/later?"+seconds, "")["asked"] }
	s.want(200, "GET", "/readyz", "")
	later("4")
	s.sql("DROP TABLE health")
	s.want(200, "GET", "/readyz?x", "")
	if n := later("1"); n != 1.0 {
		t.Errorf("asked %v times, want once", n)
	}
	if body := s.want(503, "GET", "/readyz", ""); fmt.Sprint(body["failing"]) != "[store]" {
		t.Errorf("%v", body)
	}
	s.want(200, "GET", "/healthz", "")
	if n := later("5"); n != 2.0 {
		t.Errorf("asked %v times, want twice", n)
	}
	if failing := fmt.Sprint(s.want(503, "GET", "/readyz?bare", "")["failing"]); !strings.HasPrefix(failing, "[store ") || !strings.HasSuffix(failing, "documents]") {
		t.Errorf("without bindings %s fail", failing)
	}
	published := edgetest.Snapshot()
	published.Store = "one"
	o.Snapshot = string(published.Encode())
	s = start(t, o)
	s.want(503, "GET", "/readyz", "")
	s.sql("UPDATE store SET id = 'one'")
	s.want(200, "GET", "/later?5", "")
	s.want(200, "GET", "/readyz", "")
}

// TestSelftest: the service calls itself, and says that a call fails.
func TestSelftest(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		o := bound(t, shipped(t))
		o.Main = with(fmt.Sprintf(`SELF: { fetch: (...call) => %t ? new Response('{}', { status: 500 }) : env.SELF.fetch(...call) }`, broken))
		s := start(t, o)
		for _, suite := range []string{"funnel", "mcp"} {
			answer, err := http.Get(s.url + "/api/selftest?suite=" + suite)
			must(t, err)
			defer answer.Body.Close()
			var verdict struct {
				Pass    bool
				Verdict string
			}
			if err := json.NewDecoder(answer.Body).Decode(&verdict); err != nil || verdict.Pass == broken || strings.Contains(verdict.Verdict, "500") != broken {
				t.Errorf("%s, broken %t: %+v %v", suite, broken, verdict, err)
			}
		}
	}
}
